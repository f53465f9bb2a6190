/// What an installer or an operator asks of the radio. Devices are named as the configuration names them.
enum RadioRequest: Sendable, Hashable {
    /// Pairing is opened: for one device, or for every configured one that has no bond.
    case pair(device: String?)
    /// The device's bonds, what was discovered of it, and its adopted address are forgotten; its entries and books stay.
    case forget(device: String)
    /// Everything that is heard for so many seconds.
    case scan(seconds: Int)
    /// One device is looked at from end to end, and nothing of it changed.
    case probe(device: String)

    /// How long a scan may be, in seconds.
    static let scanRange = 1...120
    /// How long a scan is when nobody says.
    static let scanStandard = 10

    /// How long the radio may take: past that nobody waits for the answer.
    var allowance: Duration {
        switch self {
        // Time to press the button of a device, and for it to be heard.
        case .pair: .seconds(120)
        case .forget: .seconds(10)
        case .scan(let seconds): .seconds(seconds + 5)
        // The discovery of a device of many services, with the longest of transactions in it.
        case .probe: .seconds(60)
        }
    }

    /// The device that it is about.
    var device: String? {
        switch self {
        case .pair(let device): device
        case .forget(let device), .probe(let device): device
        case .scan: nil
        }
    }

    /// Reads the name of a device; whether one is called that only the daemon knows.
    static func device(_ text: String) throws(ArgumentError) -> String {
        guard PlainName.fits(text) else { throw ArgumentError(words: "\(quoted(text)) is no device's name; allowed: \(PlainName.allowed)") }
        return text
    }

    /// Reads the length of a scan.
    static func seconds(_ text: String) throws(ArgumentError) -> Int {
        // Int64's own reader takes a plus sign as well.
        guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let number = Int64(text) else { throw noSeconds(quoted(text)) }
        return try seconds(number)
    }

    /// Checks the length of a scan.
    static func seconds(_ number: Int64) throws(ArgumentError) -> Int {
        guard let seconds = Int(exactly: number), scanRange.contains(seconds) else { throw noSeconds("\(number)") }
        return seconds
    }

    private static func noSeconds(_ given: String) -> ArgumentError {
        ArgumentError(words: "\(given) is no length of a scan; allowed: \(scanRange.lowerBound) to \(scanRange.upperBound) seconds")
    }
}

extension ControlError {
    /// No controller is there to do it with.
    static let noController = ControlError.refused(
        code: "no-controller", "no Bluetooth controller is driven; check that one is plugged in and not blocked (rfkill), and [radio] in the configuration")

    /// - Parameter known: the names of the configured devices.
    static func unknownDevice(_ name: String, known: [String]) -> ControlError {
        let advice = NearestName.of(name, among: known).map { "did you mean \(quoted($0))?" } ?? "configured: \(known.map(quoted).joined(separator: ", "))"
        return .refused(code: "unknown-device", "no device is called \(quoted(name)); \(advice)")
    }
}
