import Glibc

/// Standard output and standard error, without the buffers of stdio.
enum Output {
    /// Writes to standard output.
    static func print(_ text: String) { write(text, to: STDOUT_FILENO) }

    /// Writes a line to standard error.
    static func complain(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

    private static func write(_ text: String, to descriptor: CInt) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written < 0, errno == EINTR { continue }
            // Nobody reads any more, and there is nobody else to tell.
            guard written > 0 else { return }
            rest = rest.dropFirst(written)
        }
    }
}
