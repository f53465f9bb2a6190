import Testing

@testable import Radio

/// One test case of the GATT qualification tests, as the client under test sees it: what is called, and every PDU in both directions.
///
/// The names are those of the Bluetooth GATT test specification (TP/<group>/CL/<case>); `/auto`, `/512B` and the like are variants. PDUs carry the values
/// of the specification's example databases. Lists of cases are computed: the closures of a stored list are checked too early by Swift 6.0, which
/// does not see yet that they call an actor.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
    let name: String
    let script: [ScriptStep]
    /// Whether the link's security can be raised.
    var raises = false
    var isEncrypted = false
    let run: @Sendable (GATTClient, UpdateRecorder) async throws -> Void

    var testDescription: String { name }

    init(_ name: String, _ script: [ScriptStep], raises: Bool = false, isEncrypted: Bool = false,
         _ run: @escaping @Sendable (GATTClient, UpdateRecorder) async throws -> Void) {
        self.name = name
        self.script = script
        self.raises = raises
        self.isEncrypted = isEncrypted
        self.run = run
    }

    /// Runs the case over a socket pair: a PDU too many, too few or other than the script's is a failure.
    func check() throws {
        let raised: RaiseSecurity = { _ in }
        try converse(script, receiveMTU: 512, raiseSecurity: raises ? raised : nil, isEncrypted: isEncrypted, run)
    }
}

/// A script from its text: a line is one PDU, `>` from the client, `<` from the server.
func exchange(_ text: String) -> [ScriptStep] {
    text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }.map { line in
        let pdu = String(line.dropFirst())
        return line.hasPrefix(">") ? .expects(pdu) : .sends(pdu)
    }
}

/// The MTU exchange that opens every case, at 512 octets on both sides.
let mtuExchange = exchange("""
    > 02 00 02
    < 03 00 02
    """)

/// Generic Attribute at 0x0001-0x0004 and Heart Rate at 0x0005-0x0008, each with one characteristic (0x0003, 0x0007) and its description (0x0004, 0x0008).
let smallDatabase = mtuExchange + exchange("""
    > 10 01 00 FF FF 00 28
    < 11 06 01 00 04 00 01 18
    > 10 05 00 FF FF 00 28
    < 11 06 05 00 08 00 0D 18
    > 10 09 00 FF FF 00 28
    < 01 10 09 00 0A
    > 10 01 00 FF FF 01 28
    < 01 10 01 00 0A
    > 08 01 00 04 00 02 28
    < 01 08 01 00 0A
    > 08 05 00 08 00 02 28
    < 01 08 05 00 0A
    > 08 01 00 04 00 03 28
    < 09 07 02 00 02 03 00 00 2A
    > 08 03 00 04 00 03 28
    < 01 08 03 00 0A
    > 04 04 00 04 00
    < 05 01 04 00 01 29
    > 08 05 00 08 00 03 28
    < 09 07 06 00 0A 07 00 29 2A
    > 08 07 00 08 00 03 28
    < 01 08 07 00 0A
    > 04 08 00 08 00
    < 05 01 08 00 01 29
    """)

extension GATTClient {
    /// What a connection begins with: the MTU exchange and the walk through the database.
    func open() async throws {
        _ = try await exchangeMTU()
        _ = try await discoverDatabase()
    }
}

extension GATTService {
    /// A range to search in.
    static func range(_ start: AttributeHandle, _ end: AttributeHandle) -> GATTService {
        GATTService(uuid: .uuid16(0x1800), startHandle: start, endHandle: end)
    }
}
