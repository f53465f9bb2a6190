import Platform
import Testing
import struct Simulation.CollarTable
@testable import Radio

@Suite("A connection to a collar")
struct CollarConnectionTests {
    // MARK: Opening

    @Test("opening tells who the collar is, and subscribes what answers before what wakes")
    func open() throws {
        try CollarFixture.run { fixture in
            let identity = try await fixture.connection.open()
            #expect(identity == CollarIdentity(serial: "C-1042", firmware: "2.1", battery: 100))
            let handles = await fixture.collar.handles
            #expect(await fixture.collar.subscriptions == [handles.serviceChanged, handles.controlPoint, handles.rawWindows, handles.betaMetrics])
            #expect(await fixture.collar.mtu == 517)
        }
    }

    @Test("a serial number longer than one response at ATT_MTU 23 is read whole")
    func longSerial() throws {
        let serial = String(repeating: "0123456789", count: 6)
        try CollarFixture.run(mtu: 23, table: CollarTable(serial: serial, firmware: "")) { fixture in
            let identity = try await fixture.connection.open()
            #expect(identity == CollarIdentity(serial: serial, firmware: nil, battery: 100))
        }
    }

    @Test("a peer without the service, or without a serial number, is no collar, and the link is closed")
    func notACollar() throws {
        let cases: [(CollarProfile, String, CollarError.Code)] = [
            (CollarProfile(service: .uuid16(0x1234)), "C-1", .notACollar),
            (CollarProfile(windows: .uuid16(0x1234)), "C-1", .notACollar),
            (CollarProfile(), "", .noSerialNumber),
            (CollarProfile(), "\u{7}", .noSerialNumber),
        ]
        for (profile, serial, code) in cases {
            try CollarFixture.run(table: CollarTable(serial: serial, firmware: "1"), profile: profile) { fixture in
                let error = await collarError { _ = try await fixture.connection.open() }
                #expect(error?.code == code)
                guard case .closed(let reason)? = fixture.events.all.last else {
                    Issue.record("not closed")
                    return
                }
                #expect(reason.code == code)
            }
        }
    }

    @Test("a link that is not encrypted does not open, and the error says what to check")
    func notEncrypted() throws {
        try CollarFixture.run(encrypted: false) { fixture in
            let error = await collarError { _ = try await fixture.connection.open() }
            #expect(error?.code == .attributeFailed)
            #expect(error?.advice.contains("pairing") == true)
        }
    }

    @Test("a connection opens once, and does nothing before")
    func opensOnce() throws {
        try CollarFixture.run { fixture in
            let early = await collarError { _ = try await fixture.connection.status() }
            #expect(early?.code == .notOpen)
            _ = try await fixture.connection.open()
            let second = await collarError { _ = try await fixture.connection.open() }
            #expect(second?.code == .notOpen)
            _ = try await fixture.connection.read(log: 7, first: 0, count: 0)
        }
    }

    @Test("a link that drops while it is opened ends the opening, and is told once")
    func dropsWhileOpening() throws {
        try CollarFixture.run { fixture in
            await fixture.collar.hangUp()
            let error = await collarError { _ = try await fixture.connection.open() }
            #expect(error?.code == .linkClosed)
            try await fixture.loop.sleep(for: .seconds(60))
            #expect(fixture.events.all.count == 1)
        }
    }

    // MARK: Status

    @Test("status is asked of the control point from ATT_MTU 26 on", arguments: [26, 185, 517] as [UInt16])
    func status(_ mtu: UInt16) throws {
        try CollarFixture.open(mtu: mtu, script: { collar, _ in collar.indicate([0x80, 5, 0] + Forge.metrics(oldest: 3, next: 9)) }) { fixture in
            let metrics = try await fixture.connection.status()
            #expect(metrics.held == 6)
            #expect(await fixture.collar.requests == [[5]])
            let confirmations = try await fixture.confirmations()
            #expect(confirmations == 1)
        }
    }

