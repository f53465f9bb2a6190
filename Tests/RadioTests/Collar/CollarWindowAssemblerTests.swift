import Platform
import Testing
@testable import Radio

@Suite("Notifications become windows")
struct CollarWindowAssemblerTests {
    private func windows(_ values: [[UInt8]], _ assembler: inout WindowAssembler) -> [[UInt8]] {
        values.compactMap {
            if case .window(let window, _) = assembler.take($0) { return window.bytes }
            return nil
        }
    }

    @Test("windows come through every ATT_MTU from 23 to 517 byte for byte")
    func everyMTU() {
        for mtu in 23...517 {
            var assembler = WindowAssembler()
            let values = Forge.values(Forge.bytes(1), mtu: mtu) + Forge.values(Forge.bytes(2), mtu: mtu)
            #expect(windows(values, &assembler) == [Forge.bytes(1), Forge.bytes(2)], "ATT_MTU \(mtu)")
            #expect(assembler.abandoned == 0)
        }
    }

    @Test("a window of fragments is told from a whole one")
    func fragmented() {
        var assembler = WindowAssembler()
        #expect(assembler.take(Forge.bytes(1)) == .window(.intact(1), fragmented: false))
        for value in Forge.values(Forge.bytes(2), mtu: 247).dropLast() { #expect(assembler.take(value) == .incomplete) }
        #expect(assembler.take(Forge.values(Forge.bytes(2), mtu: 247).last ?? []) == .window(.intact(2), fragmented: true))
    }

    @Test("any one lost fragment costs its own window only", arguments: [23, 185, 247, 324])
    func lostFragment(_ mtu: Int) {
        let count = Forge.values(Forge.bytes(2), mtu: mtu).count
        for lost in 0..<count {
            var assembler = WindowAssembler()
            var middle = Forge.values(Forge.bytes(2), mtu: mtu)
            middle.remove(at: lost)
            let values = Forge.values(Forge.bytes(1), mtu: mtu) + middle + Forge.values(Forge.bytes(3), mtu: mtu)
            #expect(windows(values, &assembler) == [Forge.bytes(1), Forge.bytes(3)], "fragment \(lost)")
        }
    }

    @Test("a fragment that comes twice, or out of order, costs its window")
    func wrongOffsets() {
        let values = Forge.values(Forge.bytes(2), mtu: 100)
        for broken in [[values[0], values[1], values[1]] + values[2...], [values[0], values[2], values[1], values[3]], [values[1], values[0]]] {
            var assembler = WindowAssembler()
            #expect(windows(broken, &assembler).isEmpty)
            #expect(windows(Forge.values(Forge.bytes(3), mtu: 100), &assembler) == [Forge.bytes(3)])
        }
    }

    @Test("a fragment that overlaps what is there, or leaves a hole, is discarded")
    func overlapAndHole() {
        for offset in [99, 101] as [UInt8] {
            var assembler = WindowAssembler()
            #expect(assembler.take([0, 0] + [UInt8](repeating: 1, count: 100)) == .incomplete)
            #expect(assembler.take([offset, 0] + [UInt8](repeating: 2, count: 100)) == .discarded(.wrongOffset))
            #expect(assembler.abandoned == 1)
        }
    }

    @Test("a fragment that reaches beyond byte 322 is discarded with its window")
    func beyondTheEnd() {
        var assembler = WindowAssembler()
        #expect(assembler.take([0, 0] + [UInt8](repeating: 1, count: 200)) == .incomplete)
        #expect(assembler.take([200, 0] + [UInt8](repeating: 2, count: 123)) == .discarded(.beyondTheEnd))
        #expect(assembler.take([200, 0] + [UInt8](repeating: 2, count: 122)) == .discarded(.wrongOffset))
    }

    @Test("a whole window among fragments is taken, and the begun one is not completed afterwards")
    func wholeAmongFragments() {
        var assembler = WindowAssembler()
        let values = Forge.values(Forge.bytes(1), mtu: 185)
        #expect(windows([values[0], Forge.bytes(5), values[1]], &assembler) == [Forge.bytes(5)])
        #expect(assembler.abandoned == 1)
    }

    @Test("values too short for an offset and a byte, or longer than any fragment, are discarded", arguments: [0, 1, 2, 323, 324, 512])
    func badLengths(_ count: Int) {
        var assembler = WindowAssembler()
        #expect(assembler.take([UInt8](repeating: 0, count: count)) == .discarded(.badLength))
    }

    @Test("what was begun before the end of a read is not completed by the next one")
    func reset() {
        var assembler = WindowAssembler()
        let values = Forge.values(Forge.bytes(1), mtu: 185)
        #expect(assembler.take(values[0]) == .incomplete)
        assembler.reset()
        #expect(assembler.take(values[1]) == .discarded(.wrongOffset))
    }

    @Test("random values trap nowhere, and never make a window longer or shorter than 322 bytes")
    func fuzz() {
        var random = SplitMix64(seed: 3)
        var assembler = WindowAssembler()
        for _ in 0..<20_000 {
            let offset = UInt16.random(in: 0...330, using: &random)
            let count = Int.random(in: 0...330, using: &random)
            let value = ([UInt8(offset & 0xFF), UInt8(offset >> 8)] + [UInt8](repeating: 7, count: count)).prefix(Int.random(in: 0...332, using: &random))
            if case .window(let window, _) = assembler.take(Array(value)) { #expect(window.bytes.count == 322) }
        }
    }
}
