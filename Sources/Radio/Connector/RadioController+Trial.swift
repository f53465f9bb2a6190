import Glibc
import Platform

/// One candidate being tried. Touched on the loop's thread alone.
final class TrialRun: @unchecked Sendable {
    let number: UInt64
    let device: RadioDevice
    let address: BluetoothAddress
    var task: Task<Void, Never>?
    var client: GATTClient?
    private(set) var keys: [LongTermKey] = []
    private var waiter: CheckedContinuation<Void, Never>?

    init(number: UInt64, device: RadioDevice, address: BluetoothAddress) {
        self.number = number
        self.device = device
        self.address = address
    }

    func keyCame(_ key: LongTermKey) {
        keys.append(key)
        stopWaiting()
    }

    func waitForKey(_ continuation: CheckedContinuation<Void, Never>) { keys.isEmpty ? (waiter = continuation) : continuation.resume() }

    func stopWaiting() {
        let waiter = waiter
        self.waiter = nil
        waiter?.resume()
    }
}

/// Trials of candidates: connect, pair, read the serial number, let go.
extension RadioController {
    private static let deviceInformation = BluetoothUUID.uuid16(0x180A)
    private static let serialNumber = BluetoothUUID.uuid16(0x2A25)

    func beginTrial(_ device: String, _ address: BluetoothAddress) {
        endTrial()
        guard let configuration = configured[device] else { return feed(.trialEnded(address, .failure(.unreachable))) }
        lastTrial += 1
        let run = TrialRun(number: lastTrial, device: configuration, address: address)
        trial = run
        run.task = loop.spawn {
            let result: Result<TrialFinding, TrialFailure>
            do {
                result = .success(try await self.run(run))
            } catch {
                result = .failure(error as? TrialFailure ?? .unreachable)
            }
            await self.trialEnded(run, result)
        }
    }

    /// Gives the trial up, whatever it waits for.
    func endTrial() {
        guard let run = trial else { return }
        trial = nil
        run.task?.cancel()
        run.stopWaiting()
        if let security = securities.removeValue(forKey: run.address) { loop.spawn { await security.close() } }
        if let client = run.client { loop.spawn { await client.close("the trial was given up") } }
        controller.assumeIsolated { $0.forbidPairing(run.address) }
    }

    private func trialEnded(_ run: TrialRun, _ result: Result<TrialFinding, TrialFailure>) {
        guard trial === run else { return }
        endTrial()
        controller.assumeIsolated { $0.channelClosed(run.address) }
        if case .failure(.busy) = result { controller.assumeIsolated { $0.connectionWasBusy() } }
        feed(.trialEnded(run.address, result))
    }

    private func run(_ run: TrialRun) async throws -> TrialFinding {
        let box: LinkBox
        do {
            box = LinkBox(try await transport.dial(run.address, timeout: Self.dialTimeout), address: run.address)
        } catch {
            throw (error as? BluetoothError)?.isBusy == true ? TrialFailure.busy : .unreachable
        }
        guard trial === run else { throw TrialFailure.unreachable }
        await controller.channelOpened(run.address)
        var isEncrypted = false
        if run.device.security != .none {
            try await pair(run, box)
            isEncrypted = !run.keys.isEmpty && run.keys.allSatisfy { run.device.pairing.accepts($0) }
            // Nobody is asked anything who could not be adopted.
            guard isEncrypted else { throw TrialFailure.notEncrypted }
        }
        let serial = run.device.serial == nil ? nil : try await readSerial(run, box)
        return TrialFinding(address: trialIdentities[run.address] ?? run.address, serial: serial, isEncrypted: isEncrypted)
    }

    private func pair(_ run: TrialRun, _ box: LinkBox) async throws {
        do {
            try allowPairing(run.address, run.device.id, run.device.pairing)
        } catch {
            onEvent(.passkeyMissing(device: run.device.id, error))
            throw TrialFailure.notPaired
        }
        do {
            guard let security = try box.security(transport) else { throw TrialFailure.unreachable }
            securities[run.address] = security
            defer { if trial === run { securities[run.address] = nil } }
            let raised: Result<Void, any Error>
            do { raised = .success(try await security.raise(to: run.device.pairing.level, timeout: Self.raiseTimeout)) } catch { raised = .failure(error) }
            await security.close()
            try raised.get()
        } catch {
            throw TrialFailure.notPaired
        }
        // The keys follow the encryption.
        let timer = loop.schedule(after: Self.keysTimeout) { run.stopWaiting() }
        await withCheckedContinuation { run.waitForKey($0) }
        loop.cancel(timer)
    }

    /// Reads what Device Information says, within its time.
    private func readSerial(_ run: TrialRun, _ box: LinkBox) async throws -> String? {
        guard trial === run, let link = box.take() else { throw TrialFailure.unreachable }
        let client = GATTClient(descriptor: link.takeDescriptor(), loop: loop)
        run.client = client
        let timer = loop.schedule(after: Self.readTimeout) { [loop] in _ = loop.spawn { await client.close("the serial number did not come") } }
        let serial = await Self.serial(client)
        loop.cancel(timer)
        await client.close("the serial number is known")
        return serial
    }

    private static func serial(_ client: GATTClient) async -> String? {
        do {
            try await client.start { _ in }
            for service in try await client.discoverPrimaryServices(deviceInformation) {
                guard let characteristic = try await client.discoverCharacteristics(of: service).first(where: { $0.uuid == serialNumber }) else { continue }
                return CollarConnection.text(try await client.read(characteristic.valueHandle))
            }
        } catch {
            // Whatever it was, there is no serial number.
        }
        return nil
    }
}
