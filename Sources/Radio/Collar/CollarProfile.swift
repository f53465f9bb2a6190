import Platform

/// What a read at rest, a silence and an answer may take.
public struct CollarTiming: Sendable, Hashable {
    /// Without any heartbeat for this long, a link counts as dead: three heartbeats of 5 s.
    public var silence: Duration
    /// Without a window or an answer for this long, a read counts as stalled.
    public var stall: Duration
    /// Without an answer for this long, a request other than a read counts as lost.
    public var answer: Duration

    /// The profile's figures.
    public init(silence: Duration = .seconds(15), stall: Duration = .seconds(10), answer: Duration = .seconds(30)) {
        self.silence = silence
        self.stall = stall
        self.answer = answer
    }
}

/// What is known of a collar once it is connected.
public struct CollarIdentity: Sendable, Hashable {
    /// The serial number, which stays when the address changes.
    public let serial: String
    /// The firmware revision, when the collar tells it.
    public let firmware: String?
    /// Percent, 0...100, from the Battery service; `nil` when the collar has none or does not know it.
    public let battery: UInt8?

    /// Puts an identity together.
    public init(serial: String, firmware: String? = nil, battery: UInt8? = nil) {
        self.serial = serial
        self.firmware = firmware
        self.battery = battery
    }
}

extension CollarIdentity {
    /// What the collar's advertisement carries as service data: the first 8 bytes of the SHA-256 of its serial number.
    public var serviceDataIdentity: [UInt8] { Array(SHA256.digest(Array(serial.utf8)).prefix(8)) }
}

/// Where the collar's attributes are found, and how its link is secured. The layouts behind them are version 1 of the profile whatever the UUIDs.
public struct CollarProfile: Sendable, Hashable {
    /// What the link must be before Raw Windows and Control Point are used. Whoever makes the link sees to it.
    public enum Security: String, Sendable, Hashable, CaseIterable {
        /// Encrypted, by a bond of LE Secure Connections.
        case encrypted
        /// As it is: firmware without security.
        case none
    }

    /// The primary service.
    public var service: BluetoothUUID
    /// Beta Metrics: read, notify.
    public var heartbeat: BluetoothUUID
    /// Raw Windows: notify.
    public var windows: BluetoothUUID
    /// Control Point: write, indicate.
    public var control: BluetoothUUID
    /// What the link must be.
    public var security: Security

    /// The profile's own UUIDs and security, unless others are given.
    public init(
        service: BluetoothUUID? = nil, heartbeat: BluetoothUUID? = nil, windows: BluetoothUUID? = nil, control: BluetoothUUID? = nil,
        security: Security = .encrypted
    ) {
        self.service = service ?? Self.uuid(1)
        self.heartbeat = heartbeat ?? Self.uuid(2)
        self.windows = windows ?? Self.uuid(3)
        self.control = control ?? Self.uuid(4)
        self.security = security
    }

    /// 6f1e000N-2c4b-4d1e-9f3a-8a5b7c9d1e20, in the order of the air.
    private static func uuid(_ number: UInt8) -> BluetoothUUID {
        let octets: [UInt8] = [0x20, 0x1e, 0x9d, 0x7c, 0x5b, 0x8a, 0x3a, 0x9f, 0x1e, 0x4d, 0x4b, 0x2c, number, 0x00, 0x1e, 0x6f]
        guard let uuid = BluetoothUUID(littleEndian: octets) else { preconditionFailure("16 octets are a UUID") }
        return uuid
    }
}
