import Glibc
import Platform

/// The files of one outbox in its directory, and what is done to them beside SQLite.
struct Files: Sendable {
    let directory: String

    /// The database; SQLite's write-ahead log lies beside it under the same name with `-wal`.
    var database: String { "\(directory)/outbox.db" }
    /// A database that is being made. It gets its name when it is whole.
    var unfinished: String { "\(directory)/outbox.db.new" }
    private var lockFile: String { "\(directory)/outbox.lock" }

    /// What SQLite may keep beside a database.
    private static let companions = ["-wal", "-shm", "-journal"]

    func aside(_ number: Int) -> String { "\(directory)/outbox.db.corrupt-\(number)" }

    /// Opens the directory for this process alone; the lock ends with the descriptor.
    ///
    /// The directory is never made here: on a device it is the data partition, and what is written beside a partition that is
    /// not mounted is lost with the next start.
    func lock() throws(OutboxError) -> Descriptor {
        var status = stat()
        guard stat(directory, &status) == 0 else {
            let reason = SystemError.last("stat", subject: directory)
            throw reason.code == ENOENT || reason.code == ENOTDIR ? OutboxError(.directoryMissing, "\(reason)") : Self.error(reason)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw OutboxError(.directoryMissing, "\(directory) is not a directory") }
        let raw = retryOnInterrupt { open(lockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
        guard raw >= 0 else { throw Self.error(.last("open", subject: lockFile)) }
        let descriptor = Descriptor(owning: raw)
        guard flock(descriptor.raw, LOCK_EX | LOCK_NB) == 0 else {
            throw errno == EWOULDBLOCK ? OutboxError(.inUse, "\(directory) is in use by another process") : Self.error(.last("flock", subject: lockFile))
        }
        return descriptor
    }

    /// The size of a file; `nil` when there is none.
    func size(_ path: String) throws(OutboxError) -> Int64? {
        var status = stat()
        if lstat(path, &status) == 0 { return Int64(status.st_size) }
        if errno == ENOENT { return nil }
        throw Self.error(.last("lstat", subject: path))
    }

    /// The first 100 bytes of a file, or fewer.
    func header(_ path: String) throws(OutboxError) -> [UInt8] {
        let raw = retryOnInterrupt { open(path, O_RDONLY | O_CLOEXEC) }
        guard raw >= 0 else { throw Self.error(.last("open", subject: path)) }
        let descriptor = Descriptor(owning: raw)
        do throws(SystemError) {
            return try descriptor.read(upTo: 100) ?? []
        } catch {
            throw Self.error(error)
        }
    }

    /// Makes an empty file that only the gateway's user can read; SQLite gives its companions the same mode.
    func make(_ path: String) throws(OutboxError) {
        let raw = retryOnInterrupt { open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
        guard raw >= 0 else { throw Self.error(.last("open", subject: path)) }
        _ = Descriptor(owning: raw)
    }

    /// Removes a database and its companions, as far as they are there.
    func remove(_ path: String) throws(OutboxError) {
        for name in [path] + Self.companions.map({ path + $0 }) where unlink(name) != 0 && errno != ENOENT {
            throw Self.error(.last("unlink", subject: name))
        }
    }

    /// Makes a finished file's content and name durable: content first, then the name, then the directory.
    func publish() throws(OutboxError) {
        try sync(unfinished)
        try move(unfinished, to: database)
        try sync(directory)
    }

    /// Moves the database and its companions out of the way, whole, and durably.
    ///
    /// The database goes first: a crash in between leaves companions that `finishMove` finds without their database.
    func moveAside() throws(OutboxError) -> String {
        let path = aside((try asides().last ?? 0) + 1)
        try move(database, to: path)
        try moveCompanions(to: path)
        return path
    }

    /// Ends a move that a crash interrupted.
    func finishMove() throws(OutboxError) {
        guard try size(database) == nil, try hasCompanions() else { return }
        let last = try asides().last ?? 0
        let belongs = last > 0 ? try size(aside(last) + "-wal") == nil : false
        try moveCompanions(to: aside(belongs ? last : last + 1))
    }

    /// The numbers of the databases that were moved aside, ascending.
    func asides() throws(OutboxError) -> [Int] {
        guard let stream = opendir(directory) else { throw Self.error(.last("opendir", subject: directory)) }
        defer { closedir(stream) }
        var numbers: Set<Int> = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self) }
            guard name.hasPrefix("outbox.db.corrupt-") else { continue }
            if let number = Int(name.dropFirst("outbox.db.corrupt-".count).prefix { $0.isNumber }), number > 0, number < 1 << 30 { numbers.insert(number) }
        }
        return numbers.sorted()
    }

    /// Removes the oldest of the databases that were moved aside.
    func trimAsides(to limit: Int) throws(OutboxError) {
        for number in try asides().dropLast(limit) { try remove(aside(number)) }
    }

    private func hasCompanions() throws(OutboxError) -> Bool {
        for suffix in Self.companions where try size(database + suffix) != nil { return true }
        return false
    }

    private func moveCompanions(to path: String) throws(OutboxError) {
        for suffix in Self.companions where try size(database + suffix) != nil { try move(database + suffix, to: path + suffix) }
        try sync(directory)
    }

    private func move(_ from: String, to: String) throws(OutboxError) {
        guard rename(from, to) == 0 else { throw Self.error(.last("rename", subject: from)) }
    }

    private func sync(_ path: String) throws(OutboxError) {
        let raw = retryOnInterrupt { open(path, O_RDONLY | O_CLOEXEC) }
        guard raw >= 0 else { throw Self.error(.last("open", subject: path)) }
        let descriptor = Descriptor(owning: raw)
        guard fsync(descriptor.raw) == 0 else { throw Self.error(.last("fsync", subject: path)) }
    }

    private static func error(_ reason: SystemError) -> OutboxError {
        let code: OutboxError.Code = switch reason.code {
        case ENOSPC, EDQUOT: .diskFull
        case EROFS, EACCES, EPERM: .readOnly
        case ENOENT, ENOTDIR: .directoryMissing
        default: .diskFailed
        }
        return OutboxError(code, "\(reason)")
    }
}
