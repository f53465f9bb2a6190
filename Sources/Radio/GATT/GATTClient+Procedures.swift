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
        try await discover(ServicesPage(type: .primaryService), in: .everything)
    }

    /// Discovers the primary services of one UUID; an empty list when there are none.
    ///
    /// - Parameter inFull: says the UUID in 16 octets though it has a short form: a few servers compare octets, and hold it so.
    /// - Throws: `GATTError`, or `CancellationError`.
    public func discoverPrimaryServices(_ uuid: BluetoothUUID, inFull: Bool = false) async throws -> [GATTService] {
        try await discover(PrimaryServicesByUUIDPage(uuid: uuid, inFull: inFull), in: .everything)
    }

    /// Discovers all secondary services, in the order of their handles.
    ///
    /// - Throws: `GATTError`, or `CancellationError`.
    public func discoverSecondaryServices() async throws -> [GATTService] {
        try await discover(ServicesPage(type: .secondaryService), in: .everything)
    }

    /// Finds the services that a service includes, in the order of their declarations (Core Vol 3 Part G 4.5.1).
    ///
    /// - Throws: `GATTError`, or `CancellationError`.
    public func discoverIncludedServices(of service: GATTService) async throws -> [GATTIncludedService] {
        var discovery = IncludedServicesDiscovery(in: ATTHandleRange(start: service.startHandle, end: service.endHandle))
        while true {
            switch discovery.step {
            case .request(let pdu): try discovery.receive(try await request(pdu, discovering: true))
            case .finished(let included): return included
            }
        }
    }

    /// Discovers all characteristics of a service, in the order of their handles.
    ///
    /// - Throws: `GATTError`, or `CancellationError`.
    public func discoverCharacteristics(of service: GATTService) async throws -> [GATTCharacteristic] {
        let page = CharacteristicsPage(serviceEnd: service.endHandle)
        let range = ATTHandleRange(start: service.startHandle, end: service.endHandle)
        return page.characteristics(from: try await discover(page, in: range))
    }

    /// Discovers the characteristics of one UUID in a service (Core Vol 3 Part G 4.6.2); where they end shows only when all are asked for.
    ///
    /// - Throws: `GATTError`, or `CancellationError`.
    public func discoverCharacteristics(_ uuid: BluetoothUUID, of service: GATTService) async throws -> [GATTCharacteristic] {
        try await discoverCharacteristics(of: service).filter { $0.uuid == uuid }
    }

    /// Discovers the descriptors of a characteristic; an empty list, without a request, when its value is its last attribute.
    ///
    /// - Throws: `GATTError`, or `CancellationError`.
    public func discoverDescriptors(of characteristic: GATTCharacteristic) async throws -> [GATTDescriptor] {
        guard let first = characteristic.valueHandle.next else { return [] }
        return try await discover(DescriptorsPage(), in: ATTHandleRange(start: first, end: characteristic.endHandle))
    }

    func discover<Page: DiscoveryPage & Sendable>(_ page: Page, in range: ATTHandleRange) async throws -> [Page.Item] {
        var discovery = Discovery(page, in: range)
        while true {
            switch discovery.step {
            case .request(let pdu): try discovery.receive(try await request(pdu, discovering: true))
            case .finished(let items): return items
            }
        }
    }

    /// The error for a response that is not the one asked for.
    static func failure(_ response: ATTPDU, on handle: AttributeHandle) -> GATTError {
        if case .errorResponse(let request, _, let code) = response { return GATTError(.att(code, request: request, handle: handle)) }
        return GATTError(.implausible(response.opcode, "answers another procedure"))
    }
}