    @Test("below ATT_MTU 26 status is read from the characteristic", arguments: [23, 25] as [UInt16])
    func statusAtSmallMTU(_ mtu: UInt16) throws {
        try CollarFixture.open(mtu: mtu) { fixture in
            await fixture.collar.set(metrics: Forge.metrics(oldest: 1, next: 3))
            let metrics = try await fixture.connection.status()
            #expect(metrics.held == 2)
            #expect(await fixture.collar.requests.isEmpty)
        }
    }

    @Test("firmware that does not know the opcode is asked once, and its characteristic is read from then on")
    func statusUnsupported() throws {
        try CollarFixture.open(script: { collar, _ in collar.answer(5, 1) }) { fixture in
            await fixture.collar.set(metrics: Forge.metrics(next: 4))
            let answers = [try await fixture.connection.status(), try await fixture.connection.status()]
            #expect(answers.map(\.held) == [4, 4])
            #expect(await fixture.collar.requests == [[5]])
        }
    }

    @Test("a status that cannot be read is an error, not an empty collar")
    func malformedStatus() throws {
        try CollarFixture.open(script: { collar, _ in collar.answer(5, 0, 1) }) { fixture in
            let error = await collarError { _ = try await fixture.connection.status() }
            #expect(error?.code == .malformedMetrics)
        }
    }

    // MARK: Clear, time, stop

    @Test("each result of a clear is told apart")
    func clearAnswers() throws {
        let script: ScriptedCollar.Script = { collar, request in
            switch request[5] {
            case 0: collar.answer(3, 0, 6, 9)
            case let result: collar.answer(3, result)
            }
        }
        try CollarFixture.open(script: script) { fixture in
            let connection = fixture.connection
            #expect(try await connection.clear(log: 0x0403_0201, through: 0x0807_0600) == .cleared(oldest: 6, next: 9))
            #expect(await fixture.collar.requests == [[3, 1, 2, 3, 4, 0, 6, 7, 8]])
            #expect(try await connection.clear(log: 1, through: 3) == .wrongLog)
            #expect(try await connection.clear(log: 1, through: 5) == .busy)
            #expect(try await connection.clear(log: 1, through: 6) == .flashError)
            #expect(try await connection.clear(log: 1, through: 7) == .refused)
            for (through, code) in [(1, .unsupportedOpcode), (2, .badLength)] as [(UInt32, CollarError.Code)] {
                guard case .unsupported(let error) = try await connection.clear(log: 1, through: through) else {
                    Issue.record("result \(through) is not unsupported")
                    return
                }
                #expect(error.code == code)
            }
            for through in [4, 99] as [UInt32] {
                let error = await collarError { _ = try await connection.clear(log: 1, through: through) }
                #expect(error?.code == .unexpectedResult)
            }
        }
    }

    @Test("a clear that is answered ok without what is held is not a clear")
    func clearWithoutRange() throws {
        try CollarFixture.open(script: { collar, _ in collar.answer(3) }) { fixture in
            let error = await collarError { _ = try await fixture.connection.clear(log: 1, through: 2) }
            #expect(error?.code == .malformedAnswer)
        }
    }

    @Test("the clock is set with the seconds given, and each result is told apart")
    func setTime() throws {
        try CollarFixture.open(script: { collar, request in collar.answer(4, request[1]) }) { fixture in
            #expect(try await fixture.connection.setTime(0x0403_0200) == .set)
            #expect(try await fixture.connection.setTime(5) == .busy)
            #expect(await fixture.collar.requests == [[4, 0, 2, 3, 4], [4, 5, 0, 0, 0]])
            guard case .unsupported = try await fixture.connection.setTime(1) else {
                Issue.record("result 1 is not unsupported")
                return
            }
        }
    }

    @Test("a read that is stopped returns what came, before the stop has its own answer")
    func stop() throws {
        let script: ScriptedCollar.Script = { collar, request in
            if request[0] == 1 {
                collar.window(Forge.bytes(0))
                collar.window(Forge.bytes(1))
            } else {
                collar.answer(1, 0, 2)
                collar.answer(2)
            }
        }
        try CollarFixture.open(script: script) { fixture in
            let order = EventRecorder<String>()
            async let read = {
                let read = try await fixture.connection.read(log: 7, first: 0, count: 100)
                order.note("read")
                return read
            }()
            try await fixture.loop.sleep(for: .seconds(1))
            try await fixture.connection.stop()
            order.note("stop")
            #expect(try await interruption(read.end) == .stopped)
            #expect(try await read.windows == Forge.run(0, 2))
            #expect(order.all == ["read", "stop"])
            let confirmations = try await fixture.confirmations()
            #expect(confirmations == 2)
        }
    }

