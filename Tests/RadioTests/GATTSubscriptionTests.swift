import Platform
import Testing

@testable import Radio

@Suite("Notifications and indications")
struct GATTSubscriptionTests {
    @Test("the configuration descriptor is found by its UUID, not as the lone or the first one")
    func byUUID() throws {
        try converse([
            .expects("04 04 00 05 00"), .sends("05 01 04 00 04 29 05 00 02 29"), .expects("12 05 00 01 00"), .sends("13"),
            .expects("12 05 00 00 00"), .sends("13"),
        ]) { client, recorder async throws in
            try await client.subscribe(to: .sample, as: .notifications, handler: recorder.record)
            // The second time it is known.
            try await client.unsubscribe(from: .sample)
        }
    }

    @Test("a lone descriptor of another type is not written to")
    func lone() throws {
        try converse([.expects("04 04 00 05 00"), .sends("05 01 04 00 04 29"), .expects("04 05 00 05 00"), .sends("01 04 05 00 0A")]) { client, recorder async throws in
            let error = await gattFailure { try await client.subscribe(to: .sample, as: .notifications, handler: recorder.record) }
            #expect(error == GATTError(.noClientConfiguration(.uuid16(0x2A37))))
        }
    }

    @Test("a characteristic without the property is refused before anything is sent")
    func property() throws {
        try converse([]) { client, recorder async throws in
            let silent = GATTCharacteristic(uuid: .uuid16(0x2A37), properties: [.read, .notify], declarationHandle: 2, valueHandle: 3, endHandle: 5)
            let error = await gattFailure { try await client.subscribe(to: silent, as: .indications, handler: recorder.record) }
            #expect(error == GATTError(.notSupported(.uuid16(0x2A37), "indicate")))
        }
    }

    @Test("values sent before the response to the subscription are delivered")
    func beforeTheResponse() throws {
        try converse([.expects("12 04 00 01 00"), .sends("1B 03 00 01"), .sends("1B 03 00 02"), .sends("13"), .sends("1B 03 00 03")]) { client, recorder async throws in
            try await client.subscribe(to: .known(client), as: .notifications, handler: recorder.record)
            #expect(recorder.values.map(\.value) == [[1], [2], [3]])
            #expect(recorder.values.allSatisfy { $0.handle == 3 && !$0.isIndication })
        }
    }

    @Test("values sent since the link came up are kept and handed over in order when their handler comes")
    func kept() throws {
        try converse([
            .sends("1B 03 00 01"), .sends("1B 07 00 02"), .sends("1D 03 00 03"), .expects("0A 09 00"), .sends("0B"), .expects("12 04 00 02 00"), .sends("1B 03 00 04"), .sends("13"),
            .expects("1E"),
        ]) { client, recorder async throws in
            _ = try await client.read(9)
            try await client.subscribe(to: .known(client), as: .indications, handler: recorder.record)
            #expect(recorder.values.map(\.value) == [[1], [3], [4]])
            #expect(recorder.values.map(\.isIndication) == [false, true, false])
            try await client.confirmIndication()
        }
    }

    @Test("of values that nobody asked for, the oldest notifications give way, and the indication stays")
    func bounded() throws {
        let flood: [ScriptStep] = (0..<100).map { .sendsOctets([0x1B, 0x03, 0x00, $0]) }
        try converse([.sends("1D 03 00 FF")] + flood + [.expects("0A 09 00"), .sends("0B"), .expects("12 04 00 01 00"), .sends("13")]) { client, recorder async throws in
            _ = try await client.read(9)
            try await client.subscribe(to: .known(client), as: .notifications, handler: recorder.record)
            let remaining: [[UInt8]] = [[0xFF]] + (37..<100).map { (number: UInt8) in [number] }
            #expect(recorder.values.map(\.value) == remaining)
            #expect(await client.lostUpdates == 37)
        }
    }

    @Test("an indication is confirmed when the caller says so, and not before")
    func confirmation() throws {
        try converse([
            .expects("12 04 00 02 00"), .sends("13"), .sends("1D 03 00 01"), .expects("0A 09 00"), .sends("0B"), .expects("1E"), .sends("1D 03 00 02"), .expects("1E"),
        ]) { client, recorder async throws in
            try await client.subscribe(to: .known(client), as: .indications, handler: recorder.record)
            _ = try await client.read(9)
            #expect(recorder.values == [ValueUpdate(handle: 3, value: [1], isIndication: true)])
            try await client.confirmIndication()
            await settle(client)
            try await client.confirmIndication()
            #expect(await gattFailure { try await client.confirmIndication() } == GATTError(.noIndication))
        }
    }

