import Platform
import Testing

@testable import Simulation

@Suite("The collar on a link")
struct LinkTests {
    @Test("with an MTU of 325 or more a window is one notification, with less it comes in fragments in order", arguments: [23, 24, 185, 247, 324, 325, 517] as [UInt16])
    func fragments(mtu: UInt16) throws {
        let bench = try Bench(backlog: 3)
        let hub = try bench.hub(mtu: mtu)
        let log = bench.books.log
        #expect(try hub.read(log: log, first: 0, count: 3) == [[0x80, 1, 0] + word(3)])
        var windows: [[UInt8]] = []
        var window: [UInt8] = []
        for value in hub.windows {
            #expect(value.count <= Int(mtu) - 3)
            if mtu >= 325 {
                windows.append(value)
            } else {
                #expect(value.count != 322)
                #expect(Int(value[0]) | Int(value[1]) << 8 == window.count)
                window += value[2...]
                if window.count == 322 {
                    windows.append(window)
                    window = []
                }
            }
        }
        #expect(window.isEmpty)
        #expect(windows == (UInt32(0)..<3).compactMap { sequence in bench.ask { $0.window(log: log, sequence: sequence) } })
    }

    @Test("a collar that asks for the MTU itself agrees on the answer")
    func ownMTURequest() throws {
        let bench = try Bench(backlog: 1) { $0.asksForMTU = true }
        let hub = try ScriptedHub(bench.collar, loop: bench.loop)
        try hub.settle()
        #expect(hub.received == [[0x02, 0x05, 0x02]])
        #expect(try hub.exchange([0x03, 0xF7, 0x00]) == [])
        try hub.subscribeAll()
        _ = try hub.read(log: bench.books.log, first: 0, count: 1)
        #expect(hub.windows.first?.count == 244)
    }

    @Test("the first heartbeat comes five seconds after subscribing, then one every five seconds, and none after unsubscribing")
    func heartbeats() throws {
        let bench = try Bench(backlog: 7)
        let hub = try ScriptedHub(bench.collar, loop: bench.loop)
        try hub.settle(.seconds(20))
        #expect(hub.received.isEmpty)
        _ = try hub.subscribe(hub.handles.betaMetrics, 1)
        try hub.settle(.milliseconds(4_999))
        #expect(hub.heartbeats.isEmpty)
        try hub.settle(.milliseconds(1))
        #expect(hub.heartbeats.count == 1)
        try hub.settle(.seconds(50))
        #expect(hub.heartbeats.count == 11)
        let beat = try #require(hub.heartbeats.first)
        #expect(beat.count == 20 && beat[..<4] == [1, 1, 100, 0])
        #expect(word(beat[4..<8]) == bench.books.log && word(beat[8..<12]) == 0 && word(beat[12..<16]) == 7)
        #expect(word(beat[16..<20]) == 1_750_000_025)
        _ = try hub.subscribe(hub.handles.betaMetrics, 0)
        try hub.settle(.seconds(50))
        #expect(hub.heartbeats.count == 11)
    }

    @Test("heartbeats go on during a read and show that it runs")
    func heartbeatsDuringRead() throws {
        let bench = try Bench(backlog: 100) { $0.windowsPerSecond = 5 }
        let hub = try bench.hub()
        _ = try hub.read(log: bench.books.log, first: 0, count: 100)
        try hub.settle(.seconds(21))
        #expect(hub.heartbeats.map { $0[1] & 8 } == [8, 8, 8, 0])
        #expect(hub.windows.count == 100)
    }

    @Test("a silent collar sends no heartbeat but serves, until the next link")
    func silence() throws {
        let bench = try Bench(backlog: 3)
        let hub = try bench.hub()
        bench.ask { $0.silence() }
        try hub.settle(.seconds(60))
        #expect(hub.heartbeats.isEmpty && !hub.ended)
        #expect(try hub.request([2]) == [[0x80, 2, 0]])
        let next = try bench.hub()
        try next.settle(.seconds(5))
        try hub.settle()
        #expect(hub.ended && next.heartbeats.count == 1)
    }

    @Test("Beta Metrics can be read, and windows come by their interval")
    func production() throws {
        let bench = try Bench(backlog: 2) { $0.windowInterval = .milliseconds(250) }
        bench.ask { $0.start() }
        let hub = try bench.hub()
        func next() throws -> UInt32 {
            let response = try hub.exchange([0x0A, UInt8(hub.handles.betaMetrics & 0xFF), UInt8(hub.handles.betaMetrics >> 8)])[0]
            #expect(response.count == 21 && response[0] == 0x0B)
            return word(response[13..<17])
        }
        #expect(try next() == 2)
        try hub.settle(.seconds(3))
        #expect(try next() == 14)
        bench.ask { $0.stopProducing() }
        try hub.settle(.seconds(3))
        #expect(try next() == 14)
    }

    @Test("a hub that does not fetch its notifications makes the collar wait, and nothing is lost")
    func flowControl() throws {
        let bench = try Bench(backlog: 2_000)
        let hub = try bench.hub(sendBuffer: 8_192)
        try hub.send([0x12, UInt8(hub.handles.controlPoint & 0xFF), UInt8(hub.handles.controlPoint >> 8), 1] + word(bench.books.log) + word(0) + word(2_000))
        bench.loop.advance(by: .seconds(1))
        let stuck = bench.books.windowsSent
        #expect(stuck > 0 && stuck < 200)
        #expect(bench.ask { $0.state.flash.highestSent } == UInt32(stuck - 1), "what waits for room has not been sent")
        try hub.settle()
        #expect(hub.windows.map { word($0[0..<4]) } == Array(0..<2_000))
        #expect(hub.values(of: hub.handles.controlPoint) == [[0x80, 1, 0] + word(2_000)])
    }

