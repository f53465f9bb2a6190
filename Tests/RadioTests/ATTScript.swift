import Glibc
import Platform
import Synchronization
import Testing

@testable import Radio

/// Octets from their hexadecimal text, blanks ignored; the text is the test's own, so what is no hexadecimal is a fault of the test.
func hex(_ text: String) -> [UInt8] {
    let digits = text.filter { !$0.isWhitespace }.map { UInt8($0.hexDigitValue!) }
    precondition(digits.count.isMultiple(of: 2), "an odd number of digits")
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

func hexText(_ octets: [UInt8]) -> String { octets.map { hexadecimalDigits(UInt64($0), count: 2) }.joined(separator: " ") }

/// One step of a conversation as the peer sees it.
enum ScriptStep: Sendable {
    /// The client must send exactly this next.
    case expects(String)
    /// The peer sends this, as one PDU.
    case sends(String)
    case sendsOctets([UInt8])
    /// Nothing for so long; then the script goes on.
    case waits(Duration)
    /// The peer closes its end.
    case hangsUp
}

/// A peer that follows a list of PDUs over a real socket pair; what differs from the list is kept as a fault.
final class ScriptedPeer: @unchecked Sendable {
    // Unchecked: touched on the loop's thread alone.
    private let loop: VirtualLoop
    private var steps: ArraySlice<ScriptStep>
    private var descriptor: Descriptor?
    private(set) var faults: [String] = []

    init(_ steps: [ScriptStep], descriptor: consuming Descriptor, loop: VirtualLoop) {
        self.steps = steps[...]
        self.loop = loop
        self.descriptor = consume descriptor
    }

    /// What of the script has not happened.
    var rest: [ScriptStep] { Array(steps) }

    func start() throws {
        guard let raw = descriptor?.raw else { return }
        try loop.watch(raw, for: .readable) { [unowned self] _ in read() }
        act()
    }

    func close() {
        guard let raw = descriptor?.raw else { return }
        loop.unwatch(raw)
        descriptor = nil
    }

    private func read() {
        do {
            guard let octets = try descriptor?.read(upTo: 1024) else { return }
            if octets.isEmpty { return close() }
            guard case .expects(let text) = steps.first else {
                return faults.append("the client sent \(hexText(octets)), and the script does not expect it")
            }
            if octets != hex(text) { faults.append("the client sent \(hexText(octets)) instead of \(text)") }
            steps.removeFirst()
            act()
        } catch {
            if error.code != ECONNRESET { faults.append("\(error)") }
            close()
        }
    }

    /// Does what is the peer's to do, up to the next thing that it waits for.
    private func act() {
        while let step = steps.first {
            switch step {
            case .expects:
                return
            case .sends(let text):
                send(hex(text))
            case .sendsOctets(let octets):
                send(octets)
            case .waits(let duration):
                steps.removeFirst()
                _ = loop.schedule(after: duration) { [self] in act() }
                return
            case .hangsUp:
                close()
            }
            steps.removeFirst()
        }
    }

    private func send(_ octets: [UInt8]) {
        do { _ = try descriptor?.send(octets) } catch { faults.append("send: \(error)") }
    }
}

/// What handlers and the end of the bearer reported, in order.
final class UpdateRecorder: Sendable {
    private let updates = Mutex<[ValueUpdate]>([])
    private let ends = Mutex<[BearerClosure]>([])

    var values: [ValueUpdate] { updates.withLock { $0 } }
    var closures: [BearerClosure] { ends.withLock { $0 } }

    @Sendable func record(_ update: ValueUpdate) { updates.withLock { $0.append(update) } }
    @Sendable func ended(_ closure: BearerClosure) { ends.withLock { $0.append(closure) } }
}

/// Both ends of a connected pair of packet sockets.
func packetPair() throws -> (near: CInt, far: CInt) {
    var ends: [CInt] = [-1, -1]
    let type = CInt(SOCK_SEQPACKET.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw SystemError.last("socketpair") }
    return (ends[0], ends[1])
}

/// Runs `body` with a client whose peer follows `script`, on a virtual loop, and checks that the script was followed to its end.
func converse(
    _ script: [ScriptStep],
    receiveMTU: UInt16 = 517,
    raiseSecurity: RaiseSecurity? = nil,
    isEncrypted: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ body: @escaping @Sendable (GATTClient, UpdateRecorder) async throws -> Void
) throws {
    let loop = VirtualLoop()
    let (ours, theirs) = try packetPair()
    let peer = ScriptedPeer(script, descriptor: Descriptor(owning: theirs), loop: loop)
    var configuration = GATTClientConfiguration()
    configuration.receiveMTU = receiveMTU
    let client = GATTClient(descriptor: Descriptor(owning: ours), loop: loop, configuration: configuration,
                            raiseSecurity: raiseSecurity, isEncrypted: { isEncrypted })
    let recorder = UpdateRecorder()
    try loop.run {
        try await client.start(onClose: recorder.ended)
        try peer.start()
        try await body(client, recorder)
    }
    // What was sent last is still to be compared.
    loop.advance(by: .zero)
    for fault in peer.faults { Issue.record("\(fault)", sourceLocation: sourceLocation) }
    if !peer.rest.isEmpty { Issue.record("of the script was left: \(peer.rest)", sourceLocation: sourceLocation) }
    try loop.run { await client.close("the test is over") }
    loop.advance(by: .seconds(60))
    #expect(recorder.closures.count == 1, "the end of the bearer is reported once", sourceLocation: sourceLocation)
    peer.close()
}

/// The error that a call threw; `nil` when it threw none.
func failure(_ body: () async throws -> Void) async -> (any Error)? {
    do {
        try await body()
        return nil
    } catch {
        return error
    }
}

func gattFailure(_ body: () async throws -> Void) async -> GATTError? { await failure(body) as? GATTError }

/// Lets everything happen that can happen without the time going on by more than a millisecond.
func settle(_ client: GATTClient) async { try? await client.loop.sleep(for: .milliseconds(1)) }
