import Platform

/// What a pairing with one device may ask of this hub, and when its keys may be made anew.
public struct PairingPolicy: Sendable, Hashable {
    /// Where the six digits come from that a device shows or has printed on it.
    public enum Passkey: Sendable, Hashable {
        /// The device has none: it is paired by Just Works.
        case none
        case fixed(UInt32)
        /// A file of one line that only the hub's user can read, read at each pairing.
        case file(String)
    }

    public var passkey: Passkey
    /// Whether lost or wrong keys are replaced without anybody opening the pairing.
    public var repair: Bool

    public init(passkey: Passkey = .none, repair: Bool = false) {
        self.passkey = passkey
        self.repair = repair
    }

    /// What the kernel asks in the middle of a pairing.
    public enum Question: Sendable, Hashable {
        /// User Confirmation Request with its hint set: pair at all?
        case justWorks
        /// User Confirmation Request: do both sides show this number?
        case comparison(UInt32)
        /// User Passkey Request.
        case passkey
    }

    public enum Answer: Sendable, Hashable {
        case accept
        case enter(UInt32)
        case refuse
    }

    /// The answer. Nobody here can compare numbers, and a device that has a passkey is not paired without it: somebody in the middle could ask for that.
    ///
    /// - Parameter passkey: what `readPasskey` gave.
    public func answer(_ question: Question, passkey: UInt32?) -> Answer {
        switch question {
        case .justWorks: self.passkey == .none ? .accept : .refuse
        case .comparison: .refuse
        case .passkey: passkey.map { .enter($0) } ?? .refuse
        }
    }

    /// What the kernel is told that this side can do: type digits where a device shows some, else nothing.
    public var ioCapability: IOCapability { passkey == .none ? .noInputNoOutput : .keyboardOnly }

    /// The level that the device's links are raised to: with a passkey somebody in the middle is excluded.
    public var level: SecurityLevel { passkey == .none ? .medium : .high }

    /// Whether a key is as good as this policy makes it: where a passkey was to be entered, one of Just Works shows that somebody evaded it.
    public func accepts(_ key: LongTermKey) -> Bool { key.kind != .debugP256 && (passkey == .none || key.kind.isAuthenticated) }

    /// The passkey as it is now; `nil` when the device has none.
    ///
    /// - Parameter read: reads the file; `SecretFile.read` outside tests.
    public func readPasskey(_ read: (String) throws -> String = { try SecretFile.read($0) }) throws(PasskeyError) -> UInt32? {
        switch passkey {
        case .none:
            return nil
        case .fixed(let number):
            guard number <= 999_999 else { throw .notSixDigits(path: nil) }
            return number
        case .file(let path):
            let text: String
            do { text = try read(path) } catch { throw .unreadable("\(error)") }
            guard text.utf8.count == 6, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = UInt32(text) else {
                throw .notSixDigits(path: path)
            }
            return number
        }
    }
}

/// Why there is no passkey to enter; the pairing is refused.
public enum PasskeyError: Error, Sendable, Hashable, CustomStringConvertible {
    case unreadable(String)
    case notSixDigits(path: String?)

    /// A short name that stays the same between releases.
    public var code: String {
        switch self {
        case .unreadable: "passkey-unreadable"
        case .notSixDigits: "passkey-malformed"
        }
    }

    public var description: String {
        switch self {
        case .unreadable(let why): "the passkey cannot be read: \(why)"
        case .notSixDigits(let path?): "\(path) must hold a passkey of six digits"
        case .notSixDigits(nil): "a passkey has six digits"
        }
    }
}
