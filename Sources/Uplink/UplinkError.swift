/// What is wrong with how the uplink was set up, or with what it was given to send.
public enum UplinkError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The base URL is not one that health data may be sent to.
    case unusableBase(String)
    /// libcurl or TLS cannot be used at all.
    case library(String)
    /// An entry that no request can be made of.
    case unsendable(String)
    /// One reading of an entry that no request can be made of, by its place in what was asked for.
    case unsendableReading(place: Int, String)

    /// The stable code.
    public var code: String {
        switch self {
        case .unusableBase: "uplink-base-unusable"
        case .library: "uplink-library-failed"
        case .unsendable: "entry-unsendable"
        case .unsendableReading: "reading-unsendable"
        }
    }

    /// What failed, and what to do.
    public var words: String {
        switch self {
        case .unusableBase(let base): "\(base) is no absolute https URL without user, query and fragment; write it like https://backend.example/hub"
        case .library(let words): words
        case .unsendable(let words), .unsendableReading(_, let words): words
        }
    }

    public var description: String { "\(code): \(words)" }
}
