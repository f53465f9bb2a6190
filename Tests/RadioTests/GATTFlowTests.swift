import Glibc
import Platform
import Testing

@testable import Radio

@Suite("Full sockets and cancelled callers")
struct GATTFlowTests {
    @Test("when the socket is full, PDUs wait in order, up to a limit, and go out when there is room")
    func full() throws {
        let loop = VirtualLoop()
        let (ours, theirs) = try packetPair()
        let peer = Descriptor(owning: theirs)
        var size: CInt = 4096
        #expect(setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &size, 4) == 0)
        let client = GATTClient(descriptor: Descriptor(owning: ours), loop: loop)
        let recorder = UpdateRecorder()
        let accepted = try loop.run {
            try await client.start(onClose: recorder.ended)
            var accepted = 0
            var refusal: GATTError?
            while refusal == nil, accepted < 100_000 {
                refusal = await gattFailure { try await client.writeWithoutResponse([UInt8(accepted >> 8), UInt8(accepted & 0xFF)], to: 3) }
                if refusal == nil { accepted += 1 }
            }
            #expect(refusal == GATTError(.sendQueueFull))
            return accepted
        }
        #expect(accepted > ATTBearer.commandLimit)
        var got: [[UInt8]] = []
        while got.count < accepted {
            guard let octets = try peer.read(upTo: 100) else {
                loop.advance(by: .zero)
                guard let more = try peer.read(upTo: 100) else { break }
                got.append(more)
                continue
            }
            got.append(octets)
        }
        let sent: [[UInt8]] = (0..<accepted).map { (number: Int) in [0x52, 0x03, 0x00, UInt8(number >> 8), UInt8(number & 0xFF)] }
        #expect(got == sent)
        loop.advance(by: .zero)
        #expect(try peer.read(upTo: 100) == nil)
        #expect(recorder.closures.isEmpty)
        try loop.run { await client.close() }
    }

    @Test("a peer that does not read its answers cannot make us keep more than one")
    func flood() throws {
        let loop = VirtualLoop()
        let (ours, theirs) = try packetPair()
        let peer = Descriptor(owning: theirs)
        var size: CInt = 4096
        #expect(setsockopt(ours, SOL_SOCKET, SO_SNDBUF, &size, 4) == 0)
        let client = GATTClient(descriptor: Descriptor(owning: ours), loop: loop)
        let recorder = UpdateRecorder()
        try loop.run { try await client.start(onClose: recorder.ended) }
        for _ in 0..<10_000 where recorder.closures.isEmpty {
            do { _ = try peer.send(hex("3F")) } catch { break }
            loop.advance(by: .zero)
        }
        #expect(recorder.closures == [.violation(.requestBeforeResponse(ATTOpcode(rawValue: 0x3F)))])
    }

    @Test("a socket that takes nothing for the transaction timeout closes the bearer, so that what waits behind it ends")
    func fullForEver() throws {
        let loop = VirtualLoop()
        let (ours, theirs) = try packetPair()
        let peer = Descriptor(owning: theirs)
        let client = GATTClient(descriptor: Descriptor(owning: ours), loop: loop)
        let recorder = UpdateRecorder()
        let taken = try loop.run {
            try await client.start(onClose: recorder.ended)
            while await gattFailure({ try await client.writeWithoutResponse([], to: 3) }) == nil {}
            let before = loop.now
            #expect(await gattFailure { _ = try await client.read(3) } == GATTError(.closed(.stalled)))
            return loop.now - before
        }
        #expect(taken == .seconds(30))
        withExtendedLifetime(peer) {}
    }

    @Test("a caller that is cancelled is let go at once, and its response is dropped when it comes")
    func cancelledOpen() throws {
        try converse([.expects("0A 03 00"), .waits(.seconds(5)), .sends("0B 03"), .expects("0A 04 00"), .sends("0B 04")]) { client, _ async throws in
            let task = client.loop.spawn { await failure { _ = try await client.read(3) } }
            await settle(client)
            task.cancel()
            #expect(await task.value is CancellationError)
            #expect(try await client.read(4) == [4])
        }
    }

    @Test("a caller that is cancelled in the queue asks nothing")
    func cancelledQueued() throws {
        try converse([.expects("0A 03 00"), .waits(.seconds(5)), .sends("0B 03"), .expects("0A 05 00"), .sends("0B 05")]) { client, _ async throws in
            async let first = client.read(3)
            await settle(client)
            let task = client.loop.spawn { await failure { _ = try await client.read(4) } }
            await settle(client)
            async let third = client.read(5)
            await settle(client)
            task.cancel()
            #expect(await task.value is CancellationError)
            #expect(try await first == [3])
            #expect(try await third == [5])
        }
    }

    @Test("a cancelled request that is never answered closes the bearer all the same")
    func cancelledTimeout() throws {
        try converse([.expects("0A 03 00")]) { client, _ async throws in
            let task = client.loop.spawn { await failure { _ = try await client.read(3) } }
            await settle(client)
            task.cancel()
            #expect(await task.value is CancellationError)
            #expect(await gattFailure { _ = try await client.read(4) } == GATTError(.closed(.transactionTimeout(.readRequest))))
        }
    }

    @Test("a cancelled MTU exchange still takes effect when it is answered, and one that was only queued can be asked again")
    func cancelledExchange() throws {
        try converse([.expects("0A 03 00"), .waits(.seconds(1)), .sends("0B 03"), .expects("02 05 02"), .waits(.seconds(1)), .sends("03 F7 00"), .expects("0A 04 00"),
                      .sends("0B 04")]) { client, _ async throws in
            async let first = client.read(3)
            await settle(client)
            let queued = client.loop.spawn { await failure { _ = try await client.exchangeMTU() } }
            await settle(client)
            queued.cancel()
            #expect(await queued.value is CancellationError)
            #expect(try await first == [3])
            let open = client.loop.spawn { await failure { _ = try await client.exchangeMTU() } }
            await settle(client)
            open.cancel()
            #expect(await open.value is CancellationError)
            #expect(try await client.read(4) == [4])
            #expect(await client.mtu == 247)
        }
    }

    @Test("a task that is cancelled before it asks sends nothing")
    func cancelledBefore() throws {
        try converse([]) { client, _ async throws in
            let task = client.loop.spawn {
                while !Task.isCancelled { await client.loop.yield() }
                return await failure { _ = try await client.read(3) }
            }
            task.cancel()
            #expect(await task.value is CancellationError)
        }
    }
}
