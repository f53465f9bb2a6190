import Platform
import Testing
import struct Simulation.BluetoothUUID
import struct Simulation.GATTTable
@testable import Radio

@Suite("A cuff's connection, step by step")
struct CuffScriptTests {
    private static let reading = CuffForge.measurement(time: CuffForge.time(), pulse: 70)

    @Test("what a bonded cuff indicates before it is asked is handed over once the link is open, and not confirmed before that")
    func early() throws {
        let table = CuffTable()
        let handle = table.measurement
        try CuffFixture.run(table, before: { $0.indicate(Self.reading, of: handle) }) { fixture in
            _ = try await fixture.connection.open()
            try await fixture.settle()
            #expect(await fixture.cuff.confirmations == 0)
            guard case .measurement(let measurement, let confirmation)? = fixture.events.all.first else {
                Issue.record("no measurement")
                return
            }
            #expect(measurement.raw == Self.reading)
            #expect(await fixture.connection.confirm(confirmation))
            try await fixture.settle()
            #expect(await fixture.cuff.confirmations == 1)
        }
    }

    @Test("an indication that is no measurement is handed over as it came, and waits as a measurement does")
    func unreadable() throws {
        let table = CuffTable()
        let handle = table.measurement
        try CuffFixture.run(table) { fixture in
            _ = try await fixture.connection.open()
            await fixture.cuff.indicate([1, 2, 3], of: handle)
            try await fixture.settle()
            guard case .unreadable([1, 2, 3], let error, let confirmation)? = fixture.events.all.first else {
                Issue.record("not handed over")
                return
            }
            #expect(error.code == .malformedMeasurement)
            #expect(await fixture.cuff.confirmations == 0)
            await fixture.connection.confirm(confirmation)
            await fixture.cuff.indicate(Self.reading, of: handle)
            try await fixture.settle()
            #expect(await fixture.cuff.confirmations == 1)
            #expect(fixture.events.all.count == 2)
        }
    }

    @Test("a failed measurement is one")
    func failed() throws {
        let table = CuffTable()
        let handle = table.measurement
        try CuffFixture.run(table) { fixture in
            _ = try await fixture.connection.open()
            await fixture.cuff.indicate(hex("16 FF 07 FF 07 FF 07 E8 07 06 17 0E 23 0A FF 07 00 00"), of: handle)
            try await fixture.settle()
            guard case .measurement(let measurement, _)? = fixture.events.all.first else {
                Issue.record("no measurement")
                return
            }
            #expect(measurement.isFailed)
        }
    }

    @Test("a cuff that says nothing of itself is a cuff, and its clock is not readable")
    func silent() throws {
        try CuffFixture.run(CuffTable(information: false)) { fixture in
            let opening = try await fixture.connection.open()
            #expect(opening == CuffOpening(identity: CuffIdentity(), model: .general(.standard), clock: CuffClockCheck(found: .unreadable, setting: .notNeeded), feature: [], hasRecords: false))
        }
    }

    /// A pulse of 72 with its high octet first, indicated before anything was asked.
    private static func bigEndian(_ table: CuffTable, model: CuffModel? = nil, models: [CuffModel] = CuffModel.table) throws -> (CuffOpening, CuffMeasurement?) {
        let handle = table.measurement
        let octets = CuffForge.measurement(pulse: UInt16(72).byteSwapped)
        return try CuffFixture.run(table, model: model, models: models, before: { $0.indicate(octets, of: handle) }) { fixture in
            let opening = try await fixture.connection.open()
            try await fixture.settle()
            guard case .measurement(let measurement, _)? = fixture.events.all.first else { return (opening, nil) }
            return (opening, measurement)
        }
    }

    @Test("a cuff whose model is left open is read as the model that it calls itself, in Device Name or in Model Number, from its first measurement on")
    func identity() throws {
        for table in [CuffTable(name: "BM85"), CuffTable(model: "BM85-A"), CuffTable(name: "My cuff", model: "BM85")] {
            let (opening, measurement) = try Self.bigEndian(table)
            #expect(opening.model.name == "Beurer BM85")
            #expect(measurement?.pulse?.number?.coefficient == 72)
        }
        let (opening, measurement) = try Self.bigEndian(CuffTable(name: "BM54", model: "B1"))
        #expect(opening.model == .general(.standard) && opening.identity.name == "BM54")
        #expect(measurement?.pulse?.number?.coefficient != 72)
    }

    @Test("a configured model counts whatever the cuff calls itself, and a custom one before the table")
    func configured() throws {
        let plain = CuffModel(name: "plain", driver: .standard)
        let odd = CuffModel(name: "odd", namePrefixes: ["X"], driver: .standard, quirks: .bigEndianPulseAndStatus)
        var (opening, measurement) = try Self.bigEndian(CuffTable(name: "BM85"), model: plain)
        #expect(opening.model == plain && opening.identity.name == nil && measurement?.pulse?.number?.coefficient != 72)
        (opening, measurement) = try Self.bigEndian(CuffTable(name: "X1"), models: [odd] + CuffModel.table)
        #expect(opening.model == odd && measurement?.pulse?.number?.coefficient == 72)
    }

