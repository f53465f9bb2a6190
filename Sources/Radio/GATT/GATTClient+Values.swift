extension GATTClient {
    // MARK: Reading

    /// Reads a value whole: with Read, and with Read Blob as long as a response comes full (Core Vol 3 Part G 4.8.1, 4.8.3; for descriptors 4.12.1, 4.12.2).
    ///
    /// - Returns: at most 512 octets.
    /// - Throws: `GATTError`, or `CancellationError`.
    public func read(_ handle: AttributeHandle) async throws -> [UInt8] {
        try await perform(LongRead(handle))
    }

    /// Reads what of a value begins at an offset, with Read Blob alone (Core Vol 3 Part G 4.8.3).
    ///
    /// - Throws: `GATTError`, Invalid Offset among them when the value is shorter; or `CancellationError`.
    public func readLong(_ handle: AttributeHandle, from offset: UInt16 = 0) async throws -> [UInt8] {
        try await perform(LongRead(handle, from: offset))
    }

    private func perform(_ read: LongRead) async throws -> [UInt8] {
        var read = read
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

    /// Reads every value of one type in a range of handles, with no knowledge of the database (Core Vol 3 Part G 4.8.2).
    ///
    /// - Parameter service: whose handles are the range; all there are without one.
    /// - Returns: in the order of the handles; empty when there is none. A value that is not whole is to be read by its handle.
    /// - Throws: `GATTError`, also when the peer refuses one of the values; `CancellationError`.
    public func read(using uuid: BluetoothUUID, in service: GATTService? = nil) async throws -> [GATTValue] {
        let range = service.map { ATTHandleRange(start: $0.startHandle, end: $0.endHandle) } ?? .everything
        return try await discover(ValuesByUUIDPage(uuid: uuid, mtu: Int(mtu)), in: range)
    }

    /// Reads several values in one response, end to end: where each begins is for the caller to know (Core Vol 3 Part G 4.8.4).
    ///
    /// - Parameter handles: two or more.
    /// - Returns: at most ATT_MTU - 1 octets; the rest is cut.
    /// - Throws: `GATTError`, whose handle is the one that the peer names; `CancellationError`.
    public func readMultiple(_ handles: [AttributeHandle]) async throws -> [UInt8] {
        guard handles.count >= 2 else { throw GATTError(.tooFewHandles(handles.count)) }
        let response = try await request(.readMultipleRequest(handles))
        guard case .readMultipleResponse(let values) = response else { throw Self.failureOfMany(response, handles) }
        return values
    }

    /// Reads several values in one response, each with its length (Core Vol 3 Part G 4.8.5).
    ///
    /// - Parameter handles: two or more.
    /// - Returns: one for each handle, in that order; what the response had no room for is not whole.
    /// - Throws: `GATTError`, whose handle is the one that the peer names; `CancellationError`.
    public func readMultipleVariable(_ handles: [AttributeHandle]) async throws -> [GATTValue] {
        guard handles.count >= 2 else { throw GATTError(.tooFewHandles(handles.count)) }
        let response = try await request(.readMultipleVariableRequest(handles))
        guard case .readMultipleVariableResponse(let octets) = response else { throw Self.failureOfMany(response, handles) }
        var reader = ATTReader(octets[...])
        let values = handles.map { handle in
            guard let length = try? reader.number16("value length") else { return GATTValue(handle: handle, value: [], isWhole: false) }
            let isWhole = Int(length) <= reader.remaining
            let value = (try? reader.octets(min(Int(length), reader.remaining), "value")) ?? []
            return GATTValue(handle: handle, value: value, isWhole: isWhole)
        }
        guard reader.remaining == 0 else { throw GATTError(.implausible(response.opcode, "has \(reader.remaining) octets too many")) }
        return values
    }

    /// The error for several handles: the peer's own word for which it was, if it is one of them.
    private static func failureOfMany(_ response: ATTPDU, _ handles: [AttributeHandle]) -> GATTError {
        guard case .errorResponse(_, let named, _) = response, handles.contains(named) else { return failure(response, on: handles[0]) }
        return failure(response, on: named)
    }

    // MARK: Writing

    /// Writes a value and waits until the peer has taken it (Core Vol 3 Part G 4.9.3; for descriptors 4.12.3).
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

    /// Sends a value with a signature, by which the peer knows where it comes from though the link is not encrypted (Core Vol 3 Part G 4.9.2). On an encrypted
    /// link it goes without, as it must.
    ///
    /// - Parameters:
    ///   - value: at most ATT_MTU - 15 octets.
    ///   - key: that was given to this peer when it was paired.
    ///   - counter: greater than with every earlier write under this key: whoever keeps the key stores the next one before calling.
    /// - Throws: `GATTError` when it cannot be sent.
    public func writeSigned(_ value: [UInt8], to handle: AttributeHandle, key: SigningKey, counter: UInt32) throws {
        guard !isEncrypted() else { return try writeWithoutResponse(value, to: handle) }
        let unsigned = ATTPDU.signedWriteCommand(handle, value: value, signature: []).octets
        try command(.signedWriteCommand(handle, value: value, signature: key.signature(of: unsigned, counter: counter)))
    }

    // MARK: Queued writes

    /// Writes a value of any length, in as many parts as it takes; it takes effect as a whole (Core Vol 3 Part G 4.9.4; for descriptors 4.12.4).
    ///
    /// - Throws: `GATTError`: nothing was written then, except when the link broke at the very last request; `CancellationError`.
    public func writeLong(_ value: [UInt8], to handle: AttributeHandle, offset: UInt16 = 0) async throws {
        try await writeReliably([GATTWrite(value, to: handle, offset: offset)])
    }

    /// Writes several values, all or none, in their order (Core Vol 3 Part G 4.9.5). One queued write at a time; the characteristics must allow reliable writes, see
    /// `supportsReliableWrites(_:)`.
    ///
    /// - Throws: `GATTError`: nothing was written then, except when the link broke at the very last request; `CancellationError`: the queue is discarded,
    ///   unless the last request was with the peer already.
    public func writeReliably(_ writes: [GATTWrite]) async throws {
        var write = try QueuedWrite(writes)
        guard !isQueueing else { throw GATTError(.procedureInProgress("queued write")) }
        isQueueing = true
        do {
            while case .request(let pdu) = try write.step(mtu: Int(mtu)) { write.receive(try await request(pdu)) }
        } catch is CancellationError {
            // What was prepared must not take effect with the next queue: it is discarded before there can be one.
            loop.spawn { await self.discardQueue() }
            throw CancellationError()
        } catch let error as GATTError where error.endsQueue {
            isQueueing = false
            throw error
        } catch {
            // Refused on this side in the middle of the queue: by a changed database, or for want of security.
            await loop.spawn { await self.discardQueue() }.value
            throw error
        }
        isQueueing = false
    }

    private func discardQueue() async {
        // Whatever the peer says to it: there is nothing more that could be done.
        _ = try? await request(.executeWriteRequest(flags: 0x00))
        isQueueing = false
    }

    /// Whether a characteristic's extended properties allow reliable writes (Core Vol 3 Part G 3.3.3.1).
    ///
    /// - Throws: `GATTError`, or `CancellationError`.
    public func supportsReliableWrites(_ characteristic: GATTCharacteristic) async throws -> Bool {
        guard characteristic.properties.contains(.extendedProperties) else { return false }
        let descriptors = try await discoverDescriptors(of: characteristic)
        guard let extended = descriptors.first(where: { $0.uuid == .characteristicExtendedProperties }) else { return false }
        return try await read(extended.handle).first.map { $0 & 0x01 != 0 } ?? false
    }
}
