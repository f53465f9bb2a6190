import Glibc
import Platform

/// Where the links of one device wait for its driver, or its driver for them.
struct Mailbox {
    enum State {
        case empty
        case link(LinkBox)
        case waiter(UInt64, CheckedContinuation<LinkBox, any Error>)
    }

    var state = State.empty
    /// The driver has taken a link and has not let go of it.
    var isInUse = false

    consuming func cancel() {
        if case .waiter(_, let continuation) = state { continuation.resume(throwing: CancellationError()) }
    }
}

/// The links of one device, as its driver takes them. Asking for the next one says that the former one is over.
public struct DeviceLinkSource: LinkSource {
    /// `RadioDevice.id`.
    public let device: String
    let controller: RadioController

    /// - Throws: `CancellationError`, also when the radio has stopped.
    public func nextLink() async throws -> Link {
        while true {
            if let link = try await controller.nextLink(of: device).take() { return link }
        }
    }

    public func linkWorks() async { await controller.subscribed(device) }
    public func linkServed() async { await controller.served(device) }
    public func linkReleased() async { await controller.released(device) }
    public func securityDemanded() async { await controller.securityDemanded(device) }
    public func use(_ parameters: ConnectionParameters) async { await controller.use(parameters, for: device) }
}

/// Links: accepted, secured, handed over.
extension RadioController {
    /// The links of a configured device, under whatever address it is; encrypted before they are handed over where its security asks for that.
    public nonisolated func links(of device: String) -> DeviceLinkSource { DeviceLinkSource(device: device, controller: self) }

    /// The device's driver has subscribed to its heartbeat (a cuff's: to its measurements). A link on which that does not happen counts as failed.
    public func subscribed(_ device: String) { feed(.subscribed(device: device)) }

    /// The device's driver has got what the device linked for. A cuff hangs up as soon as it has sent its readings, and is no flapping peer for that.
    public func served(_ device: String) { feed(.served(device: device)) }

    /// The device asked for more security than its link has (ATT errors 0x05, 0x0C, 0x0F): its link is made anew, encrypted this time.
    public func securityDemanded(_ device: String) { feed(.securityDemanded(device: device)) }

    /// The device's driver wants other parameters for the link that is up. The kernel changes those of a live link from revision 23 of its management interface on.
    public func use(_ parameters: ConnectionParameters, for device: String) { feed(.parametersWanted(device: device, parameters)) }

    /// The device's driver has let go of its link and wants no other until it asks.
    public func released(_ device: String) {
        guard mailboxes[device]?.isInUse == true else { return }
        mailboxes[device]?.isInUse = false
        if let address = machine.address(of: device) { controller.assumeIsolated { $0.channelClosed(address) } }
        feed(.linkReleased(device: device))
    }

    // MARK: Accepting

    func accept(_ incoming: IncomingLink) {
        guard life == .running, let link = incoming.take() else { return }
        let address = incoming.address
        // What was accepted before is over, or this would not have come.
        if let security = securities.removeValue(forKey: address) { loop.spawn { await security.close() } }
        accepted[address] = LinkBox(link, address: address)
        controller.assumeIsolated { $0.channelOpened(address) }
        feed(.linkAccepted(address))
    }

    func drop(_ address: BluetoothAddress) {
        if let security = securities.removeValue(forKey: address) { loop.spawn { await security.close() } }
        if accepted.removeValue(forKey: address) != nil { controller.assumeIsolated { $0.channelClosed(address) } }
        for (device, mailbox) in mailboxes {
            if case .link(let box) = mailbox.state, box.address == address { mailboxes[device]?.state = .empty }
        }
    }

    // MARK: Security

    func secure(_ device: String, _ address: BluetoothAddress, mayPair: Bool) {
        guard let box = accepted[address], let policy = configured[device]?.pairing else { return feed(.securityEnded(device: device, .linkFailed)) }
        do {
            if mayPair { try allowPairing(address, device, policy) }
            guard let security = try box.security(transport) else { return feed(.securityEnded(device: device, .linkFailed)) }
            securities[address] = security
            loop.spawn {
                let outcome: SecurityOutcome
                do {
                    try await security.raise(to: policy.level, timeout: Self.raiseTimeout)
                    outcome = .encrypted
                } catch {
                    outcome = Self.outcome(of: error)
                }
                // It holds the channel open: nobody but the driver may.
                await security.close()
                await self.secured(device, box, outcome)
            }
        } catch let error as PasskeyError {
            onEvent(.passkeyMissing(device: device, error))
            feed(.securityEnded(device: device, .authenticationFailed))
        } catch {
            onEvent(.oddity("the link to \(device) cannot be secured: \(error)"))
            feed(.securityEnded(device: device, .linkFailed))
        }
    }

    private func secured(_ device: String, _ box: LinkBox, _ outcome: SecurityOutcome) {
        // A later link of the device has its own.
        guard accepted[box.address] === box else { return }
        securities[box.address] = nil
        controller.assumeIsolated { $0.forbidPairing(box.address) }
        feed(.securityEnded(device: device, outcome))
    }

    func allowPairing(_ address: BluetoothAddress, _ device: String, _ policy: PairingPolicy) throws(PasskeyError) {
        let passkey = try policy.readPasskey(readSecret)
        controller.assumeIsolated { $0.allowPairing(address, policy: policy, passkey: passkey) }
    }

    /// What a failure to raise the security says of the keys (`bt_to_errno` of the HCI reason).
    static func outcome(of error: any Error) -> SecurityOutcome {
        guard let error = error as? BluetoothError, case .securityRefused(let cause) = error.reason else { return .linkFailed }
        switch cause.code {
        // 0x05 authentication failure, 0x06 key missing.
        case EACCES, EPERM, EBADE: return .authenticationFailed
        case ENOSYS: return .unexplained
        default: return .linkFailed
        }
    }

    // MARK: Handing over

    func deliver(_ device: String, _ address: BluetoothAddress) {
        guard let box = accepted.removeValue(forKey: address) else { return }
        if case .waiter(_, let continuation) = mailboxes[device]?.state {
            mailboxes[device] = Mailbox(state: .empty, isInUse: true)
            continuation.resume(returning: box)
        } else {
            mailboxes[device, default: Mailbox()].state = .link(box)
        }
    }

    func nextLink(of device: String) async throws -> LinkBox {
        try Task.checkCancellation()
        guard life != .stopped else { throw CancellationError() }
        released(device)
        if case .link(let box) = mailboxes[device]?.state {
            mailboxes[device] = Mailbox(state: .empty, isInUse: true)
            return box
        }
        lastWaiter += 1
        let number = lastWaiter
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                mailboxes.removeValue(forKey: device)?.cancel()
                mailboxes[device] = Mailbox(state: .waiter(number, continuation))
            }
        } onCancel: {
            // Runs on whatever thread cancels: the loop brings it back in order.
            Task(executorPreference: loop) { await self.abandon(number, device) }
        }
    }

    private func abandon(_ number: UInt64, _ device: String) {
        guard case .waiter(number, let continuation) = mailboxes[device]?.state else { return }
        mailboxes[device]?.state = .empty
        continuation.resume(throwing: CancellationError())
    }
}
