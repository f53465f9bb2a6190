import CLinux
import Glibc
import Platform

/// Accelerometer samples that the simulated collar plays over and over: one person walking, in counts of 1/4096 g.
public struct Recording: Sendable, Equatable {
    /// x, y and z of every sample, one after the other.
    let axes: [Int16]

    /// How many samples (of three axes) there are; at least one.
    public var count: Int { axes.count / 3 }

    /// Reads lines of `x,y,z` in whole mg; the first line is a heading. 1 mg is 4.096 counts, rounded to the nearest.
    ///
    /// - Throws: `SimulationError` naming the line that is not three whole numbers.
    public init(csv: [UInt8]) throws(SimulationError) {
        var axes: [Int16] = []
        for (number, line) in csv.split(separator: 10, omittingEmptySubsequences: false).enumerated().dropFirst() where !line.isEmpty {
            let fields = line.split(separator: 44, omittingEmptySubsequences: false).map { Int(String(decoding: $0, as: UTF8.self)) }
            guard fields.count == 3 else { throw Self.malformed(line: number + 1) }
            for field in fields {
                guard let field else { throw Self.malformed(line: number + 1) }
                axes.append(Self.counts(milligravities: field))
            }
        }
        guard !axes.isEmpty else { throw SimulationError(.recordingMalformed, "the recording holds no sample", advice: "Give a file with x,y,z in mg.") }
        self.axes = axes
    }

    /// Reads the file at `path`.
    ///
    /// - Throws: `SimulationError` when it cannot be read (or is larger than 16 MiB) or is not a recording.
    public init(path: String) throws(SimulationError) {
        let raw = clinux_open(path, O_RDONLY | O_CLOEXEC, 0)
        guard raw >= 0 else { throw Self.unreadable(.last("open", subject: path)) }
        let file = Descriptor(owning: raw)
        var bytes: [UInt8] = []
        while bytes.count < 16 << 20 {
            let piece: [UInt8]
            do throws(SystemError) { piece = try file.read(upTo: 1 << 16) ?? [] } catch { throw Self.unreadable(error) }
            if piece.isEmpty { break }
            bytes += piece
        }
        try self.init(csv: bytes)
    }

    static func counts(milligravities: Int) -> Int16 {
        // What is beyond ±8 g saturates, as the part does.
        let bounded = max(-8_000, min(8_000, milligravities))
        return Int16(max(-32_768, min(32_767, (bounded * 4_096 + (bounded < 0 ? -500 : 500)) / 1_000)))
    }

    private static func malformed(line: Int) -> SimulationError {
        SimulationError(.recordingMalformed, "line \(line) of the recording is not three whole numbers", advice: "Each line after the first is x,y,z in mg.")
    }

    private static func unreadable(_ error: SystemError) -> SimulationError {
        SimulationError(.recordingUnreadable, "\(error)", advice: "Give the path of a readable recording.")
    }
}
