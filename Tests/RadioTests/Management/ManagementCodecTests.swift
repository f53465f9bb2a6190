import Platform
import Testing

@testable import Radio

/// `01` is the last octet of the text form, so the first on the wire.
func device(_ number: UInt8) -> BluetoothAddress { BluetoothAddress(octets: [number, 0, 0x53, 0, 0x5E, 0xC0], kind: .random)! }

func longTermKey(_ address: BluetoothAddress, kind: LongTermKey.Kind = .unauthenticatedP256, isInitiator: Bool = false, fill: UInt8 = 0xA5) -> LongTermKey {
    LongTermKey(
        address: address, kind: kind, isInitiator: isInitiator, encryptionSize: 16, encryptedDiversifier: 0x1234, random: 0x0807_0605_0403_0201,
        value: [UInt8](repeating: fill, count: 16))!
}

func identityKey(_ address: BluetoothAddress) -> IdentityResolvingKey { IdentityResolvingKey(address: address, value: [UInt8](repeating: 0x5A, count: 16))! }

@Suite("The management interface's octets")
struct ManagementCodecTests {
    private static let address = "01 00 53 00 5E C0 02"

    @Test("a command is its opcode, the controller's index, the length and the parameters", arguments: [
        (.readVersion, .none, "01 00 FF FF 00 00"),
        (.readSupportedCommands, .none, "02 00 FF FF 00 00"),
        (.readIndexList, .none, "03 00 FF FF 00 00"),
        (.readExtendedIndexList, .none, "3C 00 FF FF 00 00"),
        (.readControllerInformation, ControllerIndex(rawValue: 1), "04 00 01 00 00 00"),
        (.setPowered(true), ControllerIndex(rawValue: 0), "05 00 00 00 01 00 01"),
        (.setDiscoverable(false), ControllerIndex(rawValue: 0), "06 00 00 00 03 00 00 00 00"),
        (.setConnectable(false), ControllerIndex(rawValue: 0), "07 00 00 00 01 00 00"),
        (.setBondable(true), ControllerIndex(rawValue: 0), "09 00 00 00 01 00 01"),
        (.setLowEnergy(true), ControllerIndex(rawValue: 0), "0D 00 00 00 01 00 01"),
        (.setIOCapability(.noInputNoOutput), ControllerIndex(rawValue: 0), "18 00 00 00 01 00 03"),
        (.setAdvertising(false), ControllerIndex(rawValue: 0), "29 00 00 00 01 00 00"),
        (.setBREDR(false), ControllerIndex(rawValue: 0), "2A 00 00 00 01 00 00"),
        (.setSecureConnections(.only), ControllerIndex(rawValue: 0), "2D 00 00 00 01 00 02"),
        (.startDiscovery, ControllerIndex(rawValue: 0), "23 00 00 00 01 00 06"),
        (.stopDiscovery, ControllerIndex(rawValue: 0), "24 00 00 00 01 00 06"),
        (.getConnections, ControllerIndex(rawValue: 0), "15 00 00 00 00 00"),
        (.disconnect(device(1)), ControllerIndex(rawValue: 0), "14 00 00 00 07 00" + address),
        (.pairDevice(device(1), .keyboardOnly), ControllerIndex(rawValue: 0), "19 00 00 00 08 00" + address + "02"),
        (.cancelPairDevice(device(1)), ControllerIndex(rawValue: 0), "1A 00 00 00 07 00" + address),
        (.unpairDevice(device(1), disconnect: true), ControllerIndex(rawValue: 0), "1B 00 00 00 08 00" + address + "01"),
        (.userConfirmationReply(device(1), accept: true), ControllerIndex(rawValue: 0), "1C 00 00 00 07 00" + address),
        (.userConfirmationReply(device(1), accept: false), ControllerIndex(rawValue: 0), "1D 00 00 00 07 00" + address),
        (.userPasskeyReply(device(1), 123_456), ControllerIndex(rawValue: 0), "1E 00 00 00 0B 00" + address + "40 E2 01 00"),
        (.userPasskeyReply(device(1), nil), ControllerIndex(rawValue: 0), "1F 00 00 00 07 00" + address),
        (.getConnectionInformation(device(1)), ControllerIndex(rawValue: 0), "31 00 00 00 07 00" + address),
        (.addDevice(device(1), .autoConnect), ControllerIndex(rawValue: 0), "33 00 00 00 08 00" + address + "02"),
        (.removeDevice(device(1)), ControllerIndex(rawValue: 0), "34 00 00 00 07 00" + address),
        (.removeDevice(nil), ControllerIndex(rawValue: 0), "34 00 00 00 07 00 00 00 00 00 00 00 00"),
        (.loadConnectionParameters(device(1), .stream), ControllerIndex(rawValue: 0), "35 00 00 00 11 00 01 00" + address + "0C 00 18 00 00 00 90 01"),
        (.setDefaultSystemConfiguration([.autoConnectTimeout(milliseconds: 4_000)]), ControllerIndex(rawValue: 0), "4C 00 00 00 05 00 1B 00 02 A0 0F"),
        (.loadLongTermKeys([]), ControllerIndex(rawValue: 0), "13 00 00 00 02 00 00 00"),
        (.loadLongTermKeys([longTermKey(device(1))]), ControllerIndex(rawValue: 0),
         "13 00 00 00 26 00 01 00" + address + "02 00 10 34 12 01 02 03 04 05 06 07 08" + String(repeating: "A5", count: 16)),
        (.loadIdentityResolvingKeys([identityKey(device(1))]), ControllerIndex(rawValue: 0),
         "30 00 00 00 19 00 01 00" + address + String(repeating: "5A", count: 16)),
        (.other(ManagementOpcode(rawValue: 0x002F), [1]), ControllerIndex(rawValue: 0), "2F 00 00 00 01 00 01"),
    ] as [(ManagementCommand, ControllerIndex, String)])
    func commands(command: ManagementCommand, index: ControllerIndex, octets: String) {
        #expect(hexText(command.packet(for: index)) == hexText(hex(octets)))
    }

