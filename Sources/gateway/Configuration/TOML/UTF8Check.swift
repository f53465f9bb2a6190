/// Finds the first byte that is not UTF-8 (RFC 3629), so that the message can point at it.
enum UTF8Check {
    /// The place and value of the first byte that belongs to no character; `nil` when all is UTF-8.
    static func firstInvalid(in bytes: [UInt8]) -> (line: Int, column: Int, byte: UInt8)? {
        var parser = Unicode.UTF8.ForwardParser()
        var rest = bytes.makeIterator()
        var line = 1, column = 1, offset = 0
        while true {
            switch parser.parseScalar(from: &rest) {
            case .valid(let scalar):
                offset += scalar.count
                if scalar.count == 1, scalar.first == UInt8(ascii: "\n") {
                    line += 1
                    column = 1
                } else {
                    column += 1
                }
            case .error: return (line, column, bytes[offset])
            case .emptyInput: return nil
            }
        }
    }
}
