import Radio

/// What a `[[cuff]]` says as far as it could be read; what is wrong is `nil` and reported.
struct CuffDraft {
    let reader: SectionReader
    let name: Placed<String>?
    let serial: Placed<String>?
    let owner: Placed<String>?
    let address: Placed<BluetoothAddress>?
    let model: Placed<String>?
    let backlog: Placed<Configuration.CuffBacklog>?
    let awayAfter: Placed<Duration>?
    let security: Placed<Configuration.CuffSecurity>?
    let setsClock: Bool
    let pairing: PairingDraft
    let users: [CuffUserDraft]

    init(_ reader: SectionReader) {
        self.reader = reader
        name = reader.read(Keys.Cuff.name)
        serial = reader.read(Keys.Cuff.serial)
        owner = reader.read(Keys.Cuff.owner)
        address = reader.read(Keys.Cuff.address)
        model = reader.read(Keys.Cuff.model)
        backlog = reader.read(Keys.Cuff.backlog)
        awayAfter = reader.read(Keys.Cuff.awayAfter)
        security = reader.read(Keys.Cuff.security)
        setsClock = reader.read(Keys.Cuff.setsClock)
        pairing = PairingDraft(reader, Keys.Cuff.pairing)
        users = reader.inner(.cuffUser).map(CuffUserDraft.init)
    }

    /// The model that it names; `nil` when it names none that there is.
    func model(among models: [CuffModel]) -> CuffModel? { model.flatMap { named in models.first { $0.name == named.value } } }

    /// What its links need: what it says, else what its model does.
    func security(among models: [CuffModel]) -> Configuration.CuffSecurity {
        security?.value ?? Configuration.CuffSecurity((model(among: models) ?? .general(.standard)).security)
    }

    /// Whose its readings are; `nil` when it does not say so in one way.
    private var ownership: Configuration.CuffOwnership? {
        if let owner { return users.isEmpty ? .owner(owner.value) : nil }
        var owners: [UInt32: String] = [:]
        for user in users {
            guard let number = user.user?.value, let owner = user.owner?.value else { return nil }
            owners[number] = owner
        }
        return owners.isEmpty ? nil : .users(owners)
    }

    func cuff(_ credentials: Credentials, models: [CuffModel]) -> Configuration.Cuff? {
        guard let name, let serial, let ownership else { return nil }
        return Configuration.Cuff(
            name: name.value, serial: serial.value, ownership: ownership, link: address.map { .bluetooth($0.value) } ?? .adoption, backlog: backlog?.value,
            awayAfter: awayAfter?.value, security: security(among: models), pairing: pairing.pairing(credentials), model: model(among: models), models: models,
            setsClock: setsClock)
    }
}

/// What a `[[cuff.user]]` says as far as it could be read; what is wrong is `nil` and reported.
struct CuffUserDraft {
    let reader: SectionReader
    let user: Placed<UInt32>?
    let owner: Placed<String>?

    init(_ reader: SectionReader) {
        self.reader = reader
        user = reader.read(Keys.CuffUser.user)
        owner = reader.read(Keys.CuffUser.owner)
    }
}

/// What a `[[cuff_model]]` says as far as it could be read; what is wrong is `nil` and reported.
struct CuffModelDraft {
    let reader: SectionReader
    let name: Placed<String>?
    let driver: Placed<CuffDriver>?
    let namePrefixes: Placed<[String]>?
    let serviceUUIDs: Placed<[BluetoothUUID]>?
    let quirks: Placed<[MeasurementQuirks.Name]>?
    let replaysMemory: Bool

    init(_ reader: SectionReader) {
        self.reader = reader
        name = reader.read(Keys.CuffModel.name)
        driver = reader.read(Keys.CuffModel.driver)
        namePrefixes = reader.read(Keys.CuffModel.namePrefixes)
        serviceUUIDs = reader.read(Keys.CuffModel.serviceUUIDs)
        quirks = reader.read(Keys.CuffModel.quirks)
        replaysMemory = reader.read(Keys.CuffModel.replaysMemory)
    }

    var model: CuffModel? {
        guard let name, let driver else { return nil }
        return CuffModel(
            name: name.value, namePrefixes: namePrefixes?.value ?? [], serviceUUIDs: serviceUUIDs?.value ?? [], driver: driver.value,
            quirks: MeasurementQuirks(quirks?.value ?? []), replaysMemory: replaysMemory, knowledge: "From the configuration.")
    }
}