    @Test("an event says what its octets say", arguments: [
        ("03 00 00 00 01 00 42", .controllerError(0x42)),
        ("04 00 00 00 00 00", .indexAdded),
        ("05 00 00 00 00 00", .indexRemoved),
        ("20 00 00 00 02 00 00 01", .indexAdded),
        ("21 00 00 00 02 00 00 01", .indexRemoved),
        ("06 00 00 00 04 00 11 0A 00 00", .newSettings([.powered, .bondable, .lowEnergy, .secureConnections])),
        ("0B 00 00 00 10 00" + address + "00 00 00 00 03 00 02 01 06", .deviceConnected(device(1), flags: 0, data: [2, 1, 6])),
        ("0C 00 00 00 08 00" + address + "01", .deviceDisconnected(device(1), .connectionTimeout)),
        ("0D 00 00 00 08 00" + address + "08", .connectFailed(device(1), .timeout)),
        ("0F 00 00 00 0C 00" + address + "01 00 00 00 00", .userConfirmationRequest(device(1), justWorks: true, value: 0)),
        ("10 00 00 00 07 00" + address, .userPasskeyRequest(device(1))),
        ("11 00 00 00 08 00" + address + "05", .authenticationFailed(device(1), .authenticationFailed)),
        ("12 00 00 00 11 00" + address + "C4 20 00 00 00 03 00 02 01 06",
         .deviceFound(Advertisement(address: device(1), rssi: -60, flags: .scanResponse, data: [2, 1, 6]))),
        ("12 00 00 00 0E 00" + address + "7F 00 00 00 00 00 00", .deviceFound(Advertisement(address: device(1), rssi: nil, flags: [], data: []))),
        ("13 00 00 00 02 00 06 01", .discovering(true)),
        ("16 00 00 00 07 00" + address, .deviceUnpaired(device(1))),
        ("17 00 00 00 0C 00" + address + "40 E2 01 00 03", .passkeyNotify(device(1), passkey: 123_456, entered: 3)),
        ("1A 00 00 00 08 00" + address + "02", .deviceAdded(device(1), .autoConnect)),
        ("1B 00 00 00 07 00" + address, .deviceRemoved(device(1))),
        ("1C 00 00 00 10 00" + address + "01 50 00 A0 00 04 00 58 02", .newConnectionParameters(device(1), .rest, store: true)),
        ("1C 00 00 00 10 00" + address + "01 50 00 A0 00 FF 00 58 02", .newConnectionParameters(device(1), nil, store: true)),
        ("0A 00 00 00 25 00 01" + address + "02 00 10 34 12 01 02 03 04 05 06 07 08" + String(repeating: "A5", count: 16),
         .newLongTermKey(longTermKey(device(1)), store: true)),
        ("18 00 00 00 1E 00 01 06 05 04 03 02 41" + address + String(repeating: "5A", count: 16),
         .newIdentityResolvingKey(identityKey(device(1)), randomAddress: [6, 5, 4, 3, 2, 0x41], store: true)),
        ("99 00 00 00 02 00 AB CD", .other(ManagementEventCode(rawValue: 0x99), [0xAB, 0xCD])),
    ] as [(String, ManagementEvent)])
    func events(octets: String, event: ManagementEvent) {
        #expect(ManagementPacket(parsing: hex(octets)[...]) == .event(ControllerIndex(rawValue: 0), event))
    }

