import Platform
import Testing

@testable import Radio

/// A static random address of the test's own.
func address(_ number: UInt16) -> BluetoothAddress {
    BluetoothAddress(octets: [UInt8(truncatingIfNeeded: number), UInt8(number >> 8), 0x5E, 0, 0, 0xC0], kind: .random)!
}

/// A collar of the test's own; with an address unless `nil` is given.
func collar(
    _ serial: String, at address: BluetoothAddress?, security: CollarProfile.Security = .encrypted, pairing: PairingPolicy = PairingPolicy()
) -> RadioDevice {
    .collar(serial: serial, profile: CollarProfile(security: security), address: address, pairing: pairing)
}

/// A cuff of the test's own: of its kind, and saying nothing of who it is.
func cuff(_ id: String, at address: BluetoothAddress? = nil, security: RadioDevice.Security = .onDemand) -> RadioDevice {
    RadioDevice(id: id, service: .uuid16(0x1810), serial: nil, identity: nil, address: address, security: security)
}

func bond(_ device: RadioDevice, at address: BluetoothAddress? = nil) -> Bond {
    let address = address ?? device.address!
    return Bond(device: device.id, address: address, longTermKeys: [longTermKey(address)])
}

/// The advertisement of a collar with this serial number.
func collarData(_ serial: String) -> AdvertisingData {
    AdvertisingData(collarOctets(identity: CollarIdentity(serial: serial).serviceDataIdentity))
}

func collarOctets(identity: [UInt8]) -> [UInt8] {
    let service = CollarProfile().service.littleEndian
    return [2, 1, 6, 17, 7] + service + [UInt8(17 + identity.count), 0x21] + service + identity
}

let cuffData = AdvertisingData([3, 3, 0x10, 0x18])

/// The machine under virtual time, with all that it asked for.
struct ConnectorBench {
    var machine: ConnectorMachine
    var now = BootInstant(nanoseconds: 1_000_000_000_000)
    /// What it asked for since `take`.
    var actions: [ConnectorAction] = []

    init(_ devices: [RadioDevice], bonds: [Bond] = [], settings: ConnectorSettings = ConnectorSettings(), isReady: Bool = true) {
        machine = ConnectorMachine(settings: settings)
        actions += machine.configure(devices, bonds: bonds, at: now)
        if isReady { tell(.controllerReady) }
    }

    mutating func tell(_ input: ConnectorInput) { actions += machine.handle(input, at: now) }

    /// Another controller is in use, with these bonds.
    mutating func rebond(_ bonds: [Bond]) { actions += machine.rebond(bonds, at: now) }

    /// Lets time pass; deadlines are told when they come.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let deadline = machine.deadline, deadline <= end {
            now = max(now, deadline)
            let before = actions.count
            tell(.timer)
            // A deadline that is not consumed would keep the loop busy for ever.
            if let again = machine.deadline, again <= now, actions.count == before {
                Issue.record("the deadline \(again) stays")
                break
            }
        }
        now = end
    }

    mutating func take() -> [ConnectorAction] {
        defer { actions = [] }
        return actions
    }

    var events: [ConnectorEvent] {
        actions.compactMap { if case .event(let event) = $0 { event } else { nil } }
    }

    /// The kernel's list as it was set last.
    var list: [BluetoothAddress] { machine.listed.map(\.address) }

    var scans: Int { actions.filter { $0 == .beginScan }.count }

    mutating func hear(_ address: BluetoothAddress, _ data: AdvertisingData, rssi: Int8? = -60) {
        tell(.heard(Sighting(address: address, rssi: rssi, data: data)))
    }

    /// The kernel links the device, and it works.
    mutating func work(_ device: String, _ address: BluetoothAddress) {
        tell(.connected(address))
        tell(.linkAccepted(address))
        if actions.contains(.secure(device: device, address, mayPair: false)) { tell(.securityEnded(device: device, .encrypted)) }
        tell(.subscribed(device: device))
    }

    /// A link that fails before anything is subscribed to.
    mutating func fail(_ address: BluetoothAddress) {
        tell(.connected(address))
        tell(.linkAccepted(address))
        tell(.disconnected(address, .connectionTimeout))
    }
}
