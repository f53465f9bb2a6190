/// What the program was asked to do.
enum Invocation: Sendable, Hashable {
    /// Where a command looks for the daemon's control socket.
    enum Target: Sendable, Hashable {
        /// In the configuration file; `nil` is the standard one, which need not exist.
        case configuration(path: String?)
        case socket(path: String)
    }

    case run(configuration: String)
    /// Check the configuration, and print what counts if `printing`.
    case checkConfiguration(path: String, printing: Bool)
    /// Ask the running daemon, and print its answer as JSON or in words.
    case ask(ControlRequest, json: Bool, Target)
    case version
    case help(Command?)
}

/// The commands by their names.
enum Command: String, Sendable, CaseIterable {
    case run
    case checkConfig = "check-config"
    case status
    case flush
    case quarantine
    case purgeSealed = "purge-sealed"
    case discardEvidence = "discard-evidence"
    case audit
    case pair
    case forget
    case scan
    case probe

    /// The options that it takes.
    fileprivate var options: [Option] {
        switch self {
        case .run: [.config]
        case .checkConfig: [.print, .config]
        case .status, .flush, .audit, .pair, .forget, .probe: [.json, .config, .socket]
        case .quarantine, .purgeSealed, .discardEvidence: [.yes, .json, .config, .socket]
        case .scan: [.seconds, .json, .config, .socket]
        }
    }

    /// The words besides options that it takes, for messages; `nil` for none.
    fileprivate var words: String? {
        switch self {
        case .run, .checkConfig, .status, .flush, .audit, .scan: nil
        case .quarantine: "nothing, release ID, give ID OWNER or settle ID"
        case .purgeSealed: "OWNER"
        case .discardEvidence: "NUMBER"
        case .pair: "nothing or DEVICE"
        case .forget, .probe: "DEVICE"
        }
    }
}

private enum Option: String, CaseIterable {
    case config = "--config"
    case socket = "--socket"
    case json = "--json"
    case yes = "--yes"
    case print = "--print"
    case seconds = "--seconds"

    /// What its value is; `nil` when it takes none.
    var value: String? {
        switch self {
        case .config, .socket: "a path"
        case .seconds: "a number"
        case .json, .yes, .print: nil
        }
    }
}

/// Why a command line was not understood.
struct UsageError: Error, Sendable, Hashable {
    /// What is wrong and what would be right, on one line.
    let words: String
    /// The command whose help says more.
    let command: Command?
}

extension Invocation {
    /// Reads a command line.
    ///
    /// - Parameter arguments: without the program's own name.
    init(parsing arguments: [String]) throws(UsageError) {
        if arguments.contains("--help") || arguments.contains("-h") {
            self = .help(arguments.lazy.compactMap(Command.init(rawValue:)).first)
            return
        }
        guard let first = arguments.first else {
            throw UsageError(words: "a command is missing; commands: \(Self.commandNames)", command: nil)
        }
        if first == "--version" {
            guard arguments.count == 1 else { throw UsageError(words: "--version takes nothing more", command: nil) }
            self = .version
            return
        }
        guard let command = Command(rawValue: first) else { throw Self.unknown(first) }
        let (options, words) = try Self.split(command, arguments.dropFirst())
        let target: Target
        switch (options[.config], options[.socket]) {
        case (_?, _?): throw UsageError(words: "--config and --socket exclude each other", command: command)
        case (_, let socket?): target = .socket(path: socket)
        case (let path, nil): target = .configuration(path: path)
        }
        let path = options[.config] ?? ConfigurationFile.standardPath
        switch command {
        case .run: self = .run(configuration: path)
        case .checkConfig: self = .checkConfiguration(path: path, printing: options[.print] != nil)
        case .status: self = .ask(.status, json: options[.json] != nil, target)
        case .flush: self = .ask(.flush, json: options[.json] != nil, target)
        case .audit: self = .ask(.operate(.audit), json: options[.json] != nil, target)
        case .quarantine, .purgeSealed, .discardEvidence:
            self = .ask(.operate(try Self.request(command, words, confirmed: options[.yes] != nil)), json: options[.json] != nil, target)
        case .pair, .forget, .scan, .probe:
            self = .ask(.radio(try Self.request(command, words, seconds: options[.seconds])), json: options[.json] != nil, target)
        }
    }

