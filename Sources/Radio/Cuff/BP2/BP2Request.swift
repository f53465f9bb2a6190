import Platform

/// What the hub asks of a cuff of the BP2 family.
enum BP2Request: Sendable, Equatable {
    case info
    case state
    case battery
    case fileList
    case setTime(CivilTime)
    /// Opens a file. A cuff that measures does not answer this; some firmware opens one file on each link.
    case openFile(BP2FileName)
    /// The octets of the open file from an offset on.
    case readFile(offset: UInt32)
    case closeFile

    var command: BP2Command {
        switch self {
        case .info: .info
        case .state: .state
        case .battery: .battery
        case .fileList: .fileList
        case .setTime: .setTime
        case .openFile: .readFileStart
        case .readFile: .readFileData
        case .closeFile: .readFileEnd
        }
    }

    /// The frame to write.
    func encoded(sequence: UInt8) -> [UInt8] { BP2Frame.request(command, sequence: sequence, payload: payload) }

    private var payload: [UInt8] {
        switch self {
        case .info, .state, .battery, .fileList, .closeFile: []
        // Date Time has the same seven octets.
        case .setTime(let time): DateTimeValue(time).encoded
        // The offset to begin at, which is 0, is behind the name.
        case .openFile(let name): name.padded + [0, 0, 0, 0]
        case .readFile(let offset): LittleEndian.bytes(offset)
        }
    }
}

/// The name of a file: 1 to 16 octets of printable ASCII.
public struct BP2FileName: Sendable, Hashable, CustomStringConvertible {
    /// The octets of a name in a list and in a request.
    static let length = 16

    /// The readings of models that keep them in one file.
    static let readings = BP2FileName(checked: "bp2nibp.list")

    /// The name as text.
    public let text: String

    /// - Returns: `nil` when it has no place in 16 octets, or is not printable ASCII.
    public init?(_ text: String) {
        guard (1...Self.length).contains(text.utf8.count), text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else { return nil }
        self.text = text
    }

    private init(checked text: String) { self.text = text }

    public var description: String { text }

    fileprivate var padded: [UInt8] { Array(text.utf8) + [UInt8](repeating: 0, count: Self.length - text.utf8.count) }

    /// Files that are one reading, or one electrocardiogram, are named by their local time: `20240615171727`.
    var time: CivilTime? {
        let digits = Array(text.utf8)
        guard digits.count == 14, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        func number(_ range: Range<Int>) -> Int { digits[range].reduce(0) { 10 * $0 + Int($1 - 0x30) } }
        return CivilTime(
            year: number(0..<4), month: number(4..<6), day: number(6..<8), hour: number(8..<10), minute: number(10..<12), second: number(12..<14)
        )
    }
}
