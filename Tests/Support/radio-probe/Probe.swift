import Glibc
import Platform
import Radio

/// What the probe is run for.
enum Mode: String {
    /// Goes through the scenes.
    case scenes
    /// Keeps the links until it is killed.
    case hold
    /// Waits until the controller is removed and another one is there.
    case replacement
    /// Pairs with the first device, which shows the passkey 123456.
    case passkey
    /// Finds, pairs with and keeps the first device, which advertises at private addresses.
    case privacy
}

/// What is seen of a real kernel, as conditions with a bound on the time that they may take.
actor Probe {
    nonisolated let loop: any EventLoop
    let addresses: [BluetoothAddress]
    let mode: Mode
    var held: [GATTClient] = []
    var securities: [BluetoothAddress: ChannelSecurity] = [:]
    let router: L2CAPRouter
    var controller: BluetoothController?
    var listener: L2CAPListener?
    var events: [ControllerEvent] = []
    var failures = 0
    let start: BootInstant
    var observers: [@Sendable () -> Void] = []

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(loop: any EventLoop, addresses: [BluetoothAddress], mode: Mode) {
        self.mode = mode
        self.loop = loop
        self.addresses = addresses
        router = L2CAPRouter(loop: loop)
        start = loop.now
    }

    /// - Returns: whether everything was seen.
    func run() async throws -> Bool {
        let router = self.router
        await router.expect(Set(addresses))
        let listener = try L2CAPListener(loop: loop, backlog: addresses.count)
        self.listener = listener
        try await listener.start { link in router.assumeIsolated { _ = $0.deliver(link) } }
        var policy = ControllerPolicy()
        policy.absencePause = .seconds(2)
        if mode == .passkey {
            policy.ioCapability = .keyboardOnly
            policy.devicePasskeys = [addresses[0]: 123_456]
        }
        policy.systemConfiguration = [.autoConnectTimeout(milliseconds: 4_000)] + SystemConfigurationValue.connection(.rest)
        let controller = BluetoothController(
            channel: try ManagementClient.openControlChannel(), loop: loop, policy: policy,
            devices: mode == .privacy ? [] : addresses.map { ControllerDevice(address: $0) })
        self.controller = controller
        try await controller.start { report in self.assumeIsolated { $0.note(report) } }

        guard await expect("the controller is ready", within: .seconds(20), { if case .ready = $0 { true } else { false } }) else { return false }
        note("management \(await controller.version?.description ?? "unknown")")
        if mode != .privacy {
            for address in addresses { await link(address, "is linked by the kernel") }
        }
        switch mode {
        case .scenes:
            await reacceptance(addresses[0])
            await scan()
            await refusedPairing(addresses[1])
            await pairing(addresses[0])
            await dialling(addresses[2])
            await powerCycle()
        case .hold:
            for address in addresses { try await held.append(client(of: address)) }
            note("HOLDING")
            try await loop.sleep(for: .seconds(3_600))
        case .replacement:
            await replacement()
        case .passkey:
            await passkey(addresses[0])
        case .privacy:
            await privacy(addresses[0])
        }
        await controller.stop()
        await listener.stop()
        note(failures == 0 ? "ALL SEEN" : "\(failures) NOT SEEN")
        return failures == 0
    }

    // MARK: Parts

    /// Waits for the device's link, exchanges the MTU over it, and lets it go.
    func link(_ address: BluetoothAddress, _ what: String) async {
        do {
            let link = try await bounded(.seconds(20)) { [router] in try await router.source(for: address).nextLink() }
            guard let link else { return fail("\(address) \(what)") }
            let client = GATTClient(descriptor: link.takeDescriptor(), loop: loop)
            try await client.start { _ in }
            await controller?.channelOpened(address)
            let mtu = try await client.exchangeMTU()
            await client.close("the probe has seen enough")
            await controller?.channelClosed(address)
            note("\(address) \(what); ATT_MTU \(mtu)")
        } catch {
            fail("\(address) \(what): \(error)")
        }
    }

    /// A client on the device's next link.
    func client(of address: BluetoothAddress) async throws -> GATTClient {
        guard let link = try await bounded(.seconds(20), { [router] in try await router.source(for: address).nextLink() }) else { throw CancellationError() }
        let client = GATTClient(descriptor: link.takeDescriptor(), loop: loop)
        try await client.start { _ in }
        await controller?.channelOpened(address)
        return client
    }

    /// Raises the security of the device's next link, and uses it.
    ///
    /// - Returns: what went wrong, `nil` when nothing did.
    func raise(_ address: BluetoothAddress, to level: SecurityLevel = .medium) async -> (any Error)? {
        do {
            guard let link = try await bounded(.seconds(20), { [router] in try await router.source(for: address).nextLink() }) else { return CancellationError() }
            return await raise(link, address, to: level)
        } catch {
            return error
        }
    }

    func raise(_ link: consuming Link, _ address: BluetoothAddress, to level: SecurityLevel) async -> (any Error)? {
        do {
            let security = try link.security(on: loop)
            securities[address] = security
            let before = try await security.state()
            if before.isEncrypted { fail("\(address) is encrypted before it was asked for") }
            do {
                try await security.raise(to: level)
                let after = try await security.state()
                if !after.isEncrypted { fail("\(address) is not encrypted after it was asked for") }
                let client = GATTClient(descriptor: link.takeDescriptor(), loop: loop)
                try await client.start { _ in }
                _ = try await client.exchangeMTU()
                // Once more, for a level that is reached.
                try await security.raise(to: level)
                await client.close("the probe has seen enough")
                await security.close()
                return nil
            } catch {
                await security.disconnect()
                return error
            }
        } catch {
            return error
        }
    }

    /// The link, or `nil` after `limit`.
    func bounded(_ limit: Duration, _ body: @escaping @Sendable () async throws -> Link) async throws -> Link? {
        let box = LinkBox()
        let loop = self.loop
        let task = loop.spawn {
            do { box.put(try await body()) } catch { box.fail() }
        }
        let timer = loop.schedule(after: limit) { task.cancel() }
        await task.value
        loop.cancel(timer)
        return box.take()
    }

    @discardableResult
    func expect(_ what: String, within limit: Duration, _ matches: @escaping @Sendable (ControllerEvent) -> Bool) async -> Bool {
        let deadline = loop.now + limit
        while !events.contains(where: matches) {
            guard loop.now < deadline else {
                fail(what)
                return false
            }
            await nextEvent(or: deadline)
        }
        note(what)
        return true
    }

    func nextEvent(or deadline: BootInstant) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            let once = Once { continuation.resume() }
            observers.append { once.fire() }
            _ = loop.schedule(at: deadline) { once.fire() }
        }
    }

    func note(_ report: BluetoothController.Report) {
        if case .event(let event) = report {
            events.append(event)
            if case .authenticationFailed(let address, _) = event { securities[address]?.assumeIsolated { $0.authenticationFailed() } }
            if case .found = event {} else { note("  \(event)") }
        } else {
            note("  \(report)")
        }
        let waiting = observers
        observers = []
        for observer in waiting { observer() }
    }

    func note(_ text: String) {
        print("[\((loop.now - start).milliseconds) ms] \(text)")
        // Who reads this may stop the machine at any moment.
        fflush(nil)
    }

    func fail(_ text: String) {
        failures += 1
        note("NOT SEEN: \(text)")
    }
}

/// Does something once. Touched on the loop's thread alone.
private final class Once: @unchecked Sendable {
    var body: (@Sendable () -> Void)?
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    func fire() {
        let body = self.body
        self.body = nil
        body?()
    }
}

/// Carries a link out of a task. Touched on the loop's thread alone.
private final class LinkBox: @unchecked Sendable {
    var link: Link?
    func put(_ link: consuming Link) { self.link = consume link }
    func fail() { link = nil }
    func take() -> Link? { link.take() }
}
