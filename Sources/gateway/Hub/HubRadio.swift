import Platform
import Radio

/// The radio on the hub's side: opens the kernel's Bluetooth as soon as there is one, hands the links out, and keeps what is to be shown of it.
///
/// A kernel without Bluetooth, or another program that holds it, costs the links and nothing else: what is stored is delivered all the same.
actor HubRadio {
    /// Opens the radio; what happens to it is told to the closure.
    typealias Opening = @Sendable (@escaping @Sendable (RadioEvent) -> Void) throws -> RadioController

    /// How the controller fares.
    enum Controller: Sendable, Hashable {
        /// Nothing was heard of one yet.
        case starting
        case ready(BluetoothAddress?)
        /// None can be used, and why.
        case absent(String)
        /// It is being set up anew after a reset or a power cycle.
        case recovering(String)
    }

    /// All that is shown of the radio, at one moment.
    struct View: Sendable {
        var controller = Controller.starting
        var links: [String: DeviceLinkState] = [:]
        var addresses: [String: BluetoothAddress] = [:]
        var bonded: Set<String> = []
        var pairingUntil: BootInstant?
    }

    /// The pause before a kernel that gave no radio is asked again.
    private static let pause = Duration.seconds(30)

    let loop: any EventLoop
    let log: Log
    /// The devices as the configuration has them, by serial number.
    let devices: [String: HubRadioDevice]
    let store: OutboxBonds
    private let open: Opening
    let onChange: @Sendable () -> Void
    /// A controller works, the first one or again.
    let onReady: @Sendable () -> Void
    /// Nothing helps but a new process.
    let onEnd: @Sendable (String) -> Void

    private(set) var radio: RadioController?
    private var waiting: [UInt64: CheckedContinuation<RadioController, any Error>] = [:]
    private var lastWaiter: UInt64 = 0
    private var timer: TimerID?
    private var lastFailure: String?
    private var stopped = false

    var controller = Controller.starting
    var links: [String: DeviceLinkState] = [:]
    /// Pairings that somebody waits for.
    var pairings: [UInt64: PairingWatch] = [:]
    var lastPairing: UInt64 = 0
    /// Who waits for a device to be forgotten.
    var forgetting: [String: [CheckedContinuation<Void, Never>]] = [:]

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(
        loop: any EventLoop, log: Log, devices: [HubRadioDevice], store: OutboxBonds, open: @escaping Opening,
        onChange: @escaping @Sendable () -> Void, onReady: @escaping @Sendable () -> Void, onEnd: @escaping @Sendable (String) -> Void
    ) {
        self.loop = loop
        self.log = log
        self.devices = Dictionary(devices.map { ($0.serial, $0) }) { first, _ in first }
        self.store = store
        self.open = open
        self.onChange = onChange
        self.onReady = onReady
        self.onEnd = onEnd
    }

    // MARK: Life

    /// Opens the radio, now or as soon as that can be done.
    func start() async {
        guard radio == nil, !stopped else { return }
        do {
            let radio = try open { [weak self] event in self?.assumeIsolated { $0.heard(event) } }
            do {
                try await radio.start()
            } catch {
                await radio.stop()
                throw error
            }
            guard !stopped else { return await radio.stop() }
            self.radio = radio
            lastFailure = nil
            let ready = waiting
            waiting = [:]
            for (_, continuation) in ready { continuation.resume(returning: radio) }
        } catch {
            failed(error)
        }
    }

    private func failed(_ error: any Error) {
        let words = (error as? BluetoothError).map { "\($0); \($0.remedy)" } ?? "\(error)"
        if words != lastFailure { log(.error, .radioUnusable, "no Bluetooth: \(words)") }
        lastFailure = words
        controller = .absent(words)
        onChange()
        guard !stopped else { return }
        timer = loop.schedule(after: Self.pause) { [weak self] in
            guard let self else { return }
            loop.spawn { await self.start() }
        }
    }

    /// Lets go of every link and of the controller, which stays as it is.
    func stop() async {
        stopped = true
        if let timer { loop.cancel(timer) }
        for (_, continuation) in waiting { continuation.resume(throwing: CancellationError()) }
        waiting = [:]
        for watch in pairings.values { watch.end() }
        pairings = [:]
        for continuation in forgetting.values.joined() { continuation.resume() }
        forgetting = [:]
        await radio?.stop()
        radio = nil
    }

    // MARK: Links

    /// The links to a device, from when there is a radio.
    nonisolated func links(of serial: String) -> any LinkSource { HubRadioLinks(radio: self, serial: serial) }

    /// The radio, once it is open.
    fileprivate func opened() async throws -> RadioController {
        try Task.checkCancellation()
        if let radio { return radio }
        guard !stopped else { throw CancellationError() }
        lastWaiter += 1
        let number = lastWaiter
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiting[number] = $0 }
        } onCancel: {
            // Runs on whatever thread cancels: the loop brings it back in order.
            Task(executorPreference: loop) { await self.abandon(number) }
        }
    }

    private func abandon(_ number: UInt64) { waiting.removeValue(forKey: number)?.resume(throwing: CancellationError()) }

    // MARK: What is shown

    func view() async -> View {
        var view = View(controller: controller, links: links)
        guard let radio else { return view }
        for serial in devices.keys {
            view.addresses[serial] = await radio.address(of: serial)
            if await radio.isBonded(serial) { view.bonded.insert(serial) }
        }
        view.pairingUntil = await radio.pairingOpenUntil
        return view
    }
}

/// The links to one device. While there is no radio, its agent waits here.
private struct HubRadioLinks: LinkSource {
    let radio: HubRadio
    let serial: String

    func nextLink() async throws -> Link { try await radio.opened().links(of: serial).nextLink() }
    func linkWorks() async { await radio.radio?.links(of: serial).linkWorks() }
    func linkServed() async { await radio.radio?.links(of: serial).linkServed() }
    func linkReleased() async { await radio.radio?.links(of: serial).linkReleased() }
    func securityDemanded() async { await radio.radio?.links(of: serial).securityDemanded() }
    func use(_ parameters: ConnectionParameters) async { await radio.radio?.links(of: serial).use(parameters) }
}