    @Test("an event that is cut anywhere is malformed, never something else", arguments: [
        "0B 00 00 00 10 00" + address + "00 00 00 00 03 00 02 01 06", "12 00 00 00 11 00" + address + "C4 20 00 00 00 03 00 02 01 06",
        "0A 00 00 00 25 00 01" + address + "02 00 10 34 12 01 02 03 04 05 06 07 08" + String(repeating: "A5", count: 16),
        "1C 00 00 00 10 00" + address + "01 50 00 A0 00 04 00 58 02", "06 00 00 00 04 00 11 0A 00 00",
    ])
    func truncation(octets: String) {
        let whole = hex(octets)
        for length in 0..<whole.count {
            // Cut with its length left as it was, and with its length made right.
            var cut = Array(whole.prefix(length))
            guard case .malformed = ManagementPacket(parsing: cut[...]) else { Issue.record("\(length) octets of \(octets) were read"); continue }
            guard length >= 6 else { continue }
            cut[4] = UInt8(length - 6)
            guard case .malformed = ManagementPacket(parsing: cut[...]) else { Issue.record("\(length) octets of \(octets) were read"); continue }
        }
    }

    @Test("events about devices of BR/EDR and about unconfigured controllers are nothing for us, and no fault")
    func foreign() {
        for text in ["0C 00 00 00 08 00 01 00 53 00 5E C0 00 01", "20 00 00 00 02 00 01 01", "21 00 00 00 02 00 02 01"] {
            guard case .event(_, .other) = ManagementPacket(parsing: hex(text)[...]) else { Issue.record("\(text) was not left alone"); continue }
        }
    }

    @Test("an answer is read by what was asked")
    func replies() {
        func reply(_ opcode: ManagementOpcode, _ text: String) -> ManagementReply? { ManagementReply(to: opcode, parsing: hex(text)[...]) }
        #expect(reply(.readVersion, "01 17 00") == .version(ManagementVersion(version: 1, revision: 23)))
        #expect(reply(.readSupportedCommands, "02 00 01 00 03 00 3C 00 05 00") == .supportedCommands([.readIndexList, .readExtendedIndexList]))
        #expect(reply(.readSupportedCommands, "FF FF 01 00 03 00") == nil)
        #expect(reply(.readIndexList, "02 00 01 00 00 00") == .controllers([ControllerIndex(rawValue: 1), ControllerIndex(rawValue: 0)]))
        // Of an unconfigured one and of an AMP only their numbers are known.
        #expect(reply(.readExtendedIndexList, "03 00 00 00 00 01 01 00 01 01 02 00 02 01") == .controllers([ControllerIndex(rawValue: 0)]))
        #expect(reply(.readExtendedIndexList, "03 00 00 00 00 01") == nil)
        #expect(reply(.getConnections, "02 00 01 00 53 00 5E C0 02 02 00 53 00 5E C0 00") == .connections([device(1)]))
        #expect(reply(.getConnections, "02 00 01 00 53 00 5E C0 02") == nil)
        #expect(reply(.setPowered, "01 02 00 00") == .settings([.powered, .lowEnergy]))
        #expect(reply(.setPowered, "01 02 00") == nil)
        #expect(reply(.getConnectionInformation, "01 00 53 00 5E C0 02 C4 7F 04") == .connectionInformation(device(1), rssi: -60, transmitPower: nil))
        #expect(reply(.addDevice, "01 00 53 00 5E C0 02") == .octets([1, 0, 0x53, 0, 0x5E, 0xC0, 2]))
        let information = reply(.readControllerInformation, "00 F4 F3 F2 F1 F0 09 02 00 00 02 00 00 01 02 00 00 00 00 00")
        guard case .information(let information) = information else { Issue.record("no information"); return }
        #expect(information.publicAddress?.description == "F0:F1:F2:F3:F4:00")
        #expect(information.current == [.powered, .lowEnergy])
    }