    @Test("a stop without a read changes nothing")
    func idleStop() throws {
        try CollarFixture.open(script: { collar, _ in collar.answer(2) }) { fixture in
            try await fixture.connection.stop()
            #expect(await fixture.collar.requests == [[2]])
        }
    }

    // MARK: Reading

    @Test("windows come whole and in order at every ATT_MTU", arguments: [23, 26, 185, 247, 324, 325, 517] as [UInt16])
    func read(_ mtu: UInt16) throws {
        let script: ScriptedCollar.Script = { collar, _ in
            for offset in 0..<4 as Range<UInt32> { collar.window(Forge.bytes(0xFFFF_FFFE &+ offset)) }
            collar.answer(1, 0, 4)
        }
        try CollarFixture.open(mtu: mtu, script: script) { fixture in
            let read = try await fixture.connection.read(log: 0x0403_0201, first: 0xFFFF_FFFE, count: 4)
            #expect(read == RangeRead(windows: Forge.run(0xFFFF_FFFE, 4), end: .complete, requests: 1))
            #expect(await fixture.collar.requests == [[1, 1, 2, 3, 4, 0xFE, 0xFF, 0xFF, 0xFF, 4, 0, 0, 0]])
        }
    }

    @Test("what is lost is asked for again on the same link")
    func rereads() throws {
        let script: ScriptedCollar.Script = { collar, request in
            switch request[5] {
            case 0:
                collar.window(Forge.bytes(0))
                collar.window(Forge.bytes(2))
                collar.answer(1, 0, 4)
            case 1:
                collar.window(Forge.bytes(1))
                collar.window(Forge.damaged(2))
                collar.window(Forge.bytes(3))
                collar.answer(1, 0, 3)
            default:
                collar.window(Forge.damaged(2))
                collar.answer(1, 0, 1)
            }
        }
        try CollarFixture.open(script: script) { fixture in
            let read = try await fixture.connection.read(log: 7, first: 0, count: 4)
            #expect(read.end == .complete)
            #expect(read.windows == [Forge.bytes(0), Forge.bytes(1), Forge.damaged(2), Forge.bytes(3)].flatMap { $0 })
            #expect(read.damaged == [2])
            #expect(await fixture.collar.requests.map { [$0[5], $0[9]] } == [[0, 4], [1, 3], [2, 1]])
        }
    }

    @Test("heartbeats and other requests go on during a read")
    func besideARead() throws {
        let script: ScriptedCollar.Script = { collar, request in
            guard request[0] == 1 else { return collar.answer(3, 0, 1, 9) }
            for offset in 0..<3 as Range<UInt32> { collar.after(.seconds(8) * Int(offset)) { $0.window(Forge.bytes(offset)) } }
            collar.after(.seconds(20)) { $0.answer(1, 0, 3) }
        }
        try CollarFixture.open(script: script) { fixture in
            async let read = fixture.connection.read(log: 7, first: 0, count: 3)
            try await fixture.loop.sleep(for: .seconds(1))
            #expect(try await fixture.connection.clear(log: 7, through: 0) == .cleared(oldest: 1, next: 9))
            #expect(try await read.end == .complete)
            #expect(fixture.events.all.count == 4)
        }
    }

    @Test("a second read on one connection is busy and asks nothing")
    func secondRead() throws {
        try CollarFixture.open(script: { collar, _ in collar.after(.seconds(3)) { $0.answer(1, 0, 0) } }) { fixture in
            async let first = fixture.connection.read(log: 7, first: 0, count: 0)
            try await fixture.loop.sleep(for: .seconds(1))
            #expect(try await fixture.connection.read(log: 7, first: 0, count: 5).end == .busy)
            #expect(try await first.end == .complete)
            #expect(await fixture.collar.requests.count == 1)
        }
    }

