import Platform
import Testing
@testable import Radio

/// What a hub with nothing behind it keeps of a cuff.
private struct Kept: Sendable {
    var opening: CuffOpening?
    var measurements: [CuffMeasurement] = []
    var unreadable: [[UInt8]] = []
    var records: [UInt16] = []
    var recorded: [CuffMeasurement] = []
    var pressures = 0
    var irregular: [CuffError.Code] = []
    var closed: CuffError?
}

@Suite("A connection to a cuff of the standard profile", .enabled(if: CuffPeer.isHere, CuffPeer.skipped))
struct CuffConnectionTests {
    /// One link with a cuff, from its opening until it has ended.
    ///
    /// - Parameters:
    ///   - confirming: how many measurements are stored and confirmed; the hub hangs up at the next one.
    ///   - asking: what is asked once the link is open; nil waits for the cuff to hang up.
    private func link(
        _ options: [String], wall: WallTime = CuffPeer.now, receiveMTU: UInt16 = 517, confirming: Int = .max,
        asking: (@Sendable (CuffConnection) async throws -> Void)? = nil
    ) throws -> (kept: Kept, books: JSONValue) {
        let loop = try EpollLoop()
        let (peer, socket) = try CuffPeer.start("cuff", options)
        var configuration = GATTClientConfiguration()
        configuration.receiveMTU = receiveMTU
        let client = GATTClient(descriptor: Descriptor(owning: socket), loop: loop, configuration: configuration)
        let events = CuffEvents()
        let connection = CuffConnection(client: client, wall: WallClock { wall }, zone: CuffPeer.zone, loop: loop) { events.note($0) }
        let kept = Result {
            try loop.run {
                var kept = Kept()
                kept.opening = try await connection.open()
                if let asking {
                    try await asking(connection)
                    await connection.close()
                }
                for await event in events.stream {
                    switch event {
                    case .measurement(let measurement, let confirmation):
                        guard kept.measurements.count < confirming else {
                            await connection.close()
                            continue
                        }
                        kept.measurements.append(measurement)
                        await connection.confirm(confirmation)
                    case .unreadable(let octets, _, let confirmation):
                        kept.unreadable.append(octets)
                        await connection.confirm(confirmation)
                    case .record(let record, let measurement):
                        kept.records.append(record.sequence)
                        kept.recorded.append(measurement)
                    case .pressure: kept.pressures += 1
                    case .irregular(let error): kept.irregular.append(error.code)
                    case .closed(let error): kept.closed = error
                    }
                }
                return kept
            }
        }
        if case .failure = kept { try? loop.run { await connection.close() } }
        let books = try peer.finish()
        return (try kept.get(), books)
    }

    @Test("25 stored readings are handed over and confirmed one by one, whatever their order, and the link that drops behind the last one costs none", arguments: ["oldest", "newest"])
    func memory(order: String) throws {
        let (kept, books) = try link(["readings=25", "order=\(order)", "drops=yes"])
        let systolic = kept.measurements.compactMap { $0.systolic.number?.coefficient }
        #expect(systolic == (order == "oldest" ? Array(110..<135) : (110..<135).reversed()))
        #expect(books["confirmed"]?.elements?.compactMap(\.string) == kept.measurements.map { $0.raw.hexadecimal })
        #expect(books["left"]?.integer == 0)
        #expect(kept.closed?.code == .linkClosed && kept.irregular.isEmpty)
        #expect(kept.opening?.identity == CuffIdentity(serial: "2523C00001", manufacturer: "Example", model: "B1", firmware: nil, battery: 80))
        #expect(kept.opening?.feature.contains(.irregularPulseDetection) == true)
    }

    @Test("a reading that was not confirmed stays on the cuff")
    func unconfirmed() throws {
        let (kept, books) = try link(["readings=25", "drops=yes"], confirming: 3)
        #expect(kept.measurements.count == 3)
        #expect(books["confirmed"]?.elements?.count == 3 && books["left"]?.integer == 22)
    }

    @Test("a confirmation counts once, and only for its own indication")
    func confirmations() throws {
        let loop = try EpollLoop()
        let (peer, socket) = try CuffPeer.start("cuff", ["readings=2", "drops=yes"])
        let client = GATTClient(descriptor: Descriptor(owning: socket), loop: loop)
        let events = CuffEvents()
        let connection = CuffConnection(client: client, wall: WallClock { CuffPeer.now }, zone: CuffPeer.zone, loop: loop) { events.note($0) }
        let results = try loop.run {
            var results: [Bool] = []
            var first: CuffConfirmation?
            _ = try await connection.open()
            for await event in events.stream {
                guard case .measurement(_, let confirmation) = event else { continue }
                if let first { results.append(await connection.confirm(first)) }
                results.append(await connection.confirm(confirmation))
                results.append(await connection.confirm(confirmation))
                first = confirmation
            }
            if let first { results.append(await connection.confirm(first)) }
            return results
        }
        #expect(results == [true, false, false, true, false, false])
        #expect(try peer.finish()["confirmed"]?.elements?.count == 2)
    }

