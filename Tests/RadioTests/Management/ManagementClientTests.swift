import Glibc
import Platform
import Synchronization
import Testing

@testable import Radio

/// What was reported, in order.
final class Recorder<Value: Sendable>: Sendable {
    private let values = Mutex<[Value]>([])
    var all: [Value] { values.withLock { $0 } }
    @Sendable func note(_ value: Value) { values.withLock { $0.append(value) } }
    func clear() { values.withLock { $0 = [] } }
}

@Suite("The management channel on the loop")
struct ManagementClientTests {
    @Test("commands, answers and events cross a socket of packets, in order")
    func crossing() throws {
        let loop = VirtualLoop()
        let (ours, theirs) = try packetPair()
        let kernel = Descriptor(owning: theirs)
        let client = ManagementClient(channel: Descriptor(owning: ours), loop: loop)
        let reports = Recorder<ManagementClient.Report>()
        let far = kernel.raw
        try loop.watch(far, for: .readable) { _ in
            var buffer = [UInt8](repeating: 0, count: 64)
            guard recv(far, &buffer, 64, 0) == 6 else { return }
            for packet in [managementPacket(.indexAdded, hci0, []), [1, 2], complete(.readVersion, .none, [1, 23, 0])] { _ = send(far, packet, packet.count, 0) }
        }
        try loop.run {
            try await client.start(onReport: reports.note)
            let reply = try await client.perform(.readVersion, on: .none)
            #expect(reply == .version(ManagementVersion(version: 1, revision: 23)))
        }
        #expect(reports.all == [.event(hci0, .indexAdded), .malformed("a packet of 2 octets has no room for a header")])
        loop.unwatch(far)
        try loop.run { await client.close() }
        loop.advance(by: .zero)
        #expect(reports.all.last == .closed(BluetoothError(.controlChannelClosed)))
    }

    @Test("a kernel that is silent, refuses or is gone gives an error with a code that says which")
    func failures() throws {
        let loop = VirtualLoop()
        let (ours, theirs) = try packetPair()
        let client = ManagementClient(channel: Descriptor(owning: ours), loop: loop)
        let reports = Recorder<ManagementClient.Report>()
        try loop.run {
            try await client.start(onReport: reports.note)
            let before = loop.now
            let silence = await failure { _ = try await client.perform(.readVersion, on: .none) }
            #expect((silence as? BluetoothError)?.code == "management-unanswered")
            #expect(loop.now - before == .seconds(10))
            let refusal = commandStatus(.setPowered, hci0, .rfkilled)
            _ = send(theirs, refusal, refusal.count, 0)
            let refused = await failure { _ = try await client.perform(.setPowered(true), on: hci0) } as? BluetoothError
            #expect(refused?.code == "management-refused")
            #expect(refused?.remedy == "switch the radio on: rfkill unblock bluetooth")
            _ = loop.schedule(after: .seconds(1)) { close(theirs) }
            let gone = await failure { _ = try await client.perform(.readIndexList, on: .none) }
            #expect((gone as? BluetoothError)?.code == "management-closed")
        }
        loop.advance(by: .seconds(60))
        #expect(reports.all.count == 1)
    }

    @Test("a command that the channel cannot take yet goes as soon as it can")
    func fullChannel() throws {
        let loop = VirtualLoop()
        let (ours, theirs) = try packetPair()
        let kernel = Descriptor(owning: theirs)
        var stuffed = 0
        while send(ours, [0, 0], 2, 0) == 2 { stuffed += 1 }
        let client = ManagementClient(channel: Descriptor(owning: ours), loop: loop)
        let answered = Recorder<ManagementMachine.Outcome>()
        try loop.run {
            try await client.start { _ in }
            await client.submit(.getConnections, to: hci0, completion: answered.note)
            try await loop.sleep(for: .milliseconds(1))
        }
        for _ in 0..<stuffed { #expect(try kernel.read(upTo: 64) == [0, 0]) }
        #expect(try kernel.read(upTo: 64) == nil)
        loop.advance(by: .milliseconds(1))
        #expect(try kernel.read(upTo: 64) == ManagementCommand.getConnections.packet(for: hci0))
        _ = try kernel.send(complete(.getConnections, hci0, [0, 0]))
        loop.advance(by: .milliseconds(1))
        #expect(answered.all == [.done(.connections([]))])
        try loop.run { await client.close() }
        loop.advance(by: .zero)
    }
}
