import Platform

/// Decides by seed when a fault happens. Seconds, windows and requests draw from streams of their own, so that more of one does not
/// move the faults of another.
struct FaultDice: Sendable {
    enum Stream: Int, Sendable {
        case second, window, request, identity
    }

    private var streams: [SplitMix64]

    init(seed: UInt64) {
        var mixer = SplitMix64(seed: seed)
        streams = (0..<4).map { _ in SplitMix64(seed: mixer.next()) }
    }

    mutating func roll(_ probability: Double, _ stream: Stream) -> Bool {
        streams[stream.rawValue].chance(probability)
    }

    mutating func pick(below bound: Int, _ stream: Stream) -> Int {
        Int(streams[stream.rawValue].next() % UInt64(bound))
    }

    /// The generator of new identities: logs and addresses.
    mutating func withIdentities<Value>(_ body: (inout SplitMix64) -> Value) -> Value {
        body(&streams[Stream.identity.rawValue])
    }
}