    @Test("where the hub's full buffer loses notifications the answer still comes, and the rest is missing")
    func lostWhenFull() throws {
        let bench = try Bench(backlog: 2_000) { $0.faults.losesWhenFull = true }
        let hub = try bench.hub(sendBuffer: 8_192)
        try hub.send([0x12, UInt8(hub.handles.controlPoint & 0xFF), UInt8(hub.handles.controlPoint >> 8), 1] + word(bench.books.log) + word(0) + word(2_000))
        bench.loop.advance(by: .seconds(1))
        try hub.settle()
        #expect(hub.windows.count < 200)
        #expect(bench.books.faults["lost-when-full"] == 2_000 - hub.windows.count)
        #expect(hub.values(of: hub.handles.controlPoint) == [[0x80, 1, 0] + word(2_000)])
    }

    @Test("a dropped link forgets its subscriptions and its read; the hub sees the end")
    func dropLink() throws {
        let bench = try Bench(backlog: 20) { $0.windowsPerSecond = 5 }
        let hub = try bench.hub()
        let log = bench.books.log
        _ = try hub.read(log: log, first: 0, count: 20)
        bench.ask { $0.dropLink() }
        try hub.settle()
        #expect(hub.ended)
        let next = try ScriptedHub(bench.collar, loop: bench.loop)
        #expect(try next.write(next.handles.controlPoint, [2]).last?[4] == 0xFD)
        try next.subscribeAll()
        #expect(try next.request([2]) == [[0x80, 2, 0]], "no read is running any more")
        try next.settle(.seconds(60))
        #expect(next.windows.isEmpty && bench.books.links == 2)
    }

    @Test("a link that fades passes nothing in either direction, and is lost after the supervision timeout")
    func fade() throws {
        let bench = try Bench(backlog: 20)
        let hub = try bench.hub()
        bench.ask { $0.fade() }
        #expect(try hub.read(log: bench.books.log, first: 0, count: 20) == [])
        try hub.settle(.milliseconds(5_900))
        #expect(hub.received.isEmpty && !hub.ended && bench.ask { $0.isLinked })
        try hub.settle(.milliseconds(200))
        #expect(hub.ended && !bench.ask { $0.isLinked })
        #expect(bench.books.reads == 0)
        #expect(try bench.hub().request([2]) == [[0x80, 2, 0]])
    }

    @Test("windows follow the backlog second by second")
    func stamps() throws {
        let bench = try Bench(backlog: 2)
        bench.ask { $0.start() }
        bench.loop.advance(by: .seconds(2))
        bench.ask { $0.stop() }
        let log = bench.books.log
        let stamps = (UInt32(0)..<4).compactMap { sequence in bench.ask { $0.window(log: log, sequence: sequence) } }.map { word($0[4..<8]) }
        #expect(stamps == [1_749_999_998, 1_749_999_999, 1_750_000_000, 1_750_000_001])
    }

    @Test("a new battery drops the link, changes the address and forgets the time, but no window")
    func batteryChange() throws {
        let bench = try Bench(backlog: 20)
        let hub = try bench.hub()
        let before = bench.books
        bench.ask { $0.changeBattery() }
        try hub.settle()
        let after = bench.books
        #expect(hub.ended && before.address != after.address && after.next == 20 && after.log == before.log)
        #expect(["c", "d", "e", "f"].contains(after.address.first), "the two top bits of a static random address are set")
        let status = try bench.hub().request([5])[0]
        #expect(status[4] & 1 == 0 && word(status[19..<23]) == 0)
    }

    @Test("a hub that closes its end leaves the collar without a link")
    func hubCloses() throws {
        let bench = try Bench()
        do {
            let hub = try bench.hub()
            #expect(bench.ask { $0.isLinked } && !hub.ended)
        }
        bench.loop.advance(by: .seconds(1))
        #expect(!bench.ask { $0.isLinked })
    }

    @Test("a link that is not encrypted gets heartbeats and no windows")
    func unencrypted() throws {
        let bench = try Bench(backlog: 3)
        let hub = try ScriptedHub(bench.collar, loop: bench.loop, encrypted: false)
        #expect(try hub.subscribe(hub.handles.betaMetrics, 1) == [[0x13]])
        #expect(try hub.subscribe(hub.handles.rawWindows, 1).last?[4] == 0x0F)
        bench.ask { $0.setEncrypted(true) }
        #expect(try hub.subscribe(hub.handles.rawWindows, 1) == [[0x13]])
    }

    @Test("a backlog of two hours is there at once")
    func backlog() throws {
        let bench = try Bench(backlog: 7_200)
        #expect(bench.books.produced == 7_200)
        let oldest = try #require(bench.ask { $0.window(log: $0.books().log, sequence: 0) })
        let newest = try #require(bench.ask { $0.window(log: $0.books().log, sequence: 7_199) })
        #expect(word(oldest[4..<8]) == 1_750_000_000 - 7_200 && word(newest[4..<8]) == 1_750_000_000 - 1)
    }
}
