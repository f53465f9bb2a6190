import CLinux
import Glibc
import Platform

/// Looks at the files that a configuration names. Nothing that a secret file holds leaves this place.
enum FileChecks: Sendable {
    /// As the daemon, which must be able to use every file itself.
    case daemon
    /// As `check-config`, which root may run for a daemon that is somebody else.
    case command
    /// Not at all: somebody who only looks for the control socket need not be able to read secrets.
    case none

    /// The owner's token: there, one line, and nobody else's to read.
    func secret(_ path: String, _ name: String, at position: SourcePosition, _ findings: Findings) {
        guard self != .none else { return }
        do throws(SecretFileError) {
            _ = try SecretFile.read(path)
        } catch {
            if case .foreignOwner(_, let uid) = error, self == .command, geteuid() == 0 {
                findings.warning(.secretRefused, at: position, "\(name): \(path) belongs to user \(uid); the gateway must run as that user")
                return
            }
            findings.error(.secretRefused, at: position, "\(name): \(error)")
        }
    }

    /// A credential of the service. Outside of the service there is none to look at.
    func credential(_ name: String, _ credentials: Credentials, _ key: String, at position: SourcePosition, _ findings: Findings) {
        guard self != .none else { return }
        guard credentials.directory == nil else { return secret(credentials.path(of: name), key, at: position, findings) }
        let advice = "the unit needs LoadCredential=\(name):PATH or LoadCredentialEncrypted=\(name):PATH"
        if self == .command {
            findings.warning(.secretRefused, at: position, "\(key): not looked at, since only the service sees its credentials; \(advice)")
        } else {
            findings.error(.secretRefused, at: position, "\(key): there are no credentials ($CREDENTIALS_DIRECTORY is not set); \(advice)")
        }
    }

    /// A secret that stands in the configuration itself, whose permissions are `mode`.
    func secretInside(_ mode: UInt32, _ name: String, at position: SourcePosition, _ findings: Findings) {
        guard self != .none, mode & 0o044 != 0 else { return }
        findings.warning(.fileExposed, at: position,
                         "\(name) can be read by others in this file (mode 0\(String(mode, radix: 8))); run: chmod go-r \(position.file)")
    }

    /// The file that will hold a passkey. It is written when the device shows one, so it may be missing.
    func passkey(_ path: String, _ name: String, at position: SourcePosition, _ findings: Findings) {
        var status = stat()
        guard self != .none, lstat(path, &status) == 0 || errno != ENOENT else { return }
        secret(path, name, at: position, findings)
    }

    /// Certificate authorities in PEM (RFC 7468).
    func certificates(_ path: String, _ name: String, at position: SourcePosition, _ findings: Findings) {
        guard self != .none else { return }
        do throws(SystemError) {
            let file = try RegularFile.read(path, upTo: Self.certificateLimit)
            // The line that begins a certificate (RFC 7468, section 5).
            let begin = Array("-----BEGIN CERTIFICATE-----".utf8)
            if !file.bytes.split(separator: UInt8(ascii: "\n")).contains(where: { $0.starts(with: begin) }) {
                findings.error(.pathRefused, at: position, "\(name): \(path) holds no certificate in PEM form")
            } else if file.mode & 0o022 != 0 {
                findings.warning(.fileExposed, at: position, "\(name): others can change \(path) (mode 0\(String(file.mode, radix: 8))); run: chmod go-w \(path)")
            }
        } catch {
            findings.error(.pathRefused, at: position, "\(name): \(error)")
        }
    }

    /// The outbox's directory, which the daemon makes when it is not there.
    func outboxDirectory(_ path: String, _ name: String, at position: SourcePosition, _ findings: Findings) {
        guard self != .none else { return }
        var status = stat()
        guard stat(path, &status) == 0 else {
            findings.warning(.pathRefused, at: position, "\(name): \(SystemError.last("stat", subject: path)); make it with mode 0700 for the gateway's user")
            return
        }
        if status.st_mode & S_IFMT != S_IFDIR {
            findings.error(.pathRefused, at: position, "\(name): \(path) is not a directory")
        } else if status.st_mode & 0o077 != 0 {
            let mode = String(status.st_mode & 0o7777, radix: 8)
            findings.warning(.pathRefused, at: position, "\(name): \(path) is open to others (mode 0\(mode)); run: chmod 700 \(path)")
        }
    }

    private static let certificateLimit = 4 << 20
}

/// A whole file in memory, with the permissions that it had while it was read.
struct RegularFile {
    let bytes: [UInt8]
    let mode: mode_t

    /// Reads the file at `path`, up to one byte more than `limit`, so that the caller sees that there is more.
    ///
    /// - Throws: `SystemError`: what open(2) and read(2) answer, `EINVAL` for what is no regular file.
    static func read(_ path: String, upTo limit: Int) throws(SystemError) -> RegularFile {
        // Without O_NONBLOCK a named pipe would keep the program waiting.
        let raw = clinux_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
        guard raw >= 0 else { throw .last("open", subject: path) }
        let file = Descriptor(owning: raw)
        var status = stat()
        guard fstat(file.raw, &status) == 0 else { throw .last("fstat", subject: path) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw SystemError("open", code: EINVAL, subject: path) }
        var bytes: [UInt8] = []
        while bytes.count <= limit {
            guard let more = try file.read(upTo: min(65_536, limit + 1 - bytes.count)), !more.isEmpty else { break }
            bytes += more
        }
        return RegularFile(bytes: bytes, mode: status.st_mode & 0o7777)
    }
}
