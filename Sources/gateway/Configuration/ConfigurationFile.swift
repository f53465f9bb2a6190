import Glibc
import Platform

/// What one reading of a configuration gave. The file itself is never written.
struct ConfigurationOutcome: Sendable {
    /// `nil` when there is an error among the diagnostics.
    let configuration: Configuration?
    /// Errors and warnings in the order of the file.
    let diagnostics: [Diagnostic]
}

/// Reads configuration files: `run` and `check-config` go the same way.
enum ConfigurationFile {
    /// Where the configuration is when nothing else is said.
    static let standardPath = "/etc/gateway/gateway.toml"

    /// Reads and checks the file at `path`.
    static func load(_ path: String, checks: FileChecks) -> ConfigurationOutcome {
        let findings = Findings()
        let configuration = table(path, findings).flatMap { ConfigurationDecoder(root: $0.root, mode: $0.mode, checks: checks, findings: findings).decode() }
        return ConfigurationOutcome(configuration: configuration, diagnostics: findings.inOrder)
    }

    /// Whether there is something at `path`.
    static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    /// The control socket that the file at `path` names, whatever else is wrong with the file: who asks for the daemon's state may do so
    /// because of it. `nil` with the reasons when the file does not say.
    static func controlSocket(_ path: String) -> (path: String?, diagnostics: [Diagnostic]) {
        let findings = Findings()
        guard let root = table(path, findings)?.root else { return (nil, findings.inOrder) }
        let control: TOMLTable?
        if case .table(let table) = root[Section.control.rawValue]?.value.content { control = table } else { control = nil }
        let reader = SectionReader(.control, control, fileStart: root.position, findings: findings)
        let socket = reader.read(Keys.Control.socket)
        return findings.haveError ? (nil, findings.inOrder) : (socket, [])
    }

    private static func table(_ path: String, _ findings: Findings) -> (root: TOMLTable, mode: UInt32)? {
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