    @Test("a handler may confirm, write and close from within")
    func reentrant() throws {
        try converse([
            .expects("12 04 00 02 00"), .sends("13"), .sends("1D 03 00 01"), .expects("1E"), .expects("52 03 00 07"), .sends("1D 03 00 02"),
        ]) { client, recorder async throws in
            try await client.subscribe(to: .known(client), as: .indications) { update in
                recorder.record(update)
                client.assumeIsolated { client in
                    if update.value == [1] {
                        try? client.confirmIndication()
                        try? client.writeWithoutResponse([7], to: 3)
                    } else {
                        client.close("seen enough")
                        #expect(recorder.closures.isEmpty, "the end is not reported from within")
                    }
                }
            }
            await settle(client)
            #expect(await client.closure == .requested("seen enough"))
        }
    }

    @Test("an indication of handle 0 is confirmed and discarded, a notification of it ignored")
    func handleZero() throws {
        try converse([.sends("1B 00 00 01"), .sends("1D 00 00 01"), .expects("1E"), .sends("1D 03 00 02"), .expects("0A 09 00"), .sends("0B")]) { client, _ async throws in
            await settle(client)
            _ = try await client.read(9)
            #expect(await client.closure == nil)
        }
    }

    @Test("values of several handles in one PDU are delivered in their order")
    func multiple() throws {
        try converse([.expects("12 04 00 01 00"), .sends("13"), .sends("23 03 00 01 00 0A 07 00 00 00 03 00 02 00 0B 0C"), .expects("0A 09 00"), .sends("0B")]) { client, recorder async throws in
            try await client.subscribe(to: .known(client), as: .notifications, handler: recorder.record)
            _ = try await client.read(9)
            #expect(recorder.values.map(\.value) == [[0x0A], [0x0B, 0x0C]])
        }
    }

    @Test("a thousand notifications arrive in the order of the air")
    func order() throws {
        var script: [ScriptStep] = [.expects("12 04 00 01 00"), .sends("13")]
        for batch in 0..<10 {
            script += (0..<100).map { .sendsOctets([0x1B, 0x03, 0x00, UInt8(batch), UInt8($0)]) }
            script += [.expects("0A 09 00"), .sends("0B")]
        }
        try converse(script) { client, recorder async throws in
            try await client.subscribe(to: .known(client), as: .notifications, handler: recorder.record)
            for _ in 0..<10 { _ = try await client.read(9) }
            let sent: [[UInt8]] = (0..<1000).map { (number: Int) in [UInt8(number / 100), UInt8(number % 100)] }
            #expect(recorder.values.map(\.value) == sent)
        }
    }

    @Test("after unsubscribing the handler gets what came before the response, and nothing after")
    func unsubscribed() throws {
        try converse([
            .expects("12 04 00 02 00"), .sends("13"), .expects("12 04 00 00 00"), .sends("1B 03 00 01"), .sends("13"), .expects("0A 09 00"),
            .sends("1B 03 00 02"), .sends("1D 03 00 03"), .sends("0B"), .expects("1E"),
        ]) { client, recorder async throws in
            try await client.subscribe(to: .known(client), as: .indications, handler: recorder.record)
            try await client.unsubscribe(from: .sample)
            _ = try await client.read(9)
            #expect(recorder.values.map(\.value) == [[1]])
        }
    }

    @Test("a subscription that is refused leaves the former handler in place")
    func refused() throws {
        try converse([
            .expects("12 04 00 01 00"), .sends("13"), .expects("12 04 00 02 00"), .sends("01 12 04 00 0F"), .waits(.milliseconds(1)), .sends("1B 03 00 01"), .expects("0A 09 00"), .sends("0B"),
        ]) { client, recorder async throws in
            let other = UpdateRecorder()
            try await client.subscribe(to: .known(client), as: .notifications, handler: recorder.record)
            let error = await gattFailure { try await client.subscribe(to: .sample, as: .indications, handler: other.record) }
            #expect(error?.attCode == .insufficientEncryption)
            await settle(client)
            _ = try await client.read(9)
            #expect(recorder.values.map(\.value) == [[1]])
            #expect(other.values.isEmpty)
        }
    }

    @Test("a subscription that is not answered times out")
    func timeout() throws {
        try converse([.expects("12 04 00 01 00")]) { client, recorder async throws in
            #expect(await gattFailure { try await client.subscribe(to: .known(client), as: .notifications, handler: recorder.record) } == GATTError(.timeout(.writeRequest)))
        }
    }

    @Test("when all subscriptions are made, an indication that nobody wants is confirmed, kept or new")
    func complete() throws {
        try converse([
            .sends("1D 07 00 01 00 FF FF"), .expects("0A 09 00"), .sends("0B"), .expects("1E"), .sends("1D 07 00 01 00 FF FF"), .expects("1E"), .sends("1B 07 00 01"),
            .expects("0A 09 00"), .sends("0B"),
        ]) { client, _ async throws in
            _ = try await client.read(9)
            #expect(await client.isIndicationWaiting)
            await client.subscriptionsComplete()
            await settle(client)
            _ = try await client.read(9)
            #expect(await !client.isIndicationWaiting)
        }
    }
}
