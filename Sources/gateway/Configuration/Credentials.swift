import Glibc

/// The credentials that systemd hands to a service (systemd.exec(5), "Credentials"): files in a directory that only the service can see.
struct Credentials: Sendable, Hashable {
    /// `$CREDENTIALS_DIRECTORY`; `nil` outside of a service that has credentials.
    let directory: String?

    /// Those of this process.
    static var environment: Credentials {
        Credentials(directory: getenv("CREDENTIALS_DIRECTORY").map { String(cString: $0) }.flatMap { $0.hasPrefix("/") ? $0 : nil })
    }

    /// The file of a credential. Where there is no directory, the one that it will have in the service.
    func path(of name: String) -> String { "\(directory ?? Self.standardDirectory)/\(name)" }

    private static let standardDirectory = "/run/credentials/gateway.service"
}

extension ValueForm where Value == String {
    /// The name of a credential: that of a file, without what systemd's settings take for a separator.
    static let credentialName = ValueForm(
        allowed: "the name of a credential: 1 to 255 letters, digits, dots, hyphens and underscores", example: "anna-token", echoes: false,
        parse: { text in
            let fits = text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
            return fits && (1...255).contains(text.utf8.count) && text != "." && text != ".." ? text : nil
        }, print: { $0 })
}
