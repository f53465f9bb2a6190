extension GATTClient {
    // MARK: MTU

    /// Exchanges the MTU, once on a bearer (Core Vol 3 Part G 4.3.1). A peer that does not support the exchange keeps 23.
    ///
    /// - Returns: ATT_MTU afterwards, also when it had been exchanged before.
    /// - Throws: `GATTError`, or `CancellationError`.
    public func exchangeMTU() async throws -> UInt16 {
        guard needsMTUExchange else { return mtu }
        let response = try await request(.exchangeMTURequest(clientReceiveMTU: receiveMTU))
        switch response {
        case .exchangeMTUResponse, .errorResponse(_, _, .requestNotSupported): return mtu
        default: throw Self.failure(response, on: .none)
        }
    }

    // MARK: Discovery

    /// Discovers all primary services, in the order of their handles.
    ///
    /// - Throws: `GATTError`, or `CancellationError`.
    public func discoverPrimaryServices() async throws -> [GATTService] {
        try await discover(PrimaryServicesPage(), in: ATTHandleRange(start: .first, end: .last))
    }

    /// Discovers the primary services of one UUID; an empty list when there are none.
    ///
    /// - Throws: `GATTError`, or `CancellationError`.
    public func discoverPrimaryServices(_ uuid: BluetoothUUID) async throws -> [GATTService] {
        try await discover(PrimaryServicesByUUIDPage(uuid: uuid), in: ATTHandleRange(start: .first, end: .last))
    }

    /// Discovers all characteristics of a service, in the order of their handles.
    ///
    /// - Throws: `GATTError`, or `CancellationError`.
    public func discoverCharacteristics(of service: GATTService) async throws -> [GATTCharacteristic] {
        let page = CharacteristicsPage(serviceEnd: service.endHandle)
        let range = ATTHandleRange(start: service.startHandle, end: service.endHandle)
        return page.characteristics(from: try await discover(page, in: range))
    }

    /// Discovers the descriptors of a characteristic; an empty list, without a request, when its value is its last attribute.
    ///
    /// - Throws: `GATTError`, or `CancellationError`.
    public func discoverDescriptors(of characteristic: GATTCharacteristic) async throws -> [GATTDescriptor] {
        guard let first = characteristic.valueHandle.next else { return [] }
        return try await discover(DescriptorsPage(), in: ATTHandleRange(start: first, end: characteristic.endHandle))
    }

    private func discover<Page: DiscoveryPage & Sendable>(_ page: Page, in range: ATTHandleRange) async throws -> [Page.Item] {
        var discovery = Discovery(page, in: range)
        while true {
            switch discovery.step {
            case .request(let pdu): try discovery.receive(try await request(pdu))
            case .finished(let items): return items
            }
        }
    }

    // MARK: Values

    /// Reads a value whole: with Read, and with Read Blob as long as a response comes full (Core Vol 3 Part G 4.8.1, 4.8.3).
    ///
    /// - Returns: at most 512 octets.
    /// - Throws: `GATTError`, or `CancellationError`.
    public func read(_ handle: AttributeHandle) async throws -> [UInt8] {
        var read = LongRead(handle)
        while true {
            switch read.step {
            case .request(let pdu):
                // The exchange may come between question and answer. The smaller MTU errs towards one request too many, never towards a value cut short.
                let before = mtu
                let response = try await request(pdu)
                try read.receive(response, mtu: Int(min(before, mtu)))
            case .finished(let value):
                return value
            }
        }
    }

    /// Writes a value and waits until the peer has taken it (Core Vol 3 Part G 4.9.3).
    ///
    /// - Parameter value: at most ATT_MTU - 3 octets, and no value has more than 512.
    /// - Throws: `GATTError`, or `CancellationError`: then the peer may have taken it or not.
    public func write(_ value: [UInt8], to handle: AttributeHandle) async throws {
        let response = try await request(.writeRequest(handle, value: value))
        guard case .writeResponse = response else { throw Self.failure(response, on: handle) }
    }

    /// Sends a value; whether the peer takes it is not told (Core Vol 3 Part G 4.9.1).
    ///
    /// - Parameter value: at most ATT_MTU - 3 octets, and no value has more than 512.
    /// - Throws: `GATTError` when it cannot be sent.
    public func writeWithoutResponse(_ value: [UInt8], to handle: AttributeHandle) throws {
        try command(.writeCommand(handle, value: value))
    }

    // MARK: Subscriptions

    /// Has the peer send the characteristic's value of itself.
    ///
    /// The handler is registered before the peer is asked; what came for it since the start is handed over first. It runs on the loop's thread, in the order of
    /// the air. A second subscription replaces the handler. When the call fails, what was there before stays.
    ///
    /// - Throws: `GATTError`, also when the characteristic lacks the property or its configuration descriptor; `CancellationError`.
    public func subscribe(to characteristic: GATTCharacteristic, as kind: SubscriptionKind,
                          handler: @escaping @Sendable (ValueUpdate) -> Void) async throws {
        guard characteristic.properties.contains(kind.property) else {
            throw GATTError(.notSupported(characteristic.uuid, kind == .notifications ? "notify" : "indicate"))
        }
        let configuration = try await clientConfiguration(of: characteristic)
        let former = register(characteristic.valueHandle, handler)
        do {
            try await write(kind.configuration, to: configuration)
        } catch {
            restore(characteristic.valueHandle, former)
            throw error
        }
    }

    /// Has the peer stop. The handler gets what comes until the peer has said so; what comes after that is discarded.
    ///
    /// - Throws: `GATTError`, or `CancellationError`; the handler stays then.
    public func unsubscribe(from characteristic: GATTCharacteristic) async throws {
        try await write([0x00, 0x00], to: try await clientConfiguration(of: characteristic))
        retire(characteristic.valueHandle)
    }

    /// Finds the descriptor by its UUID: a lone descriptor may be something else.
    private func clientConfiguration(of characteristic: GATTCharacteristic) async throws -> AttributeHandle {
        if let known = knownConfiguration(of: characteristic.valueHandle) { return known }
        let descriptors = try await discoverDescriptors(of: characteristic)
        guard let found = descriptors.first(where: { $0.uuid == .clientCharacteristicConfiguration }) else {
            throw GATTError(.noClientConfiguration(characteristic.uuid))
        }
        remember(configuration: found.handle, of: characteristic.valueHandle)
        return found.handle
    }

    /// The error for a response that is not the one asked for.
    private static func failure(_ response: ATTPDU, on handle: AttributeHandle) -> GATTError {
        if case .errorResponse(let request, _, let code) = response { return GATTError(.att(code, request: request, handle: handle)) }
        return GATTError(.implausible(response.opcode, "answers another procedure"))
    }
}
