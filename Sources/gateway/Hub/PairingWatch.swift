/// What becomes of the devices that somebody has opened pairing for. Touched on the loop's thread alone.
final class PairingWatch: @unchecked Sendable {
    /// What was found out of one device.
    enum Result: Sendable, Hashable {
        case paired(adopted: Bool)
        case failed(code: String, text: String)
    }

    private var open: Set<String>
    private(set) var results: [String: Result]
    private var continuation: CheckedContinuation<Void, Never>?
    private var isOver = false

    /// - Parameter devices: by serial number.
    init(_ devices: Set<String>) {
        open = devices
        let nothing = Result.failed(code: "not-heard", text: "it was not heard; check that it is near, charged, and ready to be paired")
        results = Dictionary(uniqueKeysWithValues: devices.map { ($0, nothing) })
    }

    /// Waits until every device is paired, or pairing is closed.
    func wait() async {
        await withCheckedContinuation { continuation in
            if isOver || open.isEmpty { continuation.resume() } else { self.continuation = continuation }
        }
    }

    /// A link to the device works, with keys that are stored where it needs some.
    func worked(_ device: String, adopted: Bool) {
        guard results[device] != nil else { return }
        if case .paired(true) = results[device] { return }
        results[device] = .paired(adopted: adopted)
        open.remove(device)
        if open.isEmpty { end() }
    }

    /// Something went wrong; another try may follow.
    func failed(_ device: String, _ code: String, _ text: String) {
        if open.contains(device) { results[device] = .failed(code: code, text: text) }
    }

    /// Nothing more will come.
    func end() {
        isOver = true
        continuation?.resume()
        continuation = nil
    }
}