    @Test("of a cuff that sends both forms the enhanced one alone is subscribed, so that no measurement comes twice")
    func enhanced() throws {
        let table = CuffTable(enhanced: true)
        let handles = (table.measurement, table.enhanced, table.pressure)
        try CuffFixture.run(table) { fixture in
            _ = try await fixture.connection.open()
            #expect(await fixture.cuff.subscriptions == [handles.2, handles.1])
            await fixture.cuff.indicate([0x40, 120, 0, 80, 0, 93, 0], of: handles.1)
            try await fixture.settle()
            guard case .measurement(let measurement, _)? = fixture.events.all.first else {
                Issue.record("no measurement")
                return
            }
            #expect(measurement.systolic == .number(DecimalNumber(120)))
        }
    }

    @Test("the pressure while it measures is told, and what is none is told once")
    func pressure() throws {
        let table = CuffTable()
        let handle = table.pressure
        try CuffFixture.run(table) { fixture in
            _ = try await fixture.connection.open()
            for _ in 0..<2 { await fixture.cuff.notify([0], of: handle) }
            await fixture.cuff.notify([0, 150, 0, 0xFF, 7, 0xFF, 7], of: handle)
            try await fixture.settle()
            #expect(fixture.events.all.count == 2)
            guard case .pressure(let pressure)? = fixture.events.all.last else {
                Issue.record("no pressure")
                return
            }
            #expect(pressure.pressure == .number(DecimalNumber(150)))
        }
    }

    @Test("a request for records that nobody answers ends the link after 30 s, counted from the last record")
    func recordsTimeOut() throws {
        let table = CuffTable(optional: true)
        let handle = table.record
        try CuffFixture.run(table) { fixture in
            _ = try await fixture.connection.open()
            let start = fixture.loop.now
            let cuff = fixture.cuff
            _ = fixture.loop.schedule(after: .seconds(20)) { cuff.assumeIsolated { $0.notify([3, 7, 0, 0x35, 0x2A] + Self.reading, of: handle) } }
            do throws(CuffError) {
                _ = try await fixture.connection.fetchRecords()
                Issue.record("answered")
            } catch {
                #expect(error.code == .answerTimeout)
            }
            #expect(fixture.loop.now - start >= .seconds(50) && fixture.loop.now - start < .seconds(51))
            guard case .record(let record, let measurement)? = fixture.events.all.first, case .closed(let reason)? = fixture.events.all.last else {
                Issue.record("\(fixture.events.all)")
                return
            }
            #expect(record.sequence == 7 && measurement.raw == Self.reading && reason.code == .answerTimeout)
        }
    }

    @Test("a link that ends while records are awaited ends the request, and the end is told once")
    func recordsLost() throws {
        let script: ScriptedCuff.Script = { cuff, _ in cuff.hangUp() }
        try CuffFixture.run(CuffTable(optional: true), script: script) { fixture in
            _ = try await fixture.connection.open()
            do throws(CuffError) {
                _ = try await fixture.connection.countRecords()
                Issue.record("answered")
            } catch {
                #expect(error.code == .linkClosed)
            }
            try await fixture.loop.sleep(for: .seconds(60))
            #expect(fixture.events.all.count == 1)
        }
    }

    @Test("refusals of the record access control point are told as they are, and an answer that nothing asked for is ignored")
    func recordsRefused() throws {
        let table = CuffTable(optional: true)
        let handle = table.access
        let script: ScriptedCuff.Script = { cuff, request in cuff.indicate([6, 0, request[0], 10], of: handle) }
        try CuffFixture.run(table, script: script) { fixture in
            _ = try await fixture.connection.open()
            await fixture.cuff.indicate([5, 0, 1, 0], of: handle)
            try await fixture.settle()
            let result = try await fixture.connection.fetchRecords()
            #expect(result == .serverBusy)
            do throws(CuffError) {
                _ = try await fixture.connection.countRecords()
                Issue.record("counted")
            } catch {
                #expect(error.code == .refused)
            }
            #expect(await fixture.cuff.requests == [[1, 1], [4, 1]])
            #expect(fixture.events.all.count == 1)
        }
    }

    @Test("a connection opens once, and does nothing before or after")
    func opensOnce() throws {
        try CuffFixture.run(CuffTable(optional: true)) { fixture in
            func code(_ body: () async throws -> Void) async -> CuffError.Code? {
                do {
                    try await body()
                    return nil
                } catch {
                    return (error as? CuffError)?.code
                }
            }
            #expect(await code { _ = try await fixture.connection.fetchRecords() } == .notOpen)
            _ = try await fixture.connection.open()
            #expect(await code { _ = try await fixture.connection.open() } == .notOpen)
            await fixture.connection.close()
            #expect(await code { _ = try await fixture.connection.fetchRecords() } == .linkClosed)
        }
    }
}

