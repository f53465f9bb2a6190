import Platform
import Testing
import struct Simulation.CollarConfiguration
import struct Simulation.CollarFaults
import struct Simulation.Recording
import class Simulation.SimulatedCollar
@testable import Radio

/// What a hub without anything behind it would have after reading a simulated collar dry.
private struct Harvest: Sendable {
    var windows: [UInt32: [UInt8]] = [:]
    /// In the order in which they were read.
    var order: [UInt32] = []
    var damaged: Set<UInt32> = []
    var unreadable: Set<UInt32> = []
    var links = 0
    var requests = 0
    /// What the collar says went wrong, by kind.
    var faults: [String: Int] = [:]
}

/// Reads a collar on link after link until nothing is left.
private struct Reader {
    let loop: VirtualLoop
    let collar: SimulatedCollar
    let count: Int
    let first: UInt32
    var harvest = Harvest()
    var done = 0

    var next: UInt32 { first &+ UInt32(done) }

    mutating func readDry(maximumLinks: Int) async throws {
        while done < count, harvest.links < maximumLinks {
            harvest.links += 1
            let ends = try packetPair()
            try await collar.link(descriptor: Descriptor(owning: ends.far))
            let client = GATTClient(descriptor: Descriptor(owning: ends.near), loop: loop)
            let connection = CollarConnection(client: client, profile: CollarProfile(), loop: loop) { _ in }
            do {
                _ = try await connection.open()
                try await readUntilClosed(connection)
            } catch is CollarError {}
            await connection.close()
            try await loop.sleep(for: .seconds(1))
        }
    }

    private mutating func readUntilClosed(_ connection: CollarConnection) async throws {
        while done < count {
            let log: UInt32
            do throws(CollarError) {
                log = try await connection.status().log
            } catch {
                guard error.code == .busy else { throw error }
                try await loop.sleep(for: .seconds(5))
                continue
            }
            let read = try await connection.read(log: log, first: next, count: UInt32(min(128, count - done)))
            keep(read)
            switch read.end {
            case .busy: try await loop.sleep(for: .seconds(5))
            case .interrupted(let error) where error.code != .windowsMissing: throw error
            default: break
            }
        }
    }

    private mutating func keep(_ read: RangeRead) {
        for position in 0..<read.count {
            harvest.windows[next] = Array(read.windows[(322 * position)..<(322 * (position + 1))])
            harvest.order.append(next)
            done += 1
        }
        harvest.damaged.formUnion(read.damaged)
        if let unreadable = read.unreadable {
            harvest.unreadable.insert(unreadable)
            done += 1
        }
        harvest.requests += read.requests
    }
}

@Suite("The driver and the simulated collar")
struct CollarSimulationTests {
    private static let first: UInt32 = 0xFFFF_FF80

    /// Reads 400 windows over the wrap at 2^32.
    private func harvest(mtu: UInt16, seed: UInt64, faults: CollarFaults, count: Int = 400) throws -> (Harvest, [UInt32: [UInt8]], Set<UInt32>) {
        let samples = "x,y,z\n" + (0..<500).map { "\($0),\(1000 - $0),\(-3 * $0)\n" }.joined()
        let loop = VirtualLoop()
        let recording = try Recording(csv: Array(samples.utf8))
        return try loop.run {
            var configuration = CollarConfiguration(serial: "SIM-\(seed)", seed: seed)
            configuration.mtu = mtu
            configuration.backlog = count
            configuration.firstSequence = Self.first
            configuration.clock = 1_700_000_000
            configuration.faults = faults
            let collar = SimulatedCollar(configuration, recording: recording, loop: loop)
            await collar.start()
            await collar.stopProducing()
            var reader = Reader(loop: loop, collar: collar, count: count, first: Self.first)
            try await reader.readDry(maximumLinks: 400)
            let log = await collar.withState { $0.flash.log }
            var truth: [UInt32: [UInt8]] = [:]
            var damaged: Set<UInt32> = []
            for sequence in (0..<UInt32(count)).map({ Self.first &+ $0 }) {
                truth[sequence] = await collar.window(log: log, sequence: sequence)
                if await collar.withState({ !$0.flash.isIntact(sequence) }) { damaged.insert(sequence) }
            }
            reader.harvest.faults = await collar.books().faults
            await collar.stop()
            return (reader.harvest, truth, damaged)
        }
    }