    @Test("a lost link ends a read with what came")
    func lostLink() throws {
        let script: ScriptedCollar.Script = { collar, _ in
            collar.window(Forge.bytes(0))
            collar.window(Forge.bytes(1))
            collar.hangUp()
        }
        try CollarFixture.open(script: script) { fixture in
            let read = try await fixture.connection.read(log: 7, first: 0, count: 9)
            #expect(interruption(read.end) == .linkClosed)
            #expect(read.windows == Forge.run(0, 2))
            let error = await collarError { _ = try await fixture.connection.status() }
            #expect(error?.code == .linkClosed)
        }
    }

    @Test("a collar that has forgotten the subscriptions is told by its own code, and the read ends")
    func notSubscribed() throws {
        try CollarFixture.open { fixture in
            let control = await fixture.collar.handles.controlPoint
            await fixture.collar.intercept { pdu in pdu.first == 0x12 ? [0x01, 0x12, UInt8(control & 0xFF), UInt8(control >> 8), 0xFD] : nil }
            let read = try await fixture.connection.read(log: 7, first: 0, count: 9)
            #expect(interruption(read.end) == .notSubscribed)
            let error = await collarError { _ = try await fixture.connection.clear(log: 7, through: 3) }
            #expect(error?.code == .notSubscribed)
        }
    }

    // MARK: What should not come

    @Test("an answer that nothing asked for is confirmed, told once and answers nothing")
    func unsolicited() throws {
        let script: ScriptedCollar.Script = { collar, _ in
            for _ in 0..<3 { collar.answer(3, 0, 5, 6) }
            collar.indicate([9])
            collar.answer(4, 0)
        }
        try CollarFixture.open(script: script) { fixture in
            let answer = try await fixture.connection.setTime(1)
            #expect(answer == .set)
            let confirmations = try await fixture.confirmations()
            #expect(confirmations == 5)
            let codes = fixture.events.all.map { event -> CollarError.Code? in
                if case .irregular(let error) = event { return error.code }
                return nil
            }
            #expect(codes == [.unsolicitedAnswer, .malformedAnswer])
        }
    }

    @Test("windows after their answer go nowhere, not even into the next read")
    func lateWindows() throws {
        let old = Forge.values(Forge.bytes(5, time: 9), mtu: 185)
        let script: ScriptedCollar.Script = { collar, request in
            if request[5] == 0 {
                collar.window(Forge.bytes(0))
                // The old log's window 5 loses its rest to the answer, and finds it where the new log's is read.
                for value in old.dropLast() { collar.notify(value) }
                collar.answer(1, 3)
                collar.window(Forge.bytes(77))
            } else {
                for value in old.suffix(1) { collar.notify(value) }
                collar.window(Forge.bytes(60))
                collar.window(Forge.bytes(5))
                collar.answer(1, 0, 1)
            }
        }
        try CollarFixture.open(mtu: 185, script: script) { fixture in
            #expect(try await fixture.connection.read(log: 7, first: 0, count: 2).end == .wrongLog)
            let read = try await fixture.connection.read(log: 8, first: 5, count: 1)
            #expect(read == RangeRead(windows: Forge.bytes(5), end: .complete, requests: 1, discarded: 1))
            #expect(fixture.events.all.contains { if case .irregular(let error) = $0 { error.code == .strayWindow } else { false } })
        }
    }

    @Test("a heartbeat that cannot be read is told when it begins, and is a sign of life")
    func malformedHeartbeats() throws {
        try CollarFixture.open { fixture in
            await fixture.collar.set(metrics: Forge.metrics(version: 9))
            try await fixture.loop.sleep(for: .seconds(61))
            await fixture.collar.set(metrics: Forge.metrics(next: 2))
            try await fixture.loop.sleep(for: .seconds(5))
            #expect(fixture.events.all.count == 2)
            guard case .malformedHeartbeat(let error)? = fixture.events.all.first, case .heartbeat(let metrics)? = fixture.events.all.last else {
                Issue.record("\(fixture.events.all)")
                return
            }
            #expect(error.code == .malformedMetrics)
            #expect(metrics.next == 2)
        }
    }
}
