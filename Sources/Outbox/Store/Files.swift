import Glibc
import Platform

/// The files of one outbox in its directory, and what is done to them beside SQLite.
struct Files: Sendable {
    let directory: String

    /// The database; SQLite's write-ahead log lies beside it under the same name with `-wal`.
    var database: String { "\(directory)/outbox.db" }
    /// A database that is being made. It gets its name when it is whole.
    var unfinished: String { "\(directory)/outbox.db.new" }
    /// A broken database that is not saved from yet. It gets a number when its successor stands.
    var broken: String { "\(directory)/outbox.db.broken" }
    private var lockFile: String { "\(directory)/outbox.lock" }

    /// What SQLite may keep beside a database.
    private static let companions = ["-wal", "-shm", "-journal"]

    func aside(_ number: Int) -> String { "\(directory)/outbox.db.corrupt-\(number)" }

    /// Opens the directory for this process alone, until the lock is let go of.
    ///
    /// The directory is never made here: on a device it is the data partition, and what is written beside a partition that is
    /// not mounted is lost with the next start.
    func lock() throws(OutboxError) -> DirectoryLock {
        var status = stat()
        guard stat(directory, &status) == 0 else {
            let reason = SystemError.last("stat", subject: directory)
            throw reason.code == ENOENT || reason.code == ENOTDIR ? OutboxError(.directoryMissing, "\(reason)") : Self.error(reason)
        }
        guard status.st_mode & S_IFMT == S_IFDIR else { throw OutboxError(.directoryMissing, "\(directory) is not a directory") }
        let raw = retryOnInterrupt { open(lockFile, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
        guard raw >= 0 else { throw Self.error(.last("open", subject: lockFile)) }
        let held: DirectoryLock?
        do throws(SystemError) {
            held = try DirectoryLock(Descriptor(owning: raw))
        } catch {
            throw Self.error(error)
        }
        guard let held else { throw OutboxError(.inUse, "\(directory) is in use by another process") }
        return held
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
    func moveAside() throws(OutboxError) {
        try move(database, to: broken)
        try moveCompanions(of: database, to: broken)
    }

    /// Ends a move that a crash interrupted. Afterwards `broken` is there whole, or not at all, and a missing database has no companions.
    func finishMove() throws(OutboxError) {
        guard try size(database) == nil, try hasCompanions(database) else { return }
        // Companions of a database that nobody moved belong to nothing that could be opened.
        try moveCompanions(of: database, to: try size(broken) == nil ? nextAside() : broken)
    }

    /// Gives the broken database its number, now that its successor stands. The companions go first, so that a crash in between leaves
    /// `broken` for the next start.
    ///
    /// - Returns: the path; `nil` when there is no broken database.
    func archive() throws(OutboxError) -> String? {
        guard try size(broken) != nil else { return nil }
        let path = try nextAside()
        try moveCompanions(of: broken, to: path)
        try move(broken, to: path)
        try sync(directory)
        return path
    }

    /// The path for the next broken database: that of the last number if only companions have it, else one further.
    private func nextAside() throws(OutboxError) -> String {
        guard let last = try asides().last else { return aside(1) }
        return aside(try size(aside(last)) == nil ? last : last + 1)
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

    private func hasCompanions(_ path: String) throws(OutboxError) -> Bool {
        for suffix in Self.companions where try size(path + suffix) != nil { return true }
        return false
    }

    private func moveCompanions(of path: String, to other: String) throws(OutboxError) {
        for suffix in Self.companions where try size(path + suffix) != nil { try move(path + suffix, to: other + suffix) }
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