    @Test("without faults every window comes unchanged and in order, in as few requests as there are batches", arguments: [23, 185, 247, 517] as [UInt16])
    func noFaults(_ mtu: UInt16) throws {
        let (harvest, truth, _) = try harvest(mtu: mtu, seed: 1, faults: .none)
        #expect(harvest.windows == truth)
        #expect(harvest.order == (0..<400).map { Self.first &+ $0 })
        #expect(harvest.links == 1)
        #expect(harvest.requests == 4)
        #expect(harvest.damaged.isEmpty)
    }

    @Test("with everyday faults every window comes unchanged, in order and once, and exactly what is damaged in the flash is listed as damaged",
          arguments: [23, 185, 247, 517] as [UInt16], 0..<4 as Range<UInt64>)
    func mildFaults(_ mtu: UInt16, _ seed: UInt64) throws {
        var faults = CollarFaults.mild
        // Enough of each in 400 windows.
        faults.lossPerWindow = 0.01
        faults.bitFlipPerWindow = 0.01
        faults.damagePerWindow = 0.01
        faults.latePerWindow = 0.005
        faults.flashErrorOncePerWindow = 0.005
        let (harvest, truth, damaged) = try harvest(mtu: mtu, seed: seed, faults: faults)
        #expect(harvest.windows == truth)
        #expect(harvest.order == (0..<400).map { Self.first &+ $0 })
        #expect(harvest.damaged == damaged)
        #expect(harvest.unreadable.isEmpty)
        // A test that met no fault would show nothing.
        #expect(harvest.faults.values.reduce(0, +) > 5, "\(harvest.faults)")
        #expect(harvest.requests > 4)
    }

    @Test("with everything at once what comes is unchanged and in order, and all else is a gap", arguments: [23, 185, 247, 517] as [UInt16], 10..<14 as Range<UInt64>)
    func harshFaults(_ mtu: UInt16, _ seed: UInt64) throws {
        var faults = CollarFaults.harsh
        faults.formatPerSecond = 0
        faults.flashErrorLastingPerWindow = 0.01
        faults.damagePerWindow = 0.01
        let (harvest, truth, damaged) = try harvest(mtu: mtu, seed: seed, faults: faults)
        for sequence in harvest.order { #expect(harvest.windows[sequence] == truth[sequence]) }
        let all = (0..<400 as Range<UInt32>).map { Self.first &+ $0 }
        #expect(harvest.order == all.filter { !harvest.unreadable.contains($0) })
        #expect(harvest.unreadable.count < 20)
        #expect(harvest.damaged == damaged.subtracting(harvest.unreadable))
    }

    @Test("a log formatted in the middle of a read ends it, and what came belongs to the old log")
    func formatted() throws {
        let loop = VirtualLoop()
        let recording = try Recording(csv: Array("x,y,z\n1,2,3\n".utf8))
        try loop.run {
            var configuration = CollarConfiguration(serial: "SIM", seed: 4)
            configuration.backlog = 100
            configuration.windowsPerSecond = 10
            let collar = SimulatedCollar(configuration, recording: recording, loop: loop)
            let ends = try packetPair()
            try await collar.link(descriptor: Descriptor(owning: ends.far))
            let client = GATTClient(descriptor: Descriptor(owning: ends.near), loop: loop)
            let connection = CollarConnection(client: client, profile: CollarProfile(), loop: loop) { _ in }
            _ = try await connection.open()
            let log = try await connection.status().log
            async let running = connection.read(log: log, first: 0, count: 100)
            try await loop.sleep(for: .seconds(4))
            await collar.format()
            let read = try await running
            #expect(read.end == .wrongLog)
            #expect((30...50).contains(read.count))
            for position in 0..<read.count {
                let bytes = Array(read.windows[(322 * position)..<(322 * (position + 1))])
                #expect(await collar.window(log: log, sequence: UInt32(position)) == bytes)
            }
            let metrics = try await connection.status()
            #expect(metrics.log != log)
            #expect(metrics.held == 0)
            let clear = try await connection.clear(log: log, through: 3)
            #expect(clear == .wrongLog)
            await connection.close()
            await collar.stop()
        }
    }
}
