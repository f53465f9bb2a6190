import CLinux
import Glibc
import Platform

/// A program that a test has started, ended with it.
final class Child {
    struct Failed: Error { let words: String }

    private let pid: pid_t
    let output: CInt
    private var ended = false

    /// - Parameter arguments: the program's name, looked up in PATH, and its arguments.
    init(_ arguments: [String], environment: [String] = []) throws {
        var pipes: [CInt] = [0, 0]
        guard pipe(&pipes) == 0 else { throw Failed(words: "pipe") }
        // Only the copy that becomes its standard output goes to the child.
        for pipe in pipes { _ = fcntl(pipe, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, pipes[1], 1)
        defer { posix_spawn_file_actions_destroy(&actions) }
        var list: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        list.append(nil)
        var variables: [UnsafeMutablePointer<CChar>?] = environment.map { strdup($0) }
        var inherited = environ
        while let variable = inherited.pointee {
            variables.append(strdup(variable))
            inherited += 1
        }
        variables.append(nil)
        defer { for text in list + variables { free(text) } }
        var pid: pid_t = 0
        let code = posix_spawnp(&pid, arguments[0], &actions, nil, list, variables)
        close(pipes[1])
        guard code == 0 else {
            close(pipes[0])
            throw Failed(words: "\(arguments[0]): \(String(cString: strerror(code)))")
        }
        self.pid = pid
        output = pipes[0]
    }

    deinit {
        end()
        close(output)
    }

    /// The next line of its standard output; throws when it does not come in 20 s.
    func line() throws -> String {
        var bytes: [UInt8] = []
        while true {
            var poller = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
            guard poll(&poller, 1, 20_000) == 1 else { throw Failed(words: "no line came") }
            var byte: UInt8 = 0
            guard read(output, &byte, 1) == 1 else { throw Failed(words: "it ended") }
            if byte == 10 { return String(decoding: bytes, as: UTF8.self) }
            bytes.append(byte)
        }
    }

    func end() {
        guard !ended else { return }
        ended = true
        kill(pid, SIGKILL)
        waitpid(pid, nil, 0)
    }

    /// Runs to its end.
    static func run(_ arguments: [String]) throws {
        let child = try Child(arguments)
        child.ended = true
        var status: CInt = 0
        waitpid(child.pid, &status, 0)
        guard status == 0 else { throw Failed(words: "\(arguments.joined(separator: " ")) ended with \(status)") }
    }
}
