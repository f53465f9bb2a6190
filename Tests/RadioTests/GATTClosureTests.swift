import Glibc
import Platform
import Testing

@testable import Radio

@Suite("The end of a bearer")
struct GATTClosureTests {
    @Test("what breaks the protocol while a read is open closes the bearer for that reason", arguments: [
        ("13", ATTViolation.mismatchedResponse(.writeResponse, to: .readRequest)),
        ("0D 01", .mismatchedResponse(.readBlobResponse, to: .readRequest)),
        ("01 12 03 00 01", .mismatchedError(names: .writeRequest, open: .readRequest)),
        ("01 0A 03", .malformed(opcode: .errorResponse, fault: "ends before its attribute handle")),
        ("1B 03", .malformed(opcode: .handleValueNotification, fault: "ends before its attribute handle")),
        ("1D", .malformed(opcode: .handleValueIndication, fault: "ends before its attribute handle")),
        ("23 03 00 05 00 01", .malformed(opcode: .multipleHandleValueNotification, fault: "ends before its attribute value")),
        ("1E", .unsolicitedConfirmation),
        ("0B 00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F 10 11 12 13 14 15 16", .oversized(length: 24, mtu: 23)),
        ("52 00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F 10 11 12 13 14 15 16", .oversized(length: 24, mtu: 23)),
    ])
    func violations(pdu: String, violation: ATTViolation) throws {
        try converse([.expects("0A 03 00"), .sends(pdu)]) { client, _ async throws in
            let error = await gattFailure { _ = try await client.read(3) }
            #expect(error == GATTError(.closed(.violation(violation))))
            #expect(error?.code == "att-violation")
        }
    }

    @Test("a response while nothing is open closes the bearer", arguments: ["0B 01", "13", "03 05 02", "01 0A 03 00 0A", "21"])
    func unsolicited(pdu: String) throws {
        try converse([.sends(pdu)]) { client, _ async throws in
            await settle(client)
            #expect(await client.closure == .violation(.unsolicitedResponse(ATTOpcode(rawValue: hex(pdu)[0]))))
        }
    }

    @Test("a second response to one request closes the bearer")
    func twice() throws {
        try converse([.expects("0A 03 00"), .sends("0B 01"), .sends("0B 01")]) { client, _ async throws in
            #expect(try await client.read(3) == [1])
            #expect(await client.closure == .violation(.unsolicitedResponse(.readResponse)))
        }
    }

    @Test("a second indication before the first is confirmed closes the bearer")
    func secondIndication() throws {
        try converse([.sends("1D 03 00 01"), .sends("1D 03 00 02")]) { client, _ async throws in
            await settle(client)
            #expect(await client.closure == .violation(.indicationBeforeConfirmation(3)))
        }
    }

    @Test("a PDU longer than the buffer is seen in its whole length")
    func beyondTheBuffer() throws {
        try converse([.sendsOctets([0x1B, 0x03, 0x00] + [UInt8](repeating: 0, count: 700))]) { client, _ async throws in
            await settle(client)
            #expect(await client.closure == .violation(.oversized(length: 703, mtu: 23)))
        }
    }

    @Test("requests are answered as by a device without attributes, and unknown ones refused by name", arguments: [
        ("04 01 00 FF FF", "01 04 01 00 0A"), ("06 01 00 FF FF 00 28 0F 18", "01 06 01 00 0A"), ("08 01 00 FF FF 00 2A", "01 08 01 00 0A"),
        ("10 01 00 FF FF 00 28", "01 10 01 00 0A"), ("10 00 00 FF FF 00 28", "01 10 00 00 01"), ("04 05 00 04 00", "01 04 05 00 01"),
        ("0A 03 00", "01 0A 03 00 01"), ("0C 03 00 00 00", "01 0C 03 00 01"), ("12 03 00 01", "01 12 03 00 01"), ("0E 03 00 04 00", "01 0E 03 00 01"),
        ("20 03 00 04 00", "01 20 03 00 01"), ("16 03 00 00 00 01", "01 16 03 00 06"), ("18 01", "01 18 00 00 06"),
        ("0A", "01 0A 00 00 04"), ("10 01 00 FF FF 00", "01 10 00 00 04"), ("02 05", "01 02 00 00 04"),
        ("3F 01 02", "01 3F 00 00 06"), ("99", "01 99 00 00 06"), ("00", "01 00 00 00 06"),
    ])
    func requests(request: String, answer: String) throws {
        try converse([.sends(request), .expects(answer), .expects("0A 09 00"), .sends("0B")]) { client, _ async throws in
            // The answer goes first, as the request came first.
            await settle(client)
            _ = try await client.read(9)
        }
    }

    @Test("commands are ignored, known or not, whole or not", arguments: ["52 03 00 01", "52", "D2 03 00", "7F 01", "C0"])
    func commands(command: String) throws {
        try converse([.expects("0A 09 00"), .sends(command), .sends("0B 01")]) { client, _ async throws in
            #expect(try await client.read(9) == [1])
        }
    }

