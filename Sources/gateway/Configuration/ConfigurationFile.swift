import CLinux
import Glibc
import Platform

/// What one reading of a configuration gave. Its files are never written.
struct ConfigurationOutcome: Sendable {
    /// `nil` when there is an error among the diagnostics.
    let configuration: Configuration?
    /// Errors and warnings in the order of the files, and in each in the order of its lines.
    let diagnostics: [Diagnostic]
    /// The files that were looked at: the configuration itself, then its drop-ins in their order.
    let files: [String]
}

/// Reads a configuration, the file and its drop-ins: `run`, `check-config` and SIGHUP go the same way.
enum ConfigurationFile {
    /// Where the configuration is when nothing else is said.
    static let standardPath = "/etc/gateway/gateway.toml"

    /// Reads and checks the file at `path` with its drop-ins.
    static func load(_ path: String, checks: FileChecks, credentials: Credentials = .environment) -> ConfigurationOutcome {
        let findings = Findings()
        let (layers, files) = read(path, findings)
        let configuration = layers.flatMap { ConfigurationDecoder(layers: $0, checks: checks, credentials: credentials, findings: findings).decode() }
        return ConfigurationOutcome(configuration: configuration, diagnostics: findings.inOrder(of: files), files: files)
    }

    /// Whether there is something at `path`.
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The control socket that the configuration at `path` names, whatever else is wrong with it: who asks for the daemon's state may do so
    /// because of it. `nil` with the reasons when it does not say.
    static func controlSocket(_ path: String) -> (path: String?, diagnostics: [Diagnostic]) {
        let findings = Findings()
        let (layers, files) = read(path, findings)
        guard let layers, !layers.isMalformed(.control) else { return (nil, findings.inOrder(of: files)) }
        let own = Findings()
        let reader = SectionReader(.control, layers.tables(of: .control).first, fileStart: layers.start, findings: own)
        let socket = reader.read(Keys.Control.socket)
        return own.haveError ? (nil, own.inOrder(of: files)) : (socket, [])
    }

    /// The LEDs that the configuration at `path` names, whatever else is wrong with it: that something is can be shown on them. `nil` when it does
    /// not say.
    static func indicators(_ path: String) -> Configuration.Indicators? {
        let findings = Findings()
        guard let layers = read(path, findings).layers else { return nil }
        let own = Findings()
        let indicators = IndicatorsDraft(layers, findings: own).indicators
        return own.diagnostics.contains { $0.severity == .error && $0.code != .unknownKey } ? nil : indicators
    }

    /// The file and its drop-ins; `nil` when one of them is no TOML, which would leave open what the configuration is.
    private static func read(_ path: String, _ findings: Findings) -> (layers: ConfigurationLayers?, files: [String]) {
        let files = [path] + DropIns.files(for: path, findings)
        let layers = files.map { file in
            table(file, findings).map { ConfigurationLayer(path: file, mode: $0.mode, root: $0.root) }
        }
        let whole = layers.compactMap { $0 }
        return (whole.count == files.count ? ConfigurationLayers(whole, findings: findings) : nil, files)
    }

    private static func table(_ path: String, _ findings: Findings) -> (root: TOMLTable, mode: mode_t)? {
        let start = SourcePosition(file: path, line: 1, column: 1)
        do throws(SystemError) {
            let file = try RegularFile.read(path, upTo: TOMLDocument.sizeLimit)
            if file.mode & 0o022 != 0 {
                findings.warning(.fileExposed, at: start, "others can change this file (mode 0\(String(file.mode, radix: 8))); run: chmod go-w \(path)")
            }
            do throws(TOMLError) {
                return (try TOMLDocument(parsing: file.bytes, file: path).table(), file.mode)
            } catch {
                findings.error(.syntax, at: error.position, error.words)
            }
        } catch {
            findings.error(.fileUnreadable, at: start, error.code == EINVAL ? "not a regular file" : "\(error)")
        }
        return nil
    }
}
