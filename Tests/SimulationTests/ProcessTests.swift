import Glibc
import Platform
import Testing

@testable import Simulation

/// A directory of a test's own, removed with everything in it.
final class TemporaryDirectory {
    let path: String

    init() throws {
        var template = Array("/tmp/simulation-XXXXXX".utf8CString)
        let made = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } }
        path = String(cString: try #require(made))
    }

    deinit {
        for name in ["link", "control"] { unlink(path + "/" + name) }
        rmdir(path)
    }
}

@Suite("The simulated-collar program")
struct ProcessTests {
    /// The program in the directory of this test's own executable.
    private static var program: String {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let count = buffer.withUnsafeMutableBufferPointer { bytes in
            bytes.baseAddress.map { start in start.withMemoryRebound(to: CChar.self, capacity: bytes.count) { readlink("/proc/self/exe", $0, bytes.count) } } ?? -1
        }
        let path = String(decoding: buffer.prefix(max(0, count)), as: UTF8.self)
        return path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/") + "/simulated-collar"
    }

    private static var recording: String {
        #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(2).joined(separator: "/") + "/Recordings/motion-trunk.csv"
    }

    /// A process with its output in a pipe; killed when the test lets go of it.
    private final class Child {
        let pid: pid_t
        let output: Descriptor
        private var status: CInt?

        init(_ arguments: [String]) throws {
            var ends: [CInt] = [-1, -1]
            try #require(pipe(&ends) == 0)
            output = Descriptor(owning: ends[0])
            let writer = Descriptor(owning: ends[1])
            var actions = posix_spawn_file_actions_t()
            posix_spawn_file_actions_init(&actions)
            defer { posix_spawn_file_actions_destroy(&actions) }
            posix_spawn_file_actions_adddup2(&actions, writer.raw, STDOUT_FILENO)
            posix_spawn_file_actions_adddup2(&actions, writer.raw, STDERR_FILENO)
            posix_spawn_file_actions_addclose(&actions, ends[0])
            var argv: [UnsafeMutablePointer<CChar>?] = ([ProcessTests.program] + arguments).map { strdup($0) } + [nil]
            defer { for argument in argv { free(argument) } }
            var pid = pid_t()
            try #require(posix_spawn(&pid, ProcessTests.program, &actions, nil, &argv, nil) == 0, "\(ProcessTests.program) cannot be started")
            self.pid = pid
        }

        deinit { if status == nil { _ = end(SIGKILL) } }

        /// Signals the process and gives its exit status; `nil` when a signal ended it.
        func end(_ signal: CInt?) -> CInt? {
            if let signal { kill(pid, signal) }
            var code: CInt = 0
            _ = retryOnInterrupt { waitpid(pid, &code, 0) }
            status = code
            return code & 0x7F == 0 ? code >> 8 & 0xFF : nil
        }
    }

    /// Waits up to ten seconds for bytes, then takes what is there; empty at the end or when nothing came.
    private func read(_ descriptor: borrowing Descriptor) throws -> [UInt8] {
        var entry = pollfd(fd: descriptor.raw, events: Int16(POLLIN), revents: 0)
        guard retryOnInterrupt({ poll(&entry, 1, 10_000) }) > 0 else { return [] }
        return try descriptor.read(upTo: 65_536) ?? []
    }

    private func line(_ descriptor: borrowing Descriptor) throws -> JSONValue {
        var line: [UInt8] = []
        while line.last != 10 {
            let bytes = try read(descriptor)
            try #require(!bytes.isEmpty, "no whole line came")
            line += bytes
        }
        return try JSONValue(parsing: line)
    }

    @Test("it says when it listens, serves the link and the control socket, and ends cleanly at SIGTERM")
    func serves() throws {
        let directory = try TemporaryDirectory()
        let child = try Child([
            "--socket", directory.path + "/link", "--control", directory.path + "/control", "--serial", "C-77", "--recording", Self.recording,
            "--backlog", "7200", "--seed", "9", "--window-interval-ms", "3600000", "--first-sequence", "4294967290"
        ])
        #expect(try line(child.output) == .object(["event": .string("listening")]))
        let control = try UnixSocket.connect(to: directory.path + "/control", kind: .stream)
        func ask(_ text: String) throws -> JSONValue {
            _ = try control.send(Array((text + "\n").utf8))
            return try line(control)
        }
        let books = try ask(#"{"query":"books"}"#)
        let log = UInt32(truncatingIfNeeded: try #require(books["log"]?.integer))
        #expect(books["serial"]?.string == "C-77" && books["produced"]?.integer == 7_200 && books["next"]?.integer == 7_194)

        let link = try UnixSocket.connect(to: directory.path + "/link", kind: .sequencedPacket)
        let handles = CollarTable(serial: "", firmware: "")
        _ = try link.send([0x02, 0x05, 0x02])
        #expect(try read(link) == [0x03, 0x05, 0x02])
        func write(_ handle: UInt16, _ value: [UInt8]) throws {
            _ = try link.send([0x12, UInt8(handle & 0xFF), UInt8(handle >> 8)] + value)
            #expect(try read(link) == [0x13])
        }
        try write(handles.rawWindows + 2, [1, 0])
        try write(handles.controlPoint + 1, [2, 0])
        try write(handles.controlPoint, [1] + word(log) + word(4_294_967_290) + word(1_000))
        var windows: [[UInt8]] = []
        while true {
            let pdu = try read(link)
            guard pdu.first == 0x1B else {
                #expect(Array(pdu.dropFirst(3)) == [0x80, 1, 0] + word(1_000))
                break
            }
            windows.append(Array(pdu[3...]))
        }
        let digests = try ask(#"{"query":"windows","log":\#(log),"from":4294967290,"count":1000}"#)["windows"]?.elements
        #expect(windows.count == 1_000 && digests?.compactMap { $0["sha256"]?.string } == windows.map { SHA256.digest($0).hexadecimal })

        #expect(child.end(SIGTERM) == 0)
        #expect(access(directory.path + "/link", F_OK) != 0 && access(directory.path + "/control", F_OK) != 0)
    }

    @Test("a wrong command line ends it with status 2 and the option's name")
    func wrongOption() throws {
        let child = try Child(["--backlog", "many"])
        let text = String(decoding: try read(child.output), as: UTF8.self)
        #expect(text.contains("option-invalid") && text.contains("--backlog"))
        #expect(child.end(nil) == 2)
    }

    @Test("a recording that is not there ends it with status 1 and the path")
    func noRecording() throws {
        let directory = try TemporaryDirectory()
        let missing = directory.path + "/nothing.csv"
        let child = try Child(["--socket", directory.path + "/link", "--control", directory.path + "/control", "--serial", "C", "--recording", missing])
        let text = String(decoding: try read(child.output), as: UTF8.self)
        #expect(text.contains("recording-unreadable") && text.contains(missing))
        #expect(child.end(nil) == 1)
    }

    @Test("the recording in the project is the whole one: 7,040 samples of a walking person")
    func recordingWhole() throws {
        let recording = try Recording(path: Self.recording)
        #expect(recording.count == 7_040)
        let gravity = recording.axes.indices.filter { $0 % 3 == 1 }.reduce(0.0) { $0 + Double(recording.axes[$1]) } / 7_040
        #expect((3_000...5_000).contains(gravity), "the trunk's y axis carries about 1 g")
    }
}