    @Test("a clock that is off by more than a minute is set and read back, in either characteristic", arguments: ["current-time", "date-time"])
    func clockIsSet(place: String) throws {
        let (kept, books) = try link(["readings=1", "drops=yes", "time_in=\(place)", "clock=-7200"])
        let clock = try #require(kept.opening?.clock)
        #expect(clock.found == .ahead(-7_200))
        #expect(clock.setTo?.description == "2024-06-15T17:17:27")
        let written = try #require(books["time_writes"]?.elements?.first?.string)
        #expect(written.hasPrefix("e807060f11111b") && written.utf8.count == (place == "date-time" ? 14 : 20))
        // The reading has the old clock's time, and is placed by what that was off.
        let measurement = try #require(kept.measurements.first)
        let time = ReadingTime(placing: measurement.time, clock: clock.found, setTo: clock.setTo, received: CuffPeer.now, zone: CuffPeer.zone)
        #expect(measurement.time.civil?.description == "2024-06-15T15:17:27")
        #expect(time.moment == CuffPeer.now.seconds && time.basis == .correctedCuffClock)
    }

    @Test("a clock that was never set is set, and its readings have no time")
    func unsetClock() throws {
        let (kept, _) = try link(["readings=1", "drops=yes", "clock=none"])
        #expect(kept.opening?.clock.found == .unset && kept.opening?.clock.setTo != nil)
        #expect(kept.measurements.first?.time == CuffTime.none)
    }

    @Test("a cuff that refuses the time with 0x80, or takes it and keeps its own, is read all the same, and it is said", arguments: [("refuses", CuffClockCheck.Setting.refused), ("keeps", .kept)])
    func stubbornClock(takes: String, setting: CuffClockCheck.Setting) throws {
        let (kept, books) = try link(["readings=3", "drops=yes", "clock=-90000", "takes=\(takes)"])
        #expect(kept.opening?.clock == CuffClockCheck(found: .ahead(-90_000), setting: setting))
        #expect(kept.measurements.count == 3 && books["time_writes"]?.elements?.count == 1)
    }

    @Test("a clock within a minute is left alone, and so is any by a hub that does not know the time")
    func leftAlone() throws {
        var (kept, books) = try link(["readings=1", "drops=yes", "clock=-60"])
        #expect(kept.opening?.clock == CuffClockCheck(found: .ahead(-60), setting: .notNeeded))
        #expect(books["time_writes"]?.elements?.isEmpty == true)
        (kept, books) = try link(["readings=1", "drops=yes", "clock=-7200"], wall: WallTime(seconds: 100, synchronised: false))
        #expect(kept.opening?.clock == CuffClockCheck(found: .unverified, setting: .notNeeded))
        #expect(books["time_writes"]?.elements?.isEmpty == true)
    }

    @Test("the memory is asked for by number, in segments as small as the link asks for, with and without checksums", arguments: [("no", UInt16(23)), ("yes", 23), ("yes", 517)])
    func records(crc: String, mtu: UInt16) throws {
        let (kept, _) = try link(["records=yes", "crc=\(crc)", "readings=9", "first_sequence=65", "deletes=no"], receiveMTU: mtu, confirming: 0) { connection in
            let count = try await connection.countRecords()
            #expect(count == 9)
            let all = try await connection.fetchRecords()
            #expect(all == .success)
            let some = try await connection.fetchRecords(from: 70)
            #expect(some == .success)
            let none = try await connection.fetchRecords(from: 74)
            #expect(none == .noRecordsFound)
        }
        #expect(kept.opening?.hasRecords == true)
        #expect(kept.records == Array(65...73) + Array(70...73))
        #expect(kept.recorded.prefix(9).map { $0.systolic.number?.coefficient } == (110..<119).map(Int64.init))
        #expect(kept.recorded.prefix(9).allSatisfy { $0.time.civil != nil && $0.user == 1 })
        #expect(kept.irregular.isEmpty)
    }

    @Test("a cuff without records is not asked for them, and a second request waits for no first one")
    func noRecords() throws {
        let (kept, _) = try link(["readings=0"]) { connection in
            do throws(CuffError) {
                _ = try await connection.fetchRecords()
                Issue.record("asked")
            } catch {
                #expect(error.code == .notOpen)
            }
        }
        #expect(kept.opening?.hasRecords == false)
    }

    @Test("a peer that is another kind of cuff is none of this profile, and the link is closed")
    func notACuff() throws {
        let loop = try EpollLoop()
        let (peer, socket) = try CuffPeer.start("bp2", ["readings=1"])
        let client = GATTClient(descriptor: Descriptor(owning: socket), loop: loop)
        let events = CuffEvents()
        let connection = CuffConnection(client: client, wall: WallClock { CuffPeer.now }, zone: CuffPeer.zone, loop: loop) { events.note($0) }
        let code: CuffError.Code? = try loop.run {
            do throws(CuffError) {
                _ = try await connection.open()
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code == .notACuff)
        #expect(try peer.finish()["commands"]?.elements?.isEmpty == true)
    }
}
