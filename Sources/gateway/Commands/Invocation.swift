/// What the program was asked to do.
enum Invocation: Sendable, Hashable {
    /// Where a command looks for the daemon's control socket.
    enum Target: Sendable, Hashable {
        /// In the configuration file; `nil` is the standard one, which need not exist.
        case configuration(path: String?)
        case socket(path: String)
    }

    case run(configuration: String)
    case checkConfiguration(path: String)
    case status(json: Bool, Target)
    case flush(json: Bool, Target)
    case version
    case help(Command?)
}

/// The commands by their names.
enum Command: String, Sendable, CaseIterable {
    case run
    case checkConfig = "check-config"
    case status
    case flush

    /// The options that it takes.
    fileprivate var options: [Option] {
        switch self {
        case .run, .checkConfig: [.config]
        case .status, .flush: [.json, .config, .socket]
        }
    }
}

private enum Option: String, CaseIterable {
    case config = "--config"
    case socket = "--socket"
    case json = "--json"

    var takesValue: Bool { self != .json }
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
        let options = try Self.options(of: command, arguments.dropFirst())
        let target: Target
        switch (options[.config], options[.socket]) {
        case (_?, _?): throw UsageError(words: "--config and --socket exclude each other", command: command)
        case (_, let socket?): target = .socket(path: socket)
        case (let path, nil): target = .configuration(path: path)
        }
        let path = options[.config] ?? ConfigurationFile.standardPath
        switch command {
        case .run: self = .run(configuration: path)
        case .checkConfig: self = .checkConfiguration(path: path)
        case .status: self = .status(json: options[.json] != nil, target)
        case .flush: self = .flush(json: options[.json] != nil, target)
        }
    }

    private static var commandNames: String { Command.allCases.map(\.rawValue).joined(separator: ", ") }

    private static func unknown(_ word: String) -> UsageError {
        if word.hasPrefix("-") { return UsageError(words: "\(quoted(word)) is not an option here; a command comes first: \(commandNames)", command: nil) }
        let nearest = NearestName.of(word, among: Command.allCases.map(\.rawValue))
        return UsageError(words: "\(quoted(word)) is not a command; " + (nearest.map { "did you mean \"\($0)\"?" } ?? "commands: \(commandNames)"), command: nil)
    }

    /// The options that were given, each with its value (empty for one that takes none).
    private static func options(of command: Command, _ arguments: ArraySlice<String>) throws(UsageError) -> [Option: String] {
        var found: [Option: String] = [:]
        var rest = arguments
        while let word = rest.popFirst() {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let option = Option(rawValue: parts[0]), command.options.contains(option) else {
                let known = command.options.map(\.rawValue).joined(separator: ", ")
                throw UsageError(words: "\(command.rawValue) does not take \(quoted(word)); it takes \(known)", command: command)
            }
            if found[option] != nil { throw UsageError(words: "\(option.rawValue) is given twice", command: command) }
            if !option.takesValue {
                if parts.count == 2 { throw UsageError(words: "\(option.rawValue) takes no value", command: command) }
                found[option] = ""
                continue
            }
            guard let value = parts.count == 2 ? parts[1] : rest.popFirst(), !value.isEmpty, parts.count == 2 || !value.hasPrefix("--") else {
                throw UsageError(words: "\(option.rawValue) needs a path", command: command)
            }
            found[option] = value
        }
        return found
    }
}
