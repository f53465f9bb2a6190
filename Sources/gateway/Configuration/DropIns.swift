import CLinux
import Glibc
import Platform

/// The drop-ins of a configuration: the files `*.toml` in the directory beside it that is called like it, with `.d` in the place of `.toml`.
enum DropIns {
    /// More of them are a mistake.
    static let limit = 64

    /// The directory for a configuration: `/etc/gateway/gateway.d` for `/etc/gateway/gateway.toml`.
    static func directory(for path: String) -> String { (path.hasSuffix(ending) ? String(path.dropLast(ending.utf8.count)) : path) + ".d" }

    /// The paths of the drop-ins in their order, which is that of the bytes of their names. A directory that is not there has none.
    static func files(for path: String, _ findings: Findings) -> [String] {
        let directory = directory(for: path)
        let start = SourcePosition(file: directory, line: 1, column: 1)
        let names: [String]
        do throws(SystemError) {
            names = try entries(of: directory, findings, start)
        } catch {
            if error.code != ENOENT { findings.error(.fileUnreadable, at: start, "\(error)") }
            return []
        }
        let taken = names.filter { $0.hasSuffix(ending) }
        for name in names where !name.hasSuffix(ending) && !isLeftover(name) {
            findings.warning(.notRead, at: SourcePosition(file: "\(directory)/\(shown(name, upTo: 64))", line: 1, column: 1),
                             "not read: only files whose names end in \(ending) are")
        }
        guard taken.count <= limit else {
            findings.error(.fileUnreadable, at: start, "\(taken.count) drop-ins; at most \(limit) are read")
            return []
        }
        return taken.map { "\(directory)/\($0)" }
    }

    /// What editors and packages leave behind, and what is hidden: nobody takes it for a part of the configuration.
    private static func isLeftover(_ name: String) -> Bool {
        name.hasSuffix("~") || [".dpkg-old", ".dpkg-new", ".dpkg-dist", ".dpkg-bak", ".ucf-old", ".ucf-new", ".ucf-dist", ".rpmsave", ".rpmnew", ".bak", ".swp"]
            .contains(where: name.hasSuffix)
    }

    /// The names in a directory, sorted by their bytes, without hidden ones.
    private static func entries(of directory: String, _ findings: Findings, _ start: SourcePosition) throws(SystemError) -> [String] {
        guard let handle = opendir(directory) else { throw .last("opendir", subject: directory) }
        defer { closedir(handle) }
        var status = stat()
        if fstat(dirfd(handle), &status) == 0, status.st_mode & 0o022 != 0 {
            let mode = String(status.st_mode & 0o7777, radix: 8)
            findings.warning(.fileExposed, at: start, "others can change what is in this directory (mode 0\(mode)); run: chmod go-w \(directory)")
        }
        var names: [[UInt8]] = []
        while true {
            // At the end readdir(3) leaves errno as it is.
            errno = 0
            guard let entry = readdir(handle) else { break }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if name.first != UInt8(ascii: ".") { names.append(name) }
        }
        guard errno == 0 else { throw .last("readdir", subject: directory) }
        return names.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
    }

    private static let ending = ".toml"
}
