import Glibc
import Platform
import Testing

@testable import Indicators

@Suite("The board on a terminal")
struct TerminalTests {
    private let loop = VirtualLoop()

    /// Two ends of one channel: what is written at the far one is read at the near one.
    private struct Ends: ~Copyable {
        let near: Descriptor
        let far: Descriptor

        func text() throws -> String {
            try near.setNonBlocking()
            return String(decoding: try near.read(upTo: 65_536) ?? [], as: UTF8.self)
        }

        /// What arrives until it ends in `end`. A pseudo-terminal hands on what was written a moment later, from a thread of the kernel.
        func text(endingIn end: String) throws -> String {
            try near.setNonBlocking()
            var bytes: [UInt8] = []
            var entry = pollfd(fd: near.raw, events: Int16(POLLIN), revents: 0)
            while !String(decoding: bytes, as: UTF8.self).hasSuffix(end), poll(&entry, 1, 5_000) == 1 {
                bytes += try near.read(upTo: 65_536) ?? []
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private func makePipe() throws -> Ends {
        var ends: [CInt] = [-1, -1]
        try #require(pipe(&ends) == 0)
        return Ends(near: Descriptor(owning: ends[0]), far: Descriptor(owning: ends[1]))
    }

    /// A pseudo-terminal of so many columns: what was drawn is read from `screen`.
    private func makeTerminal(columns: UInt16) throws -> Ends {
        let master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        // TIOCSPTLCK and TIOCGPTN (ioctl_tty(2)), macros that Swift does not see.
        var (lock, number): (CInt, CInt) = (0, 0)
        try #require(master >= 0 && ioctl(master, 0x4004_5431, &lock) == 0 && ioctl(master, 0x8004_5430, &number) == 0)
        let slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
        try #require(slave >= 0)
        var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
        try #require(ioctl(slave, UInt(TIOCSWINSZ), &size) == 0)
        // Without it the line discipline turns \n into \r\n.
        var modes = termios()
        try #require(tcgetattr(slave, &modes) == 0)
        modes.c_oflag &= ~tcflag_t(OPOST)
        try #require(tcsetattr(slave, TCSANOW, &modes) == 0)
        return Ends(near: Descriptor(owning: master), far: Descriptor(owning: slave))
    }

    private func act(_ board: IndicatorBoard, _ body: @escaping @Sendable (IndicatorBoard) async -> Void) {
        loop.spawn { await body(board) }
        loop.advance(by: .zero)
    }

    @Test("into a pipe goes one line for each change of state, whatever the LEDs do in between")
    func piped() throws {
        let ends = try makePipe()
        let board = IndicatorBoard(loop: loop, output: TerminalOutput(descriptor: ends.far.raw))
        act(board) { await $0.set([.starting]) }
        loop.advance(by: .seconds(60))
        act(board) { await $0.set([.waitingToSend, .pairingOpen]) }
        act(board) { await $0.show(.readingStored) }
        loop.advance(by: .seconds(60))
        act(board) { await $0.stop() }
        #expect(try ends.text() == """
            LED status ◐ starting | radio ● every device linked | uplink ● everything delivered
            LED status ● all well | radio ◐ pairing open | uplink ◐ waiting to send
            LED status ○ off | radio ○ off | uplink ○ off

            """)
    }

    @Test("on a terminal one line is redrawn in place at every edge")
    func drawn() throws {
        let ends = try makeTerminal(columns: 120)
        let board = IndicatorBoard(loop: loop, output: TerminalOutput(descriptor: ends.far.raw), layout: LEDLayout([.radio, .uplink]))
        act(board) { await $0.set([.pairingOpen]) }
        loop.advance(by: .milliseconds(600))
        act(board) { await $0.stop() }
        let frames = try ends.text(endingIn: "\n").split(separator: "\r\u{1B}[K", omittingEmptySubsequences: true).map(String.init)
        #expect(frames == [
            "LED radio ○ pairing open | uplink ○ everything delivered",
            "LED radio ● pairing open | uplink ○ everything delivered",
            "LED radio ● pairing open | uplink ● everything delivered",
            "LED radio ○ pairing open | uplink ● everything delivered",
            "LED radio ○ pairing open | uplink ○ everything delivered",
            "LED radio ○ off | uplink ○ off\n"
        ])
    }

    @Test("a line is cut to the width of the terminal, as one that wraps cannot be redrawn in place")
    func narrow() throws {
        let ends = try makeTerminal(columns: 30)
        var output = TerminalOutput(descriptor: ends.far.raw)
        output.stateChanged(LED.allCases.map { LEDShown(led: $0, state: LEDPriority.of($0).resting) })
        #expect(try ends.text(endingIn: "…") == "\r\u{1B}[KLED status ○ all well | radi…")
    }

    @Test("one LED alone has no name, and no colour is used")
    func alone() throws {
        let ends = try makePipe()
        var output = TerminalOutput(descriptor: ends.far.raw)
        output.stateChanged([LEDShown(led: .status, state: .queueFull)])
        let line = try ends.text()
        #expect(line == "LED ◐ queue full, reading stopped\n")
        #expect(!line.utf8.contains(0x1B))
    }

    @Test("a board that never showed anything leaves nothing on the terminal")
    func silent() throws {
        let ends = try makePipe()
        let board = IndicatorBoard(loop: loop, output: TerminalOutput(descriptor: ends.far.raw))
        act(board) { await $0.stop() }
        #expect(try ends.text().isEmpty)
    }

    @Test("a full pipe costs the drawing and nothing else")
    func full() throws {
        let ends = try makePipe()
        try ends.far.setNonBlocking()
        while try ends.far.fill() {}
        let board = IndicatorBoard(loop: loop, output: TerminalOutput(descriptor: ends.far.raw))
        act(board) { await $0.set([.starting]) }
        loop.advance(by: .seconds(1))
        let shown = try loop.run { await board.shown }
        #expect(shown.first?.state == .starting)
        #expect(try ends.text().utf8.allSatisfy { $0 == 0 })
    }
}

extension Descriptor {
    /// Writes a block into a pipe that does not block; `false` when it is full.
    fileprivate borrowing func fill() throws -> Bool {
        let block = [UInt8](repeating: 0, count: 4_096)
        return Glibc.write(raw, block, block.count) > 0
    }
}
