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
    var needsController: Bool { collars.contains(where: \.isOnAir) }
}

extension RadioDevice {
    init(_ collar: Configuration.Collar) {
        var address: BluetoothAddress?
        if case .bluetooth(let configured) = collar.link { address = configured }
        self = .collar(serial: collar.serial, profile: CollarProfile(collar), address: address, pairing: PairingPolicy(collar.pairing))
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