@Suite("A BP2's connection, step by step")
struct BP2ScriptTests {
    private static func uuid(_ text: String) -> Simulation.BluetoothUUID {
        guard let uuid = Radio.BluetoothUUID(text), let same = Simulation.BluetoothUUID(littleEndian: uuid.littleEndian) else { preconditionFailure("\(text) is a UUID") }
        return same
    }

    /// Runs `body` with a cuff that answers a request as `script` does.
    private func run<Value: Sendable>(
        _ script: @escaping @Sendable (isolated ScriptedCuff, [UInt8], UInt16) -> Void, _ body: @escaping @Sendable (VirtualLoop, BP2Connection, ScriptedCuff) async throws -> Value
    ) throws -> Value {
        var table = GATTTable()
        table.addService(Self.uuid("14839ac4-7d7e-415c-9a42-167340cf2339"))
        let answers = table.addCharacteristic(Self.uuid("0734594a-a8e7-4b1a-a6b1-cd5243059a57"), .notify)
        let requests = table.addCharacteristic(Self.uuid("8b00ace7-eb0b-49b0-bbe9-9aee0a26e1a3"), .write, write: .open)
        let attributes = table
        let loop = VirtualLoop()
        return try loop.run {
            let (near, far) = try packetPair()
            let cuff = ScriptedCuff(Descriptor(owning: far), loop: loop, table: attributes, requestHandle: requests) { cuff, request in script(cuff, request, answers) }
            try await cuff.start()
            let connection = BP2Connection(
                client: GATTClient(descriptor: Descriptor(owning: near), loop: loop), wall: WallClock { CuffPeer.now }, zone: CuffPeer.zone, loop: loop
            ) { _ in }
            let value = try await body(loop, connection, cuff)
            await connection.close()
            await cuff.hangUp()
            return value
        }
    }

    private static func answer(_ command: UInt8) -> [UInt8] {
        switch command {
        case 0xE1: BP2Forge.frame(0xE1, BP2Forge.info)
        case 0x06: BP2Forge.frame(0x06, [3, 3, 9, 0, 0])
        case 0xF1: BP2Forge.frame(0xF1, [0])
        default: BP2Forge.frame(command, type: 0xE1)
        }
    }

    @Test("frames of itself, octets between frames and answers to nothing are not taken for the answer")
    func noise() throws {
        let ended = try run({ cuff, request, handle in
            cuff.notify([1, 2, 3] + BP2Forge.frame(0x08, [0, 1, 2]) + BP2Forge.frame(0xF4), of: handle)
            cuff.notify(BP2Forge.frame(request[1], type: 0, [9]), of: handle)
            cuff.notify(Self.answer(request[1]), of: handle)
        }) { _, connection, _ in
            let opening = try await connection.open()
            #expect(opening.identity.serial == "2523C00000" && opening.identity.battery == 9 && opening.look.isBatteryLow)
            let harvest = try await connection.readNew(BP2Checkpoint()).harvest
            #expect(harvest.items.isEmpty && harvest.stopped == nil)
            return await connection.discardedOctets
        }
        #expect(ended == 9)
    }

    @Test("an answer behind octets that look like a long frame is found when time is up")
    func hidden() throws {
        try run({ cuff, request, handle in
            cuff.notify([0xA5, 0xF3, 0x0C, 1, 1, 0x00, 0x08] + Self.answer(request[1]), of: handle)
        }) { loop, connection, _ in
            let start = loop.now
            let opening = try await connection.open()
            #expect(opening.identity.serial == "2523C00000")
            #expect(loop.now - start >= .seconds(20))
        }
    }

    @Test("no answer ends the link after 10 s")
    func noAnswer() throws {
        try run({ _, _, _ in }) { loop, connection, _ in
            let start = loop.now
            do throws(CuffError) {
                _ = try await connection.open()
                Issue.record("opened")
            } catch {
                #expect(error.code == .answerTimeout)
            }
            #expect(loop.now - start >= .seconds(10) && loop.now - start < .seconds(11))
        }
    }

    @Test("a refusal of the list is one, and the link goes on")
    func refused() throws {
        try run({ cuff, request, handle in
            cuff.notify(request[1] == 0xF1 ? BP2Forge.frame(0xF1, type: 0xE1) : Self.answer(request[1]), of: handle)
        }) { _, connection, _ in
            _ = try await connection.open()
            for _ in 0..<2 {
                do throws(CuffError) {
                    _ = try await connection.readNew(BP2Checkpoint())
                    Issue.record("read")
                } catch {
                    #expect(error.code == .refused)
                }
            }
        }
    }
}
