import Radio

/// What an `[[owner]]` says as far as it could be read; what is wrong is `nil` and reported.
struct OwnerDraft {
    let reader: SectionReader
    let key: Placed<String>?
    let tokenFile: Placed<String>?
    let tokenCredential: Placed<String>?
    let patient: Placed<String>?

    init(_ reader: SectionReader) {
        self.reader = reader
        key = reader.read(Keys.Owner.key)
        tokenFile = reader.read(Keys.Owner.tokenFile)
        tokenCredential = reader.read(Keys.Owner.tokenCredential)
        patient = reader.read(Keys.Owner.patient)
    }

    func owner(_ credentials: Credentials) -> Configuration.Owner? {
        guard let key, let file = tokenFile?.value ?? tokenCredential.map({ credentials.path(of: $0.value) }) else { return nil }
        return Configuration.Owner(key: key.value, tokenFile: file, patient: patient?.value)
    }
}

/// What a `[[collar]]` says as far as it could be read; what is wrong is `nil` and reported.
struct CollarDraft {
    let reader: SectionReader
    let name: Placed<String>?
    let serial: Placed<String>?
    let owner: Placed<String>?
    let address: Placed<BluetoothAddress>?
    let socket: Placed<String>?
    let backlog: Placed<Configuration.Backlog>?
    let awayAfter: Duration
    let security: Configuration.Security
    let pairing: PairingDraft
    let service: BluetoothUUID
    let heartbeat: BluetoothUUID
    let windows: BluetoothUUID
    let control: BluetoothUUID

    init(_ reader: SectionReader) {
        self.reader = reader
        name = reader.read(Keys.Collar.name)
        serial = reader.read(Keys.Collar.serial)
        owner = reader.read(Keys.Collar.owner)
        address = reader.read(Keys.Collar.address)
        socket = reader.read(Keys.Collar.socket)
        backlog = reader.read(Keys.Collar.backlog)
        awayAfter = reader.read(Keys.Collar.awayAfter)
        security = reader.read(Keys.Collar.security)
        pairing = PairingDraft(reader, Keys.Collar.pairing)
        service = reader.read(Keys.Collar.service)
        heartbeat = reader.read(Keys.Collar.heartbeat)
        windows = reader.read(Keys.Collar.windows)
        control = reader.read(Keys.Collar.control)
    }

    /// The way to reach it, unless the file gives two, or one that could not be read.
    var link: Configuration.Link? {
        switch (address, socket) {
        case (let address?, nil): .bluetooth(address.value)
        case (nil, let socket?): .socket(path: socket.value)
        case (nil, nil) where !reader.gives(Keys.Collar.address.row) && !reader.gives(Keys.Collar.socket.row): .adoption
        default: nil
        }
    }

    func collar(_ credentials: Credentials) -> Configuration.Collar? {
        guard let name, let serial, let owner, let link else { return nil }
        return Configuration.Collar(
            name: name.value, serial: serial.value, owner: owner.value, link: link, backlog: backlog?.value, awayAfter: awayAfter,
            security: security, pairing: pairing.pairing(credentials), service: service, heartbeat: heartbeat, windows: windows, control: control)
    }
}
