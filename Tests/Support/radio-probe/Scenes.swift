import Platform
import Radio

/// What the probe wants to see, one after the other.
extension Probe {
    /// A link that is closed here comes again by itself.
    func reacceptance(_ address: BluetoothAddress) async { await link(address, "is linked again after a close") }

    func scan() async {
        events = []
        await controller?.beginScan()
        await expect("a scan ends by itself", within: .seconds(25)) { if case .scanEnded(_, nil) = $0 { true } else { false } }
    }

    /// A device that may not pair is refused, without a wait for any timeout.
    func refusedPairing(_ address: BluetoothAddress) async {
        events = []
        let begin = loop.now
        let error = await raise(address)
        guard let error = error as? BluetoothError, error.code == "link-security-refused", loop.now - begin < .seconds(15) else {
            return fail("\(address) is refused a pairing: \(String(describing: error)) after \(loop.now - begin)")
        }
        note("\(address) is refused a pairing: \(error)")
        await expect("the refusal is told", within: .seconds(1)) { $0 == .pairingRefused(address) }
    }

    /// A pairing on demand, an encryption with its key, a wrong key, the right one again, and none.
    func pairing(_ address: BluetoothAddress) async {
        guard let controller else { return }
        events = []
        await controller.allowPairing(address)
        await raised(address, "is paired on demand")
        await expect("the pairing gives a key", within: .seconds(5)) { if case .newLongTermKey(let key) = $0 { key.address == address } else { false } }
        await controller.forbidPairing(address)
        events = []
        await raised(address, "is encrypted again with its key")
        if events.contains(where: { if case .newLongTermKey = $0 { true } else { false } }) { fail("the second encryption makes no other key") }

        let right = await controller.keys
        var wrong = BondKeys()
        for key in right.longTermKeys {
            if let key = LongTermKey(octets: key.octets.dropLast() + [key.octets.last! ^ 0xFF]) { wrong.add(key) }
        }
        await controller.bondsChanged(wrong)
        events = []
        let error = await raise(address)
        if let error = error as? BluetoothError, error.code == "link-security-refused" {
            note("\(address) is not encrypted with a wrong key: \(error)")
        } else {
            fail("\(address) is not encrypted with a wrong key: \(String(describing: error))")
        }
        await controller.bondsChanged(right)
        await raised(address, "is encrypted with the right key after a wrong one")

        await controller.unpair(address)
        await expect("the keys are forgotten", within: .seconds(45)) { $0 == .unpaired(address, .success) }
        await link(address, "is linked again after its keys were forgotten")
    }

    /// A device off the list is not linked by the kernel, and can be dialled; one that is not there ends with a timeout, and does not keep the next from being dialled.
    func dialling(_ address: BluetoothAddress) async {
        guard let controller else { return }
        events = []
        await controller.devicesChanged(addresses.filter { $0 != address }.map { ControllerDevice(address: $0) })
        await controller.disconnect(address)
        await expect("a device off the list is disconnected", within: .seconds(10)) {
            if case .disconnected(address, _) = $0 { true } else { false }
        }
        await router.linkEnded(address)
        let dialer = L2CAPDialer(loop: loop)
        await dial(dialer, address, "is dialled")
        let absent = BluetoothAddress("C0:00:00:00:00:99", kind: .random)!
        do {
            let link = try await dialer.connect(to: absent, timeout: .seconds(2))
            fail("nobody answers for \(link.peer)")
        } catch {
            if (error as? BluetoothError)?.code == "l2cap-connect-timeout" { note("\(error)") } else { fail("the dial of an absent device times out: \(error)") }
        }
        await dial(dialer, address, "is dialled after an absent one")
        await controller.devicesChanged(addresses.map { ControllerDevice(address: $0) })
    }

    func powerCycle() async {
        events = []
        await controller?.powerCycle()
        await expect("the controller is ready after a power cycle", within: .seconds(30)) { if case .ready = $0 { true } else { false } }
        for address in addresses { await router.linkEnded(address) }
        for address in addresses where mode != .privacy { await link(address, "is linked after the power cycle") }
    }

    /// The controller is taken away by whoever runs the probe, as soon as it says so, and another one is given.
    func replacement() async {
        events = []
        note("REPLACE THE CONTROLLER")
        await expect("the controller is removed", within: .seconds(30)) { if case .unavailable(.removed) = $0 { true } else { false } }
        for address in addresses { await router.linkEnded(address) }
        await expect("another controller is ready", within: .seconds(60)) { if case .ready = $0 { true } else { false } }
        for address in addresses { await link(address, "is linked by the other controller") }
    }

    /// A device that shows a passkey, of which the hub knows it: the key is authenticated.
    func passkey(_ address: BluetoothAddress) async {
        guard let controller else { return }
        events = []
        await controller.allowPairing(address)
        if let error = await raise(address, to: .high) { return fail("\(address) is paired with its passkey: \(error)") }
        await expect("the passkey gives an authenticated key", within: .seconds(5)) {
            if case .newLongTermKey(let key) = $0 { key.address == address && key.kind.isAuthenticated } else { false }
        }
        await raised(address, "is encrypted again with its authenticated key")
    }

    /// A device at a private address: found in a scan, paired by that address, known by its identity from then on.
    func privacy(_ identity: BluetoothAddress) async {
        guard let controller else { return }
        events = []
        await controller.beginScan()
        await expect("a device at a private address is heard", within: .seconds(12)) {
            if case .found(let advertisement) = $0 { advertisement.address.isResolvablePrivate } else { false }
        }
        let heard = events.lazy.compactMap { if case .found(let advertisement) = $0, advertisement.address.isResolvablePrivate { advertisement } else { nil } }
        guard let found = heard.first else { return }
        await controller.endScan()
        await controller.allowPairing(found.address)
        do {
            let link = try await L2CAPDialer(loop: loop).connect(to: found.address)
            if let error = await raise(link, found.address, to: .medium) { return fail("\(found.address) is paired: \(error)") }
        } catch {
            return fail("\(found.address) is dialled: \(error)")
        }
        await expect("the pairing tells who it is", within: .seconds(5)) {
            if case .newIdentityResolvingKey(let key, _) = $0 { key.address == identity } else { false }
        }
        await expect("the key is its identity's", within: .seconds(5)) { if case .newLongTermKey(let key) = $0 { key.address == identity } else { false } }
        await controller.devicesChanged([ControllerDevice(address: identity)])
        await raised(identity, "is linked by the kernel behind its private address and encrypted with its key")
        // The keys are loaded anew: the kernel of the next start knows nothing else.
        await powerCycle()
        await raised(identity, "is known again after a power cycle")
    }

    private func raised(_ address: BluetoothAddress, _ what: String) async {
        if let error = await raise(address) { fail("\(address) \(what): \(error)") } else { note("\(address) \(what)") }
    }

    private func dial(_ dialer: L2CAPDialer, _ address: BluetoothAddress, _ what: String) async {
        do {
            let link = try await dialer.connect(to: address)
            let client = GATTClient(descriptor: link.takeDescriptor(), loop: loop)
            try await client.start { _ in }
            let mtu = try await client.exchangeMTU()
            await client.close("the probe has seen enough")
            note("\(address) \(what); ATT_MTU \(mtu)")
        } catch {
            fail("\(address) \(what): \(error)")
        }
    }
}
