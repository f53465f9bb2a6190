import Platform
import Radio

/// The configured devices as the radio needs to know them.
extension Configuration.Collar {
    /// Whether it is reached over Bluetooth.
    var isOnAir: Bool {
        switch link {
        case .bluetooth, .adoption: true
        case .socket: false
        }
    }
}

extension Configuration {
    /// Whether a device is reached over Bluetooth.
    var needsController: Bool { !cuffs.isEmpty || collars.contains(where: \.isOnAir) }

    /// The names of all devices, in the order of the file.
    var deviceNames: [String] { collars.map(\.name) + cuffs.map(\.name) }

    /// The serial number of the device of this name; the name itself when there is none.
    func serial(of name: String) -> String {
        collars.first { $0.name == name }?.serial ?? cuffs.first { $0.name == name }?.serial ?? name
    }
}

extension RadioDevice {
    init(_ collar: Configuration.Collar) {
        var address: BluetoothAddress?
        if case .bluetooth(let configured) = collar.link { address = configured }
        self = .collar(serial: collar.serial, profile: CollarProfile(collar), address: address, pairing: PairingPolicy(collar.pairing))
    }
}

extension RadioDevice {
    /// A cuff is there for half a minute behind a measurement, and must not be missed because it brought nothing before.
    private static let cuffPause = Duration.seconds(8)

    /// A cuff. It says of what kind it is and not which one, so that one without an address is adopted only while pairing is open.
    init(_ cuff: Configuration.Cuff) {
        var address: BluetoothAddress?
        if case .bluetooth(let configured) = cuff.link { address = configured }
        // One whose model is open may be any of its driver.
        let models = cuff.model.map { [$0] } ?? cuff.models.filter { $0.driver == cuff.driver }
        self.init(
            id: cuff.serial, service: cuff.driver.service, otherServices: Set(models.flatMap(\.serviceUUIDs)), serial: nil, identity: nil, address: address,
            security: Security(cuff.security), pairing: PairingPolicy(cuff.pairing),
            // Its links are short: it sends what it has and hangs up, and it waits for nobody.
            parameters: .stream, pauseLimit: Self.cuffPause)
    }
}

extension RadioDevice.Security {
    init(_ security: Configuration.CuffSecurity) {
        self = switch security {
        case .encrypted: .encrypted
        case .onDemand: .onDemand
        case .none: .none
        }
    }
}

/// A configured device as it is talked about with an installer.
struct HubRadioDevice: Sendable, Hashable {
    /// What shows that nothing is left to pair.
    enum Pairing: Sendable, Hashable {
        /// Its keys are stored.
        case bond
        /// It cannot be paired: its link works.
        case link
        /// It need not be paired, and is mostly switched off: its address is known.
        case address
    }

    let name: String
    let serial: String
    let pairing: Pairing

    init(_ collar: Configuration.Collar) {
        name = collar.name
        serial = collar.serial
        pairing = collar.security == .none ? .link : .bond
    }

    init(_ cuff: Configuration.Cuff) {
        name = cuff.name
        serial = cuff.serial
        pairing = cuff.security == .encrypted ? .bond : .address
    }
}

extension PairingPolicy {
    init(_ pairing: Configuration.Pairing) {
        let passkey: Passkey = switch pairing.passkey {
        case .none: .none
        case .fixed(let passkey): .fixed(passkey.number)
        case .file(let path): .file(path)
        }
        self.init(passkey: passkey, repair: pairing.repair)
    }
}

extension CollarProfile {
    init(_ collar: Configuration.Collar) {
        self.init(
            service: collar.service, heartbeat: collar.heartbeat, windows: collar.windows, control: collar.control,
            security: collar.security == .encrypted ? .encrypted : .none)
    }
}

/// Where no radio is, no link comes.
struct NoLinks: LinkSource {
    let loop: any EventLoop

    func nextLink() async throws -> Link {
        while true { try await loop.sleep(for: .seconds(86_400)) }
    }
}
