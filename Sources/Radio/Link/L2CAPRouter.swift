import Platform

/// Hands the links that come to the devices that wait for them, by address.
///
/// A link of an expected device that nobody waits for yet is kept, the last one of each; one of any other device is refused: unknown devices are
/// never linked.
public actor L2CAPRouter {
    /// What became of a link.
    public enum Fate: Sendable, Hashable {
        case handedOver
        /// Its device's user will ask for it; an older one that waited is closed.
        case kept
        /// Nobody expects it: it is closed.
        case refused
    }

    private struct Waiter {
        let number: UInt64
        let continuation: CheckedContinuation<IncomingLink, any Error>
    }

    nonisolated let loop: any EventLoop
    private var expected: Set<BluetoothAddress> = []
    private var waiters: [BluetoothAddress: Waiter] = [:]
    private var kept: [BluetoothAddress: IncomingLink] = [:]
    private var lastNumber: UInt64 = 0

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    public init(loop: any EventLoop) { self.loop = loop }

    /// The devices whose links are taken; those of others that were kept are closed, and who waits for one of them waits on, in case it comes back.
    public func expect(_ addresses: Set<BluetoothAddress>) {
        expected = addresses
        kept = kept.filter { addresses.contains($0.key) }
    }

    /// Takes a link from the listener, or from a dialer.
    @discardableResult
    public func deliver(_ link: IncomingLink) -> Fate {
        guard expected.contains(link.address) else { return .refused }
        guard let waiter = waiters.removeValue(forKey: link.address) else {
            kept[link.address] = link
            return .kept
        }
        waiter.continuation.resume(returning: link)
        return .handedOver
    }

    /// The device's link is down: what was kept of it is of no use.
    public func linkEnded(_ address: BluetoothAddress) { kept[address] = nil }

    /// The links of one device, as its driver takes them.
    public nonisolated func source(for address: BluetoothAddress) -> L2CAPLinkSource { L2CAPLinkSource(address: address, router: self) }

    /// Waits for the device's next link. A later call for the same device takes the place of an earlier one, which ends as if cancelled.
    func nextLink(of address: BluetoothAddress) async throws -> IncomingLink {
        try Task.checkCancellation()
        if let link = kept.removeValue(forKey: address) { return link }
        lastNumber += 1
        let number = lastNumber
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                waiters.updateValue(Waiter(number: number, continuation: continuation), forKey: address)?.continuation.resume(throwing: CancellationError())
            }
        } onCancel: {
            // Runs on whatever thread cancels, at times within a call of this very actor: the loop brings it back in order.
            Task(executorPreference: loop) { await self.abandon(number, address) }
        }
    }

    private func abandon(_ number: UInt64, _ address: BluetoothAddress) {
        guard let waiter = waiters[address], waiter.number == number else { return }
        waiters[address] = nil
        waiter.continuation.resume(throwing: CancellationError())
    }
}

/// The links of one device over the air.
public struct L2CAPLinkSource: LinkSource {
    /// The device's identity address.
    public let address: BluetoothAddress
    let router: L2CAPRouter

    /// - Throws: `CancellationError`.
    public func nextLink() async throws -> Link {
        while true {
            if let link = try await router.nextLink(of: address).take() { return link }
        }
    }
}
