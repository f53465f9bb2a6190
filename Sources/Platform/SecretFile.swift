import CLinux
import Glibc

/// Why a secret was not taken from a file.
public enum SecretFileError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The file cannot be opened or read.
    case unreadable(SystemError)
    /// The path names a directory, a pipe or a device.
    case notRegular(path: String)
    /// Somebody other than the owner can read or change the file; `mode` is its permission bits.
    case exposed(path: String, mode: UInt32)
    /// The file belongs to another user than the daemon's or root.
    case foreignOwner(path: String, uid: UInt32)
    /// The file has no content, or more than the limit.
    case size(path: String, bytes: Int, limit: Int)
    /// The content is not one line of visible ASCII, so it can be no token or passphrase.
    case content(path: String)

    public var description: String {
        switch self {
        case .unreadable(let error): "\(error)"
        case .notRegular(let path): "\(path) is not a regular file"
        case .exposed(let path, let mode): "\(path) can be read by others (mode 0\(String(mode, radix: 8))); run: chmod 600 \(path)"
        case .foreignOwner(let path, let uid): "\(path) belongs to user \(uid), not to the gateway's user or root"
        case .size(let path, let bytes, let limit): "\(path) has \(bytes) bytes; 1 to \(limit) are allowed"
        case .content(let path): "\(path) must hold one line of visible ASCII characters"
        }
    }
}

/// A secret in a file of its own: readable by its owner alone, one line.
public enum SecretFile {
    /// The most bytes that a secret may have.
    public static let limit = 8_192

    /// Reads the secret and checks who else could have.
    ///
    /// The checks are made on the open file, so that it cannot be exchanged between check and reading. Bits for the group are no flaw where
    /// an access control list says that they stand for the gateway's user alone: so systemd hands out its credentials.
    /// - Returns: the line, without white space at its ends.
    public static func read(_ path: String) throws(SecretFileError) -> String {
        let raw = clinux_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0)
        guard raw >= 0 else { throw .unreadable(.last("open", subject: path)) }
        let file = Descriptor(owning: raw)
        var status = stat()
        guard fstat(file.raw, &status) == 0 else { throw .unreadable(.last("fstat", subject: path)) }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular(path: path) }
        let mode = status.st_mode & 0o7777
        guard mode & 0o077 == 0 || mode & 0o007 == 0 && FileACL.sharesNothing(file.raw, with: geteuid()) else { throw .exposed(path: path, mode: mode) }
        guard status.st_uid == geteuid() || status.st_uid == 0 else { throw .foreignOwner(path: path, uid: status.st_uid) }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try file.read(upTo: limit + 1) ?? []
        } catch {
            throw .unreadable(error)
        }
        guard !bytes.isEmpty, bytes.count <= limit else { throw .size(path: path, bytes: bytes.count, limit: limit) }
        let blanks: [UInt8] = [9, 10, 13, 32]
        let line = Array(bytes.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed())
        guard !line.isEmpty, line.allSatisfy({ (33...126).contains($0) }) else { throw .content(path: path) }
        return String(decoding: line, as: UTF8.self)
    }
}
