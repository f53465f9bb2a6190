import Glibc
import Platform

/// The program: one command, one exit status.
enum Program {
    /// - Parameter arguments: the command line without the program's name.
    /// - Returns: the exit status.
    static func main(_ arguments: [String]) -> CInt {
        let invocation: Invocation
        do throws(UsageError) {
            invocation = try Invocation(parsing: arguments)
        } catch {
            Output.complain("gateway: \(error.words)")
            Output.complain("See: gateway \(error.command.map { "\($0.rawValue) " } ?? "")--help")
            return ExitStatus.usage
        }
        switch invocation {
        case .run(let path): return run(path)
        case .checkConfiguration(let path, let printing): return checkConfiguration(path, printing: printing)
        case .ask(let request, let json, let target): return ask(request, target, member: json ? request.answerMember : nil)
        case .version:
            Output.print("gateway \(Versions.gateway)\n" + Versions.libraries.map { "\($0.name) \($0.version)\n" }.joined())
        case .help(let command): Output.print(Invocation.help(for: command))
        }
        return ExitStatus.done
    }

    private static func run(_ path: String) -> CInt {
        Daemon.holdHangUps()
        let outcome = ConfigurationFile.load(path, checks: .daemon)
        // In the journal a line without a level would be one among many (sd-daemon(3)).
        let inJournal = getenv("JOURNAL_STREAM") != nil
        func complain(_ level: LogLevel, _ line: String) { Output.complain(inJournal ? "<\(level.rawValue)>\(line)" : line) }
        for diagnostic in outcome.diagnostics { complain(diagnostic.severity == .error ? .error : .warning, "\(diagnostic)") }
        guard let configuration = outcome.configuration else {
            complain(.error, "gateway: not started; \(summary(outcome.diagnostics))")
            RefusalLight.show(for: path)
            return ExitStatus.configuration
        }
        return Daemon.run(configuration: configuration, from: path)
    }

    private static func checkConfiguration(_ path: String, printing: Bool) -> CInt {
        let outcome = ConfigurationFile.load(path, checks: .command)
        for diagnostic in outcome.diagnostics { Output.complain("\(diagnostic)") }
        guard let configuration = outcome.configuration else {
            Output.complain("gateway: \(path) cannot be used; \(summary(outcome.diagnostics))")
            return ExitStatus.configuration
        }
        let more = outcome.files.count > 1 ? " with \(counted(outcome.files.count - 1, "drop-in", "drop-ins"))" : ""
        let content = [(configuration.owners.count, "owner", "owners"), (configuration.collars.count, "collar", "collars"), (configuration.cuffs.count, "cuff", "cuffs")]
            .filter { $0.0 > 0 }.map { counted($0.0, $0.1, $0.2) }.joined(separator: ", ")
        let verdict = "\(path)\(more) is in order: \(content)\(outcome.diagnostics.isEmpty ? "" : "; \(summary(outcome.diagnostics))")\n"
        Output.print(printing ? "# \(verdict)\n\(EffectiveConfiguration.text(configuration, .environment))" : verdict)
        return ExitStatus.done
    }

    private static func summary(_ diagnostics: [Diagnostic]) -> String {
        let errors = diagnostics.filter { $0.severity == .error }.count
        let warnings = diagnostics.count - errors
        return [(errors, "error", "errors"), (warnings, "warning", "warnings")].filter { $0.0 > 0 }.map { counted($0.0, $0.1, $0.2) }.joined(separator: ", ")
    }

    // MARK: Commands to the daemon

    /// - Parameter member: what to print of the answer as JSON; `nil` prints the words.
    private static func ask(_ request: ControlRequest, _ target: Invocation.Target, member: String?) -> CInt {
        guard let path = socketPath(target) else { return ExitStatus.configuration }
        do throws(ControlClientError) {
            let answer = try ControlClient.ask(request, at: path)
            let shown = member.map { answer[$0].map { $0.encoded(indented: true) + "\n" } } ?? answer["text"]?.string
            guard let shown else { throw .malformed(path: path, "it lacks \(quoted(member ?? "text"))") }
            Output.print(shown)
            return ExitStatus.done
        } catch {
            let (words, status) = describe(error)
            Output.complain("gateway: \(words)")
            return status
        }
    }

    private static func socketPath(_ target: Invocation.Target) -> String? {
        let file: String
        switch target {
        case .socket(let path): return path
        case .configuration(let path?): file = path
        case .configuration(nil):
            // A daemon that was started with another file may still listen at the standard place.
            guard ConfigurationFile.exists(ConfigurationFile.standardPath) else { return Keys.Control.socket.standard }
            file = ConfigurationFile.standardPath
        }
        let (path, diagnostics) = ConfigurationFile.controlSocket(file)
        for diagnostic in diagnostics { Output.complain("\(diagnostic)") }
        if path == nil { Output.complain("gateway: \(file) does not say where the control socket is; name it with --socket PATH") }
        return path
    }

    private static func describe(_ error: ControlClientError) -> (words: String, status: CInt) {
        switch error {
        case .notRunning(let path, let reason):
            ("the daemon is not running: nobody listens at \(path) (\(reason.reason)); start it with: gateway run", ExitStatus.unavailable)
        case .timeout(let path): ("the daemon at \(path) did not answer in time", ExitStatus.unavailable)
        case .system(let reason): ("the daemon cannot be asked: \(reason)", ExitStatus.unavailable)
        case .notAllowed(let words): (words, ExitStatus.notAllowed)
        case .refused(let code, let text): ("the daemon refused: \(text) [\(code)]", ExitStatus.protocolError)
        case .malformed(let path, let words): ("what answered at \(path) is no gateway of this version: \(words)", ExitStatus.protocolError)
        }
    }
}
