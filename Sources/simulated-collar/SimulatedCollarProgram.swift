import Glibc
import Platform
import Simulation

/// A collar in a process of its own, on the machine's clock, until SIGTERM or SIGINT.
enum SimulatedCollarProgram {
    /// - Returns: the exit status: 0 after a signal, 1 when the collar cannot be set up, 2 for a wrong command line.
    static func run(_ arguments: [String]) -> CInt {
        if arguments.contains("--help") {
            write(CollarOptions.usage, to: STDOUT_FILENO)
            return 0
        }
        let options: CollarOptions
        do throws(SimulationError) {
            options = try CollarOptions(arguments)
        } catch {
            write("simulated-collar: \(error)\n", to: STDERR_FILENO)
            return 2
        }
        do {
            try serve(options)
            return 0
        } catch {
            write("simulated-collar: \(error)\n", to: STDERR_FILENO)
            return 1
        }
    }

    private static func serve(_ options: CollarOptions) throws {
        var configuration = options.configuration
        configuration.clock = UInt32(truncatingIfNeeded: time(nil))
        let recording = try Recording(path: options.recording)
        let loop = try EpollLoop()
        try loop.watchSignals([SIGTERM, SIGINT]) { _ in loop.stop() }
        let collar = SimulatedCollar(configuration, recording: recording, loop: loop)
        let control = CollarControlServer(collar: collar, path: options.control, loop: loop)
        let listener = CollarListener(collar: collar, path: options.socket, loop: loop)
        // Nothing else runs yet: this is the loop's thread.
        try control.assumeIsolated { try $0.start() }
        defer { control.assumeIsolated { $0.stop() } }
        try listener.assumeIsolated { try $0.start() }
        defer { listener.assumeIsolated { $0.stop() } }
        collar.assumeIsolated { $0.start() }
        defer { collar.assumeIsolated { $0.stop() } }
        write("{\"event\":\"listening\"}\n", to: STDOUT_FILENO)
        loop.run()
    }

    private static func write(_ text: String, to descriptor: CInt) {
        let bytes = Array(text.utf8)
        _ = retryOnInterrupt { Glibc.write(descriptor, bytes, bytes.count) }
    }
}
