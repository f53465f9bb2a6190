import CLinux
import Glibc
import Platform
import Testing

/// A program that runs beside the tests, with its output.
final class ChildProcess: Sendable {
    struct Ended: Sendable {
        /// The exit status; negative is the signal that ended it.
        let status: CInt
        let output: String
        let errors: String
    }

    let pid: pid_t
    private let output: CInt
    private let errors: CInt

    /// The `gateway` that was built with the tests: it lies beside the bundle they are in.
    static let gateway: String = {
        var buffer = [CChar](repeating: 0, count: 4_096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        let own = String(decoding: buffer.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let directory = own.split(separator: "/").dropLast().map { "/\($0)" }.joined()
        // Where a helper loads the bundle, the bundle's own path is among the arguments.
        let besides = CommandLine.arguments.compactMap { argument -> String? in
            guard let end = argument.firstRange(of: "/gatewayPackageTests.xctest")?.lowerBound else { return nil }
            return String(argument[..<end])
        }
        return ([directory] + besides).map { "\($0)/gateway" }.first { access($0, X_OK) == 0 } ?? "gateway-not-found"
    }()

    /// - Parameter setting: one variable, `NAME=value`, that the program gets besides those of the tests. Under systemd the tests have
    ///   `JOURNAL_STREAM`, which is no affair of the program's.
    init(_ program: String = gateway, _ arguments: [String], setting: String? = nil) throws {
        var out: [CInt] = [0, 0], err: [CInt] = [0, 0]
        // Closed at exec from the first: another test's child must not hold an end of these. Swift has no pipe2(2).
        let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue)
        let made = socketpair(AF_UNIX, kind, 0, &out) == 0 && socketpair(AF_UNIX, kind, 0, &err) == 0
        try #require(made)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, out[1], 1)
        posix_spawn_file_actions_adddup2(&actions, err[1], 2)
        var pointers = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var variables: [UnsafeMutablePointer<CChar>?] = setting.map { [strdup($0)] } ?? []
        defer { for variable in variables { free(variable) } }
        var inherited = environ
        while let variable = inherited.pointee {
            if strncmp(variable, "JOURNAL_STREAM=", 15) != 0 { variables.append(strdup(variable)) }
            inherited += 1
        }
        var environment = variables + [nil]
        var pid = pid_t()
        let code = posix_spawnp(&pid, program, &actions, nil, &pointers, &environment)
        close(out[1])
        close(err[1])
        self.pid = pid
        output = out[0]
        errors = err[0]
        try #require(code == 0, "\(program): \(String(cString: strerror(code)))")
    }

    func signal(_ number: CInt) { kill(pid, number) }

    /// Waits for the end without a loop; a program that takes longer than a minute is ended and fails the test.
    func end() throws -> Ended {
        var bytes: [CInt: [UInt8]] = [output: [], errors: []]
        var open = [output, errors]
        while !open.isEmpty {
            var polls = open.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&polls, nfds_t(polls.count), 60_000) > 0 else {
                kill(pid, SIGKILL)
                break
            }
            for entry in polls where entry.revents != 0 {
                let more = Self.read(entry.fd)
                if more.isEmpty { open.removeAll { $0 == entry.fd } }
                bytes[entry.fd]? += more
            }
        }
        try #require(open.isEmpty, "the program did not end")
        return reap(bytes[output] ?? [], bytes[errors] ?? [])
    }

    /// Waits for the end on a loop that serves the program meanwhile.
    func end(on loop: any EventLoop) async throws -> Ended {
        let out = try await Self.drain(output, on: loop)
        let err = try await Self.drain(errors, on: loop)
        return reap(out, err)
    }

    private func reap(_ out: [UInt8], _ err: [UInt8]) -> Ended {
        close(output)
        close(errors)
        var status: CInt = 0
        _ = retryOnInterrupt { waitpid(pid, &status, 0) }
        let signal = status & 0x7F
        return Ended(status: signal == 0 ? (status >> 8) & 0xFF : -signal, output: String(decoding: out, as: UTF8.self),
                     errors: String(decoding: err, as: UTF8.self))
    }

    private static func drain(_ descriptor: CInt, on loop: any EventLoop) async throws -> [UInt8] {
        let bytes = Collected()
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do {
                try loop.watch(descriptor, for: .readable) { _ in
                    let more = read(descriptor)
                    if more.isEmpty {
                        loop.unwatch(descriptor)
                        continuation.resume()
                    } else {
                        bytes.add(more)
                    }
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
        return bytes.all
    }

    private static func read(_ descriptor: CInt) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = retryOnInterrupt { Glibc.read(descriptor, &buffer, buffer.count) }
        return Array(buffer.prefix(max(0, count)))
    }
}

/// Runs `gateway` to its end.
func gateway(_ arguments: String...) throws -> ChildProcess.Ended { try ChildProcess(ChildProcess.gateway, arguments).end() }
