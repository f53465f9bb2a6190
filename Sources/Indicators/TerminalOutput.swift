import Glibc
import Platform

/// Draws the board on a terminal, for a machine without LEDs and for demonstrations.
///
/// On a terminal it is one line, redrawn in place at every edge: `LED status ● all well | radio ○ looking for devices | ...`. Into
/// a pipe or a file goes one line for each change of state, not for each edge. Symbols and words carry everything; no colour is used.
public struct TerminalOutput: LEDOutput {
    private let descriptor: CInt
    private let isTerminal: Bool
    private var shown: [LEDShown] = []
    private var lit: Set<LED> = []

    /// - Parameter descriptor: where to draw. It stays its owner's.
    public init(descriptor: CInt = STDOUT_FILENO) {
        self.descriptor = descriptor
        isTerminal = isatty(descriptor) == 1
    }

    public mutating func set(_ led: LED, lit: Bool) {
        if lit { self.lit.insert(led) } else { self.lit.remove(led) }
        if isTerminal { redraw() }
    }

    public mutating func stateChanged(_ shown: [LEDShown]) {
        self.shown = shown
        if isTerminal {
            redraw()
        } else {
            write(Self.line(shown.map { ($0.led, $0.pattern.isMostlyOn ? "●" : "◐", $0.state.words) }) + "\n")
        }
    }

    public mutating func close() {
        let off = Self.line(shown.map { ($0.led, "○", "off") })
        if shown.isEmpty { return }
        write(isTerminal ? "\r\u{1B}[K\(fitting(off))\n" : off + "\n")
        shown = []
    }

    private func redraw() {
        let line = Self.line(shown.map { ($0.led, lit.contains($0.led) ? "●" : "○", $0.state.words) })
        // Back to the start of the line, and clear what a longer text left there (ECMA-48, EL).
        write("\r\u{1B}[K\(fitting(line))")
    }

    /// A line that wrapped could not be redrawn in place.
    private func fitting(_ line: String) -> String {
        var size = winsize()
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 1, line.count >= Int(size.ws_col) else { return line }
        return line.prefix(Int(size.ws_col) - 2) + "…"
    }

    /// `LED status ● all well | radio ● every device linked | uplink ◐ waiting to send`. An LED that is alone needs no name.
    static func line(_ entries: [(led: LED, symbol: String, words: String)]) -> String {
        "LED " + entries.map { entry in
            (entries.count == 1 ? "" : "\(entry.led.rawValue) ") + "\(entry.symbol) \(entry.words)"
        }.joined(separator: " | ")
    }

    private func write(_ text: String) {
        let bytes = Array(text.utf8)
        var start = 0
        while start < bytes.count {
            let written = bytes.withUnsafeBytes { buffer in
                retryOnInterrupt { Glibc.write(descriptor, buffer.baseAddress! + start, bytes.count - start) }
            }
            // A terminal that is gone or full costs the drawing, never the work.
            guard written > 0 else { return }
            start += written
        }
    }
}
