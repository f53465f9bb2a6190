import Glibc
import Platform
import Testing

@Suite("The loop in a process of its own")
struct ProcessTests {
    /// Runs the probe that was built beside the tests; gives its exit status and what it printed.
    private func probe(_ mode: String) throws -> (status: CInt, values: [(name: String, value: String)]) {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        let length = buffer.withUnsafeMutableBytes { readlink("/proc/self/exe", $0.baseAddress!, $0.count) }
        try #require(length > 0)
        let runner = String(decoding: buffer[..<length], as: UTF8.self)
        let folder = try #require(runner.lastIndex(of: "/").map { String(runner[..<$0]) })
        let program = "\(folder)/loop-probe"
        try #require(access(program, X_OK) == 0, "\(program) was not built")

        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let reading = Descriptor(owning: ends[0])
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
        posix_spawn_file_actions_addclose(&actions, ends[0])
        posix_spawn_file_actions_addclose(&actions, ends[1])
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(program), strdup(mode), nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        let code = posix_spawn(&child, program, &actions, nil, &arguments, environ)
        close(ends[1])
        try #require(code == 0)
        var output: [UInt8] = []
        while let bytes = try reading.read(upTo: 65_536), !bytes.isEmpty { output += bytes }
        var status: CInt = 0
        try #require(retryOnInterrupt { waitpid(child, &status, 0) } == child)
        let lines = String(decoding: output, as: UTF8.self).split(separator: "\n")
        return (status, lines.map { line in
            let words = line.split(separator: " ", maxSplits: 1)
            return (String(words[0]), words.count > 1 ? String(words[1]) : "")
        })
    }

    @Test("actors, child tasks, async let, streams, spawned tasks, sleeps and timers stay on the loop's thread, and no other thread is made")
    func threads() throws {
        let (status, values) = try probe("threads")
        #expect(status == 0)
        let seen = Dictionary(uniqueKeysWithValues: values.map { ($0.name, $0.value) })
        #expect(seen["threads"] == "1")
        #expect(seen["threads-with-storage"] == "2")
        #expect(seen["threads-after-storage"] == "1")
        #expect(seen["storage"] == "10/10")
        #expect(seen["child-task"] == "0/50")
        #expect(seen["stream"] == "0/20")
        let onLoop = values.filter { $0.value.contains("/") && $0.name != "storage" }
        #expect(onLoop.count == 19)
        for part in onLoop { #expect(part.value.hasPrefix("0/"), "\(part.name) left the loop: \(part.value)") }
    }

    @Test("what is given back leaves the process, freed blocks and untouched code alike, and the program runs on as before")
    func memory() throws {
        let (status, values) = try probe("memory")
        #expect(status == 0)
        let seen = Dictionary(uniqueKeysWithValues: values.map { ($0.name, $0.value) })
        let sizes = seen.compactMapValues { Int($0) }
        // Of 16 MB of blocks nearly all is free.
        #expect(try #require(sizes["anonymous-before"]) - (try #require(sizes["anonymous-after"])) > 12_000)
        // Some of it is touched again on the way to the second look.
        #expect(try #require(sizes["files-after"]) < (try #require(sizes["files-before"])) * 3 / 4)
        #expect(seen["same"] == "true")
        #expect(seen["ended"] == "0")
    }

    @Test("signals are reported on the loop, each once, and a second set takes the place of the first")
    func signals() throws {
        let (status, values) = try probe("signals")
        #expect(status == 0)
        #expect(values.map(\.name) == ["signal", "signal", "signal", "second", "ended"])
        #expect(values.prefix(3).map(\.value).sorted() == [SIGUSR1, SIGUSR2, SIGTERM].map { "\($0)" }.sorted())
        #expect(values[3].value == "\(SIGHUP)")
    }
}
