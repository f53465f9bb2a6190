import Platform
import Testing
@testable import Radio

@Suite("A connection to a cuff of the BP2 family", .enabled(if: CuffPeer.isHere, CuffPeer.skipped))
struct BP2ConnectionTests {
    /// One link, on which the hub does what `body` does.
    private func link<Value: Sendable>(
        _ options: [String], receiveMTU: UInt16 = 517, timing: CuffTiming = CuffTiming(), _ body: @escaping @Sendable (BP2Connection, BP2Opening) async throws -> Value
    ) throws -> (value: Value, books: JSONValue) {
        let loop = try EpollLoop()
        let (peer, socket) = try CuffPeer.start("bp2", options)
        var configuration = GATTClientConfiguration()
        configuration.receiveMTU = receiveMTU
        let client = GATTClient(descriptor: Descriptor(owning: socket), loop: loop, configuration: configuration)
        let closures = EventRecorder<CuffError>()
        let connection = BP2Connection(client: client, wall: WallClock { CuffPeer.now }, zone: CuffPeer.zone, loop: loop, timing: timing) { closures.note($0) }
        let value = Result {
            try loop.run {
                do {
                    let value = try await body(connection, try await connection.open())
                    await connection.close()
                    return value
                } catch {
                    await connection.close()
                    throw error
                }
            }
        }
        let books = try peer.finish()
        #expect(closures.all.count == 1)
        // Whatever a test does: nothing but reading and the clock went over the wire.
        let allowed = Set(BP2Command.allCases.map { Int64($0.rawValue) })
        let sent = books["commands"]?.elements?.compactMap(\.integer) ?? [-1]
        #expect(allowed.isSuperset(of: sent))
        return (try value.get(), books)
    }

    private static func stored(_ harvest: BP2Harvest, _ checkpoint: BP2Checkpoint) -> BP2Checkpoint {
        var checkpoint = checkpoint
        for item in harvest.items { checkpoint.stored(item.name, item.octets) }
        return checkpoint
    }

    @Test("new files are read once, the oldest first, electrocardiograms are left alone, and the next link opens nothing", arguments: [UInt16(23), 247])
    func files(mtu: UInt16) throws {
        let (first, books) = try link(["readings=7", "part=20"], receiveMTU: mtu) { connection, opening in
            #expect(opening.identity == CuffIdentity(serial: "2523C00001", firmware: "1.1.1.0", battery: 80))
            #expect(opening.clock == CuffClockCheck(found: .ahead(0), setting: .notNeeded))
            #expect(!opening.look.isMeasuring && !opening.look.isBatteryLow)
            let (harvest, checkpoint) = try await connection.readNew(BP2Checkpoint())
            #expect(harvest.stopped == nil && harvest.items.map(\.name.text) == harvest.items.map(\.name.text).sorted())
            return Self.stored(harvest, checkpoint)
        }
        #expect(books["opened"]?.elements?.count == 8)
        #expect(first.entries.count == 8)
        let (second, again) = try link(["readings=7"]) { connection, _ in
            try await connection.readNew(first).harvest
        }
        #expect(second.items.isEmpty && again["opened"]?.elements?.isEmpty == true)
    }

    @Test("readings have the values, the local time and the finding that are in their files")
    func values() throws {
        let (items, _) = try link(["readings=6"]) { connection, _ in try await connection.readNew(BP2Checkpoint()).harvest.items }
        let readings: [CuffMeasurement] = items.compactMap { if case .reading(let reading) = $0.content { reading } else { nil } }
        #expect(items.count == 7 && items.count { $0.content == .other } == 1)
        #expect(readings.map { $0.systolic.number?.coefficient } == [115, 114, 113, 112, 111, 110])
        #expect(readings.last?.time.civil?.description == "2024-06-15T17:17:27")
        #expect(readings.map(\.status) == [.irregularPulse, [], [], [], [], .irregularPulse])
    }

    @Test("a W model's list is read whole, with its users, and gives only what is new")
    func list() throws {
        let ((items, checkpoint), books) = try link(["readings=50", "keeps_list=yes", "single_file=yes"], receiveMTU: 100) { connection, _ in
            let (harvest, checkpoint) = try await connection.readNew(BP2Checkpoint())
            #expect(harvest.stopped == nil)
            return (harvest.items, Self.stored(harvest, checkpoint))
        }
        #expect(items.count == 50 && books["opened"]?.elements?.compactMap(\.string) == ["bp2nibp.list"])
        let users: [UInt32?] = items.map { if case .reading(let reading) = $0.content { reading.user } else { nil } }
        #expect(users.prefix(4) == [1, 2, 1, 2])
        let (again, _) = try link(["readings=51", "keeps_list=yes"]) { connection, _ in try await connection.readNew(checkpoint).harvest.items }
        #expect(again.count >= 1)
        #expect(!again.contains { checkpoint.holds($0.name, $0.octets) })
    }

    @Test("a cuff that opens one file on each link gives one at a time, and what came is kept")
    func oneFile() throws {
        var checkpoint = BP2Checkpoint()
        var codes: [CuffError.Code?] = []
        for _ in 0..<3 {
            let known = checkpoint
            let ((after, stopped), _) = try link(["readings=1", "single_file=yes"]) { connection, _ in
                let (harvest, checkpoint) = try await connection.readNew(known)
                return (Self.stored(harvest, checkpoint), harvest.stopped)
            }
            checkpoint = after
            codes.append(stopped?.code)
        }
        #expect(codes == [.refused, nil, nil] && checkpoint.entries.count == 2)
    }

    @Test("a clock that is off is set and read back, and names of a clock that went back are read again")
    func clock() throws {
        let names = ["readings=2", "clock=-90000"]
        let (checkpoint, books) = try link(names) { connection, opening in
            #expect(opening.clock.found == .ahead(-90_000))
            #expect(opening.clock.setTo?.description == "2024-06-15T17:17:27")
            let (harvest, checkpoint) = try await connection.readNew(BP2Checkpoint())
            return Self.stored(harvest, checkpoint)
        }
        #expect(checkpoint.entries.count == 3 && books["commands"]?.elements?.compactMap(\.integer).contains(0xEC) == true)
        let (again, opened) = try link(names) { connection, _ in try await connection.readNew(checkpoint).harvest.items }
        #expect(opened["opened"]?.elements?.count == 3)
        // Readings are known by their digest; what is no reading was not read and says so again.
        #expect(again.map(\.content) == [.other])
    }

    @Test("a cuff that measures answers no request for a file: that ends the link in time, and costs nothing")
    func measuring() throws {
        let (stopped, _) = try link(["readings=2", "activity=4"], timing: CuffTiming(answer: .milliseconds(200))) { connection, opening in
            #expect(opening.look.isMeasuring)
            let (harvest, _) = try await connection.readNew(BP2Checkpoint())
            #expect(harvest.items.isEmpty)
            return harvest.stopped
        }
        #expect(stopped?.code == .answerTimeout)
    }

    @Test("a cuff of the standard profile is none of this family")
    func notABP2() throws {
        let loop = try EpollLoop()
        let (peer, socket) = try CuffPeer.start("cuff", [])
        let client = GATTClient(descriptor: Descriptor(owning: socket), loop: loop)
        let connection = BP2Connection(client: client, wall: WallClock { CuffPeer.now }, zone: CuffPeer.zone, loop: loop) { _ in }
        let code: CuffError.Code? = try loop.run {
            do throws(CuffError) {
                _ = try await connection.open()
                return nil
            } catch {
                return error.code
            }
        }
        #expect(code == .notACuff)
        _ = try peer.finish()
    }
}