    @Test("when the peer hangs up in the middle, what it had sent is delivered first, and every waiting call ends")
    func hangup() throws {
        try converse([
            .expects("12 04 00 01 00"), .sends("13"), .expects("0A 09 00"), .sends("1B 03 00 01"), .sends("1B 03 00 02"), .hangsUp,
        ]) { client, recorder async throws in
            try await client.subscribe(to: .known(client), as: .notifications, handler: recorder.record)
            async let first = gattFailure { _ = try await client.read(9) }
            async let second = gattFailure { _ = try await client.read(10) }
            #expect(await first == GATTError(.closed(.hangup)))
            #expect(await second == GATTError(.closed(.hangup)))
            #expect(recorder.values.map(\.value) == [[1], [2]])
        }
    }

    @Test("a link that breaks with our PDUs unread gives out what it had brought before the error is told")
    func reset() throws {
        let loop = VirtualLoop()
        let (ours, theirs) = try packetPair()
        let client = GATTClient(descriptor: Descriptor(owning: ours), loop: loop)
        let recorder = UpdateRecorder()
        try loop.run {
            try await client.start(onClose: recorder.ended)
            let characteristic = await GATTCharacteristic.known(client)
            async let subscribed = gattFailure { try await client.subscribe(to: characteristic, as: .notifications, handler: recorder.record) }
            await settle(client)
            let sent = hex("1B 03 00 01")
            #expect(send(theirs, sent, sent.count, 0) == sent.count)
            // Closed with the subscription unread: the kernel says ECONNRESET at our end.
            _ = close(theirs)
            #expect(await subscribed == GATTError(.closed(.transport(SystemError("recv", code: ECONNRESET)))))
        }
        loop.advance(by: .seconds(1))
        #expect(recorder.values.map(\.value) == [[1]])
        #expect(recorder.closures == [.transport(SystemError("recv", code: ECONNRESET))])
    }

    @Test("a send that fails closes the bearer after what had come was read")
    func sendFails() throws {
        let loop = VirtualLoop()
        let (ours, theirs) = try packetPair()
        let client = GATTClient(descriptor: Descriptor(owning: ours), loop: loop)
        let recorder = UpdateRecorder()
        let sent = hex("1B 03 00 01")
        #expect(send(theirs, sent, sent.count, 0) == sent.count)
        _ = close(theirs)
        try loop.run {
            try await client.start(onClose: recorder.ended)
            let error = await gattFailure { try await client.subscribe(to: .known(client), as: .notifications, handler: recorder.record) }
            #expect(error == GATTError(.closed(.transport(SystemError("send", code: EPIPE)))))
        }
        loop.advance(by: .seconds(1))
        #expect(recorder.values.map(\.value) == [[1]])
        #expect(recorder.closures.count == 1)
    }

    @Test("closing ends every waiting call, is reported once, and the descriptor is closed")
    func closing() throws {
        let loop = VirtualLoop()
        let (ours, theirs) = try packetPair()
        let peer = Descriptor(owning: theirs)
        let client = GATTClient(descriptor: Descriptor(owning: ours), loop: loop)
        let recorder = UpdateRecorder()
        try loop.run {
            try await client.start(onClose: recorder.ended)
            async let first = gattFailure { _ = try await client.read(3) }
            await settle(client)
            async let second = gattFailure { _ = try await client.discoverPrimaryServices() }
            await settle(client)
            await client.close("enough")
            await client.close("more than enough")
            #expect(await first == GATTError(.closed(.requested("enough"))))
            #expect(await second == GATTError(.closed(.requested("enough"))))
            #expect(await gattFailure { _ = try await client.exchangeMTU() } == GATTError(.closed(.requested("enough"))))
            #expect(await gattFailure { try await client.start { _ in } } == GATTError(.alreadyStarted))
        }
        loop.advance(by: .seconds(60))
        #expect(recorder.closures == [.requested("enough")])
        #expect(try peer.read(upTo: 100) == hex("0A 03 00"))
        #expect(try peer.read(upTo: 100) == [])
    }

    @Test("before the start nothing can be asked")
    func notStarted() throws {
        let loop = VirtualLoop()
        let (ours, theirs) = try packetPair()
        let peer = Descriptor(owning: theirs)
        let client = GATTClient(descriptor: Descriptor(owning: ours), loop: loop)
        try loop.run {
            #expect(await gattFailure { _ = try await client.read(3) } == GATTError(.notStarted))
            #expect(await gattFailure { try await client.writeWithoutResponse([], to: 3) } == GATTError(.notStarted))
            await client.close()
            #expect(await gattFailure { try await client.start { _ in } } == GATTError(.closed(.requested("no longer needed"))))
        }
        #expect(try peer.read(upTo: 100) == [])
    }

    @Test("an idle client has no timer, and one that has been answered neither")
    func idle() throws {
        let loop = VirtualLoop()
        let (ours, theirs) = try packetPair()
        let peer = ScriptedPeer([.expects("0A 03 00"), .waits(.seconds(2)), .sends("0B 01")], descriptor: Descriptor(owning: theirs), loop: loop)
        let client = GATTClient(descriptor: Descriptor(owning: ours), loop: loop)
        let start = loop.now
        do {
            try loop.run {
                try await client.start { _ in }
                try peer.start()
                _ = try await client.read(3)
                // Never ends: the loop says so as soon as no timer stands.
                for await _ in AsyncStream<Void>.makeStream().stream {}
            }
        } catch let stalled as VirtualLoop.Stalled {
            #expect(stalled.at - start == .seconds(2))
        }
        #expect(peer.rest.isEmpty && peer.faults.isEmpty)
        try loop.run { await client.close() }
        peer.close()
    }
}