    @Test("keys that would make the kernel refuse a whole list cannot be made")
    func keys() {
        let resolvable = BluetoothAddress(octets: [1, 2, 3, 4, 5, 0x41], kind: .random)!
        let value = [UInt8](repeating: 1, count: 16)
        func key(_ address: BluetoothAddress, size: UInt8 = 16, value: [UInt8]) -> LongTermKey? {
            LongTermKey(address: address, kind: .unauthenticatedP256, isInitiator: false, encryptionSize: size, encryptedDiversifier: 0, random: 0, value: value)
        }
        #expect(key(device(1), value: value) != nil)
        #expect(key(resolvable, value: value) == nil)
        #expect(key(device(1), size: 6, value: value) == nil)
        #expect(key(device(1), size: 17, value: value) == nil)
        #expect(key(device(1), value: Array(value.dropLast())) == nil)
        #expect(IdentityResolvingKey(address: resolvable, value: value) == nil)
        #expect(IdentityResolvingKey(address: device(1), value: []) == nil)
        #expect(resolvable.isResolvablePrivate && !device(1).isResolvablePrivate)
    }

    @Test("keys come back from storage as they were, and are never printed")
    func storage() {
        let key = longTermKey(device(1), kind: .authenticatedLegacy, isInitiator: true)
        #expect(LongTermKey(octets: key.octets) == key)
        #expect(LongTermKey(octets: Array(key.octets.dropLast())) == nil)
        let identity = identityKey(device(2))
        #expect(IdentityResolvingKey(octets: identity.octets) == identity)
        var dumped = ""
        dump([key], to: &dumped)
        dump([identity], to: &dumped)
        for text in [dumped, "\(key) \(identity)", String(reflecting: key), String(reflecting: ControllerEvent.newLongTermKey(key))] {
            #expect(!text.contains("165") && !text.contains("A5") && !text.contains("90"), "\(text)")
        }
    }

    @Test("connection parameters exist only where the specification allows them")
    func parameters() {
        func made(_ minimum: UInt16, _ maximum: UInt16, _ latency: UInt16, _ timeout: UInt16) -> Bool {
            ConnectionParameters(minimumInterval: minimum, maximumInterval: maximum, latency: latency, supervisionTimeout: timeout) != nil
        }
        #expect(made(6, 3_200, 0, 3_200))
        #expect(!made(5, 24, 0, 400))
        #expect(!made(24, 12, 0, 400))
        #expect(!made(12, 3_201, 0, 3_200))
        #expect(!made(12, 24, 0, 9))
        #expect(!made(12, 24, 0, 3_201))
        // Silent for 2.8 s, 3 s and 3.2 s, with a timeout of 6 s.
        #expect(made(80, 160, 13, 600))
        #expect(!made(80, 160, 14, 600))
        #expect(!made(80, 160, 15, 600))
        #expect(made(6, 6, 499, 3_200))
        #expect(!made(6, 6, 500, 3_200))
        // 4 s of interval and 4 s of timeout.
        #expect(!made(6, 3_200, 0, 400))
        #expect(!made(6, 3_200, 0, 800))
        #expect(made(6, 3_200, 0, 801))
    }

    @Test("opcodes, events and status codes have their names, and unknown ones their numbers")
    func names() {
        #expect("\(ManagementOpcode.addDevice)" == "Add Device")
        #expect("\(ManagementOpcode(rawValue: 0x00F0))" == "management command 0x00F0")
        #expect("\(ManagementEventCode.userConfirmationRequest)" == "User Confirmation Request")
        #expect("\(ManagementStatus.permissionDenied)" == "Permission Denied")
        #expect("\(ManagementStatus.rfkilled)" == "RFKilled")
        #expect("\(ManagementStatus(rawValue: 0x42))" == "management status 0x42")
    }
}
