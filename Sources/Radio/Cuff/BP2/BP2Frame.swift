/// One frame of the BP2 family's protocol: `A5 cmd ~cmd type seq len16 payload crc8`, little-endian, the checksum over all that is before it.
struct BP2Frame: Sendable, Equatable {
    /// What every frame begins with.
    static let header: UInt8 = 0xA5
    /// The octets before the payload.
    static let overhead = 7
    /// The longest payload that is taken for one. The family's firmware says that it sends less.
    static let payloadLimit = 4_096

    let command: UInt8
    /// 0 from the hub; from the cuff 1 when it did what was asked, anything else when it did not.
    let type: UInt8
    let sequence: UInt8
    let payload: [UInt8]

    /// The octets of a request.
    static func request(_ command: BP2Command, sequence: UInt8, payload: [UInt8] = []) -> [UInt8] {
        // Payloads of requests are at most 20 octets.
        let length = UInt16(truncatingIfNeeded: payload.count)
        let octets = [header, command.rawValue, ~command.rawValue, 0, sequence, UInt8(truncatingIfNeeded: length), UInt8(length >> 8)] + payload
        return octets + [CRC8.checksum(octets)]
    }
}

/// Puts notifications together into frames.
///
/// A frame may be cut anywhere, and several may come in one notification. Octets that begin no frame are dropped up to the next that may; a frame
/// with a wrong checksum costs itself alone, as the search goes on behind its first octet.
struct BP2Reassembler {
    enum Outcome: Equatable {
        case frame(BP2Frame)
        /// So many octets were no part of any frame.
        case discarded(Int)
    }

    private var buffer: [UInt8] = []

    /// How many octets wait for more.
    var pending: Int { buffer.count }

    /// Takes the next notification.
    mutating func take(_ octets: [UInt8]) -> [Outcome] {
        buffer += octets
        var outcomes: [Outcome] = []
        var position = 0, discarded = 0
        func rest() -> Int { buffer.count - position }
        search: while rest() > 0 {
            switch Self.look(at: buffer[position...]) {
            case .nothing:
                position += 1
                discarded += 1
            case .incomplete:
                break search
            case .frame(let frame):
                if discarded > 0 { outcomes.append(.discarded(discarded)) }
                discarded = 0
                outcomes.append(.frame(frame))
                position += BP2Frame.overhead + frame.payload.count + 1
            }
        }
        if discarded > 0 { outcomes.append(.discarded(discarded)) }
        buffer.removeFirst(position)
        return outcomes
    }

    /// Forgets a frame that was begun: its rest will not come. An octet that looked like the beginning of a long frame must not hold up later ones.
    ///
    /// - Returns: how many octets are dropped; frames that stand behind the first of them are found.
    mutating func abandon() -> [Outcome] {
        guard !buffer.isEmpty else { return [] }
        buffer.removeFirst()
        return [.discarded(1)] + take([])
    }

    private enum Look {
        case nothing
        case incomplete
        case frame(BP2Frame)
    }

    private static func look(at octets: ArraySlice<UInt8>) -> Look {
        let start = octets.startIndex
        guard octets[start] == BP2Frame.header else { return .nothing }
        guard octets.count > 2 else { return .incomplete }
        guard octets[start + 1] == ~octets[start + 2] else { return .nothing }
        guard octets.count >= BP2Frame.overhead else { return .incomplete }
        let length = Int(octets[start + 5]) | Int(octets[start + 6]) << 8
        guard length <= BP2Frame.payloadLimit else { return .nothing }
        let end = start + BP2Frame.overhead + length
        guard end < octets.endIndex else { return .incomplete }
        guard CRC8.checksum(octets[start..<end]) == octets[end] else { return .nothing }
        return .frame(BP2Frame(
            command: octets[start + 1], type: octets[start + 3], sequence: octets[start + 4], payload: Array(octets[(start + BP2Frame.overhead)..<end])
        ))
    }
}
