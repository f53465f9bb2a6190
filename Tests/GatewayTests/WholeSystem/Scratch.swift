import CLinux
import Glibc
import Platform
import Simulation

/// A directory of the test's own.
func temporaryDirectory() throws -> String {
    let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(base)/gateway-test-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw SystemError.last("mkdtemp", subject: base) }
    return template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
}

/// Removes a directory with all that is in it.
func removeTree(_ path: String) {
    guard let directory = opendir(path) else { return }
    while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if name == "." || name == ".." { continue }
        if unlink("\(path)/\(name)") != 0 { removeTree("\(path)/\(name)") }
    }
    closedir(directory)
    rmdir(path)
}

/// Copies the files of one directory into a new one.
func copyDirectory(_ from: String, to: String) throws {
    guard mkdir(to, 0o700) == 0 else { throw SystemError.last("mkdir", subject: to) }
    guard let directory = opendir(from) else { throw SystemError.last("opendir", subject: from) }
    defer { closedir(directory) }
    while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        var status = stat()
        guard lstat("\(from)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG, !name.hasSuffix(".token") else { continue }
        let source = Descriptor(owning: clinux_open("\(from)/\(name)", O_RDONLY | O_CLOEXEC, 0))
        let target = Descriptor(owning: clinux_open("\(to)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600))
        guard source.raw >= 0, target.raw >= 0 else { throw SystemError.last("open", subject: name) }
        while let bytes = try source.read(upTo: 1 << 20), !bytes.isEmpty {
            guard write(target.raw, bytes, bytes.count) == bytes.count else { throw SystemError.last("write", subject: name) }
        }
    }
}

/// Writes a file that only its owner can read.
func writeSecret(_ text: String, to path: String) throws {
    let raw = clinux_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard raw >= 0 else { throw SystemError.last("open", subject: path) }
    let file = Descriptor(owning: raw)
    let bytes = Array(text.utf8)
    guard write(file.raw, bytes, bytes.count) == bytes.count else { throw SystemError.last("write", subject: path) }
}

extension WindowRange {
    /// The sequences of the range, as on the wire.
    var sequences: some Sequence<UInt32> {
        (0..<UInt32(clamping: count)).lazy.map { first &+ $0 }
    }
}
