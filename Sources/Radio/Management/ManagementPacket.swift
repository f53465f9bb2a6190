/// What one packet of the control channel is, its octets being anybody's.
enum ManagementPacket: Equatable {
    /// A command was carried out or failed; `parameters` are empty in a Command Status.
    case answer(ManagementOpcode, ControllerIndex, ManagementStatus, parameters: [UInt8])
    case event(ControllerIndex, ManagementEvent)
    /// The text says what is wrong with it.
    case malformed(String)

    init(parsing octets: ArraySlice<UInt8>) {
        var reader = OctetReader(octets)
        guard let code = reader.uint16().map(ManagementEventCode.init(rawValue:)), let index = reader.uint16().map(ControllerIndex.init(rawValue:)),
              let length = reader.uint16()
        else {
            self = .malformed("a packet of \(octets.count) octets has no room for a header")
            return
        }
        guard reader.count == Int(length) else {
            self = .malformed("\(code) says that \(length) octets follow, and there are \(reader.count)")
            return
        }
        switch code {
        case .commandComplete, .commandStatus:
            guard let opcode = reader.uint16().map(ManagementOpcode.init(rawValue:)), let status = reader.uint8().map(ManagementStatus.init(rawValue:)) else {
                self = .malformed("\(code) of \(length) octets names no command and status")
                return
            }
            self = .answer(opcode, index, status, parameters: code == .commandComplete ? reader.remainder() : [])
        default:
            let parameters = octets.dropFirst(6)
            self = ManagementEvent(code, parsing: parameters).map { .event(index, $0) } ?? .malformed("\(code) of \(length) octets cannot be read")
        }
    }
}
