import CMisbehavingDisk
import Glibc
import Synchronization

/// A disk that misbehaves when told to; see CMisbehavingDisk.h.
final class Disk: @unchecked Sendable {
    // Unchecked: a test uses its disk from one thread at a time.
    let name: String
    private let raw: OpaquePointer

    private static let lastNumber = Atomic<Int>(0)

    init() {
        name = "misbehaving-\(Self.lastNumber.add(1, ordering: .relaxed).newValue)"
        guard let raw = misbehaving_disk_make(name) else { fatalError("no memory for a disk") }
        self.raw = raw
    }

    deinit { misbehaving_disk_free(raw) }

    func cut(at operation: Int, seed: UInt64) { misbehaving_disk_cut_at(raw, Int64(operation), seed) }
    func fail(at operation: Int, code: CInt, times: Int = 1) { misbehaving_disk_fail_at(raw, Int64(operation), code, Int64(times)) }
    var isFull: Bool {
        get { fatalError("only told, never asked") }
        set { misbehaving_disk_set_full(raw, newValue ? 1 : 0) }
    }
    var isCut: Bool { misbehaving_disk_is_cut(raw) != 0 }
    var operations: Int { Int(misbehaving_disk_operations(raw)) }
    var writes: Int { Int(misbehaving_disk_writes(raw)) }
    var bytes: Int { Int(misbehaving_disk_bytes(raw)) }
    var syncs: Int { Int(misbehaving_disk_syncs(raw)) }
}

/// A directory of its own on the real disk, removed at the end.
final class Directory: Sendable {
    let path: String

    init() {
        var template = Array("/tmp/outbox-tests-XXXXXX".utf8CString)
        guard template.withUnsafeMutableBufferPointer({ mkdtemp($0.baseAddress!) }) != nil else { fatalError("mkdtemp") }
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        chmod(path, 0o700)
        for name in names { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    /// Whether this process may mount file systems, tried once.
    static let mayMount: Bool = {
        let directory = Directory()
        guard mount("outbox-test", directory.path, "tmpfs", 0, "size=64k") == 0 else { return false }
        umount2(directory.path, CInt(MNT_DETACH))
        return true
    }()

    /// The names of the files, ascending.
    var names: [String] {
        guard let stream = opendir(path) else { return [] }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    func read(_ name: String) -> [UInt8] {
        guard let file = fopen("\(path)/\(name)", "rb") else { return [] }
        defer { fclose(file) }
        fseek(file, 0, SEEK_END)
        let size = ftell(file)
        rewind(file)
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in count = fread(buffer.baseAddress, 1, size, file) }
    }

    func write(_ name: String, _ bytes: [UInt8]) {
        guard let file = fopen("\(path)/\(name)", "wb") else { fatalError("cannot write \(name)") }
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }

    func size(_ name: String) -> Int {
        var status = stat()
        return stat("\(path)/\(name)", &status) == 0 ? Int(status.st_size) : -1
    }

    func copy(from other: Directory) {
        for name in names { unlink("\(path)/\(name)") }
        for name in other.names { write(name, other.read(name)) }
    }
}
