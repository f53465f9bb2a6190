import Platform

/// What a user or an operator wants.
extension RadioController {
    /// The devices that a scan reports at the most, whatever the air brings.
    static let scanLimit = 1_000

    /// Opens pairing for two minutes (`ConnectorSettings.pairingWindow`): for one device, or for all that have no address or need new keys.
    ///
    /// - Returns: `false` for a device that is not configured.
    @discardableResult
    public func openPairing(for device: String? = nil) -> Bool {
        if let device, configured[device] == nil { return false }
        feed(.openPairing(device: device))
        return true
    }

    /// Ends it early.
    public func closePairing() { feed(.closePairing) }

    /// Forgets the device's keys and its adopted address; to be linked again it has to be paired.
    ///
    /// - Returns: `false` for a device that is not configured.
    @discardableResult
    public func forget(_ device: String) -> Bool {
        guard configured[device] != nil else { return false }
        feed(.forget(device: device))
        return true
    }

    /// The configured devices are these now. Those that stay keep their links.
    public func configure(_ devices: [RadioDevice]) async {
        configured = Dictionary(devices.map { ($0.id, $0) }) { _, last in last }
        guard life == .running, let bonded else { return }
        let bonds = (try? await store.bonds(with: bonded)) ?? []
        for device in Array(mailboxes.keys) where configured[device] == nil { mailboxes.removeValue(forKey: device)?.cancel() }
        reconfigure(bonds)
    }

    /// What is heard, unfiltered, as it is heard, for so long; who reads slowly misses some.
    public func scan(for duration: Duration) -> AsyncStream<HeardDevice> {
        let (stream, continuation) = AsyncStream.makeStream(of: HeardDevice.self, bufferingPolicy: .bufferingNewest(256))
        guard life == .running else {
            continuation.finish()
            return stream
        }
        lastScan += 1
        let number = lastScan
        scans[number] = continuation
        let timer = loop.schedule(after: duration) { continuation.finish() }
        continuation.onTermination = { [loop] _ in
            Task(executorPreference: loop) {
                loop.cancel(timer)
                await self.scanDone(number)
            }
        }
        feed(.scan(duration))
        return stream
    }

    /// The devices heard within so long, each once with all that was heard of it, the nearest first.
    public func devicesHeard(in duration: Duration) async -> [HeardDevice] {
        var found: [BluetoothAddress: HeardDevice] = [:]
        for await device in scan(for: duration) where found[device.address] != nil || found.count < Self.scanLimit { found[device.address] = device }
        return found.values.sorted { (-Int($0.rssi ?? -128), $0.address.description) < (-Int($1.rssi ?? -128), $1.address.description) }
    }

    /// What a device is doing; `nil` for one that is not configured.
    public func state(of device: String) -> DeviceLinkState? { machine.state(of: device) }

    /// The address under which a device is waited for; `nil` before one was adopted.
    public func address(of device: String) -> BluetoothAddress? { machine.address(of: device) }

    /// The identity address of the controller whose bonds are in use; `nil` before one was ready.
    public var bondedController: BluetoothAddress? { bonded }

    /// Whether a device's keys are stored.
    public func isBonded(_ device: String) -> Bool { machine.isBonded(device) }

    /// Whether somebody in the middle was excluded when a device's keys were made.
    public func isAuthenticated(_ device: String) -> Bool {
        guard let address = machine.address(of: device) else { return false }
        let keys = controller.assumeIsolated { $0.keys.longTermKeys }.filter { $0.address == address }
        return !keys.isEmpty && keys.allSatisfy(\.kind.isAuthenticated)
    }

    /// Until when pairing is open.
    public var pairingOpenUntil: BootInstant? { machine.pairingOpenUntil }

    // MARK: Parts

    private func scanDone(_ number: UInt64) {
        scans[number] = nil
        guard scans.isEmpty else { return }
        heard = [:]
        feed(.stopScan)
    }

    func tellScans(_ sighting: Sighting) {
        let claims = configured.values.filter { device in
            device.identity != nil && sighting.data.serviceData[device.service] == device.identity
        }.map(\.id)
        let mayBe = configured.values.filter { $0.identity == nil && machine.address(of: $0.id) == nil && $0.isOfKind(sighting.data) }.map(\.id)
        let device = HeardDevice(sighting, device: machine.device(at: sighting.address), claims: claims, mayBe: mayBe, before: heard[sighting.address])
        if heard[sighting.address] != nil || heard.count < Self.scanLimit { heard[sighting.address] = device }
        for scan in scans.values { scan.yield(device) }
    }
}
