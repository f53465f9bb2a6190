extension GATTClient {
    // MARK: Subscriptions

    /// Has the peer send the characteristic's value of itself.
    ///
    /// The handler is registered before the peer is asked; what came for it since the start is handed over first. It runs on the loop's thread, in the order of
    /// the air. A second subscription replaces the handler. When the call fails, what was there before stays.
    ///
    /// - Throws: `GATTError`, also when the characteristic lacks the property or its configuration descriptor; `CancellationError`.
    public func subscribe(to characteristic: GATTCharacteristic, as kind: SubscriptionKind,
                          handler: @escaping @Sendable (ValueUpdate) -> Void) async throws {
        for (property, name) in kind.properties where !characteristic.properties.contains(property) {
            throw GATTError(.notSupported(characteristic.uuid, name))
        }
        let configuration = try await clientConfiguration(of: characteristic)
        let former = register(characteristic.valueHandle, handler)
        do {
            try await write(kind.configuration, to: configuration)
        } catch {
            router.restore(characteristic.valueHandle, former)
            throw error
        }
    }

    /// Has the peer stop. The handler gets what comes until the peer has said so; what comes after that is discarded.
    ///
    /// - Throws: `GATTError`, or `CancellationError`; the handler stays then.
    public func unsubscribe(from characteristic: GATTCharacteristic) async throws {
        try await write([0x00, 0x00], to: try await clientConfiguration(of: characteristic))
        router.retire(characteristic.valueHandle)
    }

    /// Finds the descriptor by its UUID: a lone descriptor may be something else.
    private func clientConfiguration(of characteristic: GATTCharacteristic) async throws -> AttributeHandle {
        if let known = configurations[characteristic.valueHandle] { return known }
        let known = database?.characteristic(valueHandle: characteristic.valueHandle)
        let descriptors = if let known, known.characteristic == characteristic { known.descriptors } else { try await discoverDescriptors(of: characteristic) }
        guard let found = descriptors.first(where: { $0.uuid == .clientCharacteristicConfiguration }) else {
            throw GATTError(.noClientConfiguration(characteristic.uuid))
        }
        remember(configuration: found.handle, of: characteristic.valueHandle)
        return found.handle
    }

    /// Sets the handler for a handle and gives it what was kept.
    private func register(_ handle: AttributeHandle, _ handler: @escaping UpdateRouter.Handler) -> UpdateRouter.Handler? {
        let former = router.register(handle, handler)
        for update in router.takeKept(handle) { handler(update) }
        return former
    }

    /// Keeps the handle of the descriptor that configures a characteristic.
    func remember(configuration: AttributeHandle, of handle: AttributeHandle) { configurations[handle] = configuration }
}