    /// What is asked of the radio.
    private static func request(_ command: Command, _ words: [String], seconds: String?) throws(UsageError) -> RadioRequest {
        do throws(ArgumentError) {
            switch (command, words.first, words.count) {
            case (.pair, nil, 0): return .pair(device: nil)
            case (.pair, let device?, 1): return .pair(device: try RadioRequest.device(device))
            case (.forget, let device?, 1): return .forget(device: try RadioRequest.device(device))
            case (.probe, let device?, 1): return .probe(device: try RadioRequest.device(device))
            case (.scan, nil, 0):
                guard let seconds else { return .scan(seconds: RadioRequest.scanStandard) }
                return .scan(seconds: try RadioRequest.seconds(seconds))
            default: throw wrongWords(command, words)
            }
        } catch {
            throw UsageError(words: error.words, command: command)
        }
    }

    private static func wrongWords(_ command: Command, _ words: [String]) -> ArgumentError {
        let given = words.isEmpty ? "nothing" : words.map(quoted).joined(separator: " ")
        return ArgumentError(words: "\(command.rawValue) takes \(command.words ?? "no words"), not \(given)")
    }

    /// What an operator asks for.
    ///
    /// - Parameter confirmed: whether `--yes` was given.
    private static func request(_ command: Command, _ words: [String], confirmed: Bool) throws(UsageError) -> OperatorRequest {
        do throws(ArgumentError) {
            switch (command, words.first, words.count) {
            case (.quarantine, nil, 0):
                try needless(confirmed, "gateway quarantine")
                return .quarantine
            case (.quarantine, "release", 2):
                try needless(confirmed, "gateway quarantine release")
                return .release(try OperatorRequest.entry(words[1]))
            case (.quarantine, "give", 3):
                let entry = try OperatorRequest.entry(words[1]), owner = try OperatorRequest.owner(words[2])
                try demand(confirmed, "give sends the entry's readings as those of \(owner), which cannot be taken back")
                return .give(entry, owner: owner)
            case (.quarantine, "settle", 2):
                let entry = try OperatorRequest.entry(words[1])
                try demand(confirmed, "settle deletes the entry's windows or readings here undelivered, and the device may forget them")
                return .settle(entry)
            case (.purgeSealed, let owner?, 1):
                let owner = try OperatorRequest.owner(owner)
                try demand(confirmed, "purge-sealed deletes everything sealed for \(owner) undelivered, and the collars may forget it")
                return .purgeSealed(owner: owner)
            case (.discardEvidence, let number?, 1):
                let number = try OperatorRequest.number(number)
                try demand(confirmed, "discard-evidence deletes the rejected windows through number \(number)")
                return .discardEvidence(through: number)
            default:
                throw wrongWords(command, words)
            }
        } catch {
            throw UsageError(words: error.words, command: command)
        }
    }

    private static func demand(_ confirmed: Bool, _ consequence: String) throws(ArgumentError) {
        guard confirmed else { throw ArgumentError(words: "\(consequence); if that is meant, add --yes") }
    }

    private static func needless(_ confirmed: Bool, _ command: String) throws(ArgumentError) {
        guard !confirmed else { throw ArgumentError(words: "\(command) takes nothing away and takes no --yes") }
    }

    private static var commandNames: String { Command.allCases.map(\.rawValue).joined(separator: ", ") }

    private static func unknown(_ word: String) -> UsageError {
        if word.hasPrefix("-") { return UsageError(words: "\(quoted(word)) is not an option here; a command comes first: \(commandNames)", command: nil) }
        let nearest = NearestName.of(word, among: Command.allCases.map(\.rawValue))
        return UsageError(words: "\(quoted(word)) is not a command; " + (nearest.map { "did you mean \"\($0)\"?" } ?? "commands: \(commandNames)"), command: nil)
    }

    /// The options that were given, each with its value (empty for one that takes none), and the words besides.
    private static func split(_ command: Command, _ arguments: ArraySlice<String>) throws(UsageError) -> (options: [Option: String], words: [String]) {
        var found: [Option: String] = [:]
        var words: [String] = []
        var rest = arguments
        while let word = rest.popFirst() {
            if command.words != nil, !word.hasPrefix("-") {
                words.append(word)
                continue
            }
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = Option(rawValue: parts[0]), command.options.contains(option) else {
                let known = command.options.map(\.rawValue).joined(separator: ", ")
                throw UsageError(words: "\(command.rawValue) does not take \(quoted(word)); it takes \(command.words.map { "\($0) and " } ?? "")\(known)", command: command)
            }
            if found[option] != nil { throw UsageError(words: "\(option.rawValue) is given twice", command: command) }
            guard let kind = option.value else {
                if parts.count == 2 { throw UsageError(words: "\(option.rawValue) takes no value", command: command) }
                found[option] = ""
                continue
            }
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty, parts.count == 2 || !value.hasPrefix("--") else {
                throw UsageError(words: "\(option.rawValue) needs \(kind)", command: command)
            }
            found[option] = value
        }
        return (found, words)
    }
}
