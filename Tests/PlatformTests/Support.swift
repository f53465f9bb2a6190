import CLinux
import Glibc
import Platform
import Synchronization
import Testing

/// Writes down what happened, in order, from wherever it happens.
final class Notes<Note: Sendable>: Sendable {
    private let kept = Mutex<[Note]>([])
    var all: [Note] { kept.withLock { $0 } }
    func add(_ note: Note) { kept.withLock { $0.append(note) } }
}

/// A loop that can be run until something has ended: what both loops have in common beyond `EventLoop`.
protocol RunnableLoop: EventLoop {
    func run<Success: Sendable>(until body: @escaping @Sendable () async throws -> Success) throws -> Success
}

extension EpollLoop: RunnableLoop {}
extension VirtualLoop: RunnableLoop {}

/// The two loops, for tests of what must hold for both.
enum LoopKind: CaseIterable, Sendable {
    case epoll, virtual

    func make() throws -> any RunnableLoop {
        switch self {
        case .epoll: try EpollLoop()
        case .virtual: VirtualLoop()
        }
    }
}

/// Two connected sockets.
struct SocketPair: ~Copyable {
    let near: Descriptor
    let far: Descriptor

    init(kind: CInt = CInt(SOCK_STREAM.rawValue)) throws {
        var ends: [CInt] = [-1, -1]
        try #require(socketpair(AF_UNIX, kind | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue), 0, &ends) == 0)
        near = Descriptor(owning: ends[0])
        far = Descriptor(owning: ends[1])
    }
}

/// A folder of a test's own, removed with everything in it.
final class Folder: Sendable {
    let path: String

    init() throws {
        var template = Array("/tmp/platform-test-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != ".", name != ".." { remove("\(path)/\(name)") }
            }
            closedir(folder)
        }
        rmdir(path)
    }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    /// Makes a file with this content and exactly this mode.
    @discardableResult
    func file(_ name: String, _ content: [UInt8], mode: mode_t = 0o600) throws -> String {
        let raw = open(path(name), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, mode)
        try #require(raw >= 0)
        let file = Descriptor(owning: raw)
        try #require(write(file.raw, content, content.count) == content.count)
        try #require(fchmod(file.raw, mode) == 0)
        return path(name)
    }
}

/// Whether the number is an open descriptor of this process.
func isOpen(_ descriptor: CInt) -> Bool { fcntl(descriptor, F_GETFD) >= 0 }
