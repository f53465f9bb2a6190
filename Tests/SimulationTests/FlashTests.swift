import Platform
import Testing

@testable import Simulation

@Suite("The collar's flash")
struct FlashTests {
    private func flash(capacity: Int = 10, first: UInt32 = 0, windows: Int = 0) throws -> CollarFlash {
        var flash = CollarFlash(capacity: capacity, log: 5, firstSequence: first, forge: try smallForge())
        for time in 0..<windows { flash.append(time: UInt32(1_000 + time)) }
        return flash
    }

    @Test("the checksum is the profile's: 123456789 gives 0x29B1")
    func checksum() {
        #expect(CRC16.checksum(Array("123456789".utf8)) == 0x29B1)
        #expect(CRC16.checksum([]) == 0xFFFF)
    }

    @Test("a window is 322 bytes with its sequence, time and a checksum over all but itself")
    func windowLayout() throws {
        let window = try smallForge().window(log: 5, sequence: 0xFEDC_BA98, time: 1_234)
        #expect(window.count == 322)
        #expect(Array(window[0..<8]) == word(0xFEDC_BA98) + word(1_234))
        #expect(UInt16(window[8]) | UInt16(window[9]) << 8 == CRC16.checksum(window[0..<8] + window[10...]))
    }

    @Test("samples replay the recording one after the other across windows, within the sensor's noise")
    func samplesReplay() throws {
        let forge = try smallForge()
        let recording = try smallRecording()
        var position = 0
        for sequence in UInt32(0)..<4 {
            let window = forge.window(log: 5, sequence: sequence, time: 0)
            for at in stride(from: 10, to: 322, by: 2) {
                let sample = Int(Int16(bitPattern: UInt16(window[at]) | UInt16(window[at + 1]) << 8))
                #expect(abs(sample - Int(recording.axes[position % recording.axes.count])) <= 4)
                position += 1
            }
        }
    }

    @Test("one mg is 4.096 counts to the nearest, and what the part cannot measure saturates")
    func counts() throws {
        #expect(try smallRecording().axes[..<3] == [1_352, 3_858, -594])
        #expect(Recording.counts(milligravities: 9_000) == 32_767)
        #expect(Recording.counts(milligravities: -9_000) == -32_768)
        #expect(Recording.counts(milligravities: .min) == -32_768)
    }

    @Test("a recording that is not three numbers a line is refused with the line's number")
    func malformedRecording() {
        for (text, line) in [("h\n1,2\n", "line 2"), ("h\n1,2,3\n1,b,3\n", "line 3"), ("h\n1,2,3,4\n", "line 2")] {
            let error = failure { () throws(SimulationError) in _ = try Recording(csv: Array(text.utf8)) }
            #expect(error?.code == .recordingMalformed)
            #expect(error?.what.contains(line) == true)
        }
        #expect(throws: SimulationError.self) { try Recording(csv: Array("h\n".utf8)) }
    }

    @Test("an empty flash has oldest equal to next")
    func empty() throws {
        let flash = try flash(first: 77)
        #expect(flash.oldest == 77 && flash.next == 77 && flash.held == 0)
        #expect(!flash.holds(first: 77, count: 1))
    }

    @Test("a full ring overwrites the oldest window and says so until a clear covers it")
    func overwriting() throws {
        var flash = try flash(windows: 13)
        #expect(flash.oldest == 3 && flash.next == 13 && flash.held == 10 && flash.hasOverwritten)
        #expect(flash.overwritten == [WindowRange(log: 5, first: 0, count: 3)])
        #expect(flash.read(2) == .notHeld)
        #expect(flash.clear(log: 5, through: 0) == .ok)
        #expect(flash.hasOverwritten, "windows 1 and 2 were overwritten behind this clear")
        flash.markSent(4)
        #expect(flash.clear(log: 5, through: 4) == .ok)
        #expect(!flash.hasOverwritten && flash.oldest == 5)
    }

    @Test("sequences wrap at 2^32 without anything getting lost")
    func wrap() throws {
        var flash = try flash(capacity: 100, first: 0xFFFF_FFFD, windows: 6)
        #expect(flash.oldest == 0xFFFF_FFFD && flash.next == 3 && flash.held == 6)
        #expect(flash.holds(first: 0xFFFF_FFFE, count: 5))
        #expect(!flash.holds(first: 0xFFFF_FFFE, count: 6))
        guard case .window(let bytes) = flash.read(1) else {
            Issue.record("window 1 is held")
            return
        }
        #expect(word(bytes[0..<4]) == 1 && word(bytes[4..<8]) == 1_004)
        flash.markSent(0xFFFF_FFFF)
        flash.markSent(0)
        #expect(flash.highestSent == 0)
        #expect(flash.clear(log: 5, through: 1) == .refused, "1 was never sent")
        #expect(flash.clear(log: 5, through: 0) == .ok)
        #expect(flash.oldest == 1 && flash.held == 2)
        #expect(flash.clear(log: 5, through: 0xFFFF_FFFE) == .ok, "clearing what is gone is ok across the wrap")
        #expect(flash.oldest == 1)
    }

    @Test("a clear of another log, of the future or of what was never sent forgets nothing")
    func refusedClears() throws {
        var flash = try flash(windows: 8)
        flash.markSent(3)
        #expect(flash.clear(log: 6, through: 2) == .wrongLog)
        #expect(flash.clear(log: 5, through: 8) == .refused)
        #expect(flash.clear(log: 5, through: 4) == .refused)
        #expect(flash.held == 8)
        #expect(flash.clear(log: 5, through: 3) == .ok)
        #expect(flash.clear(log: 5, through: 3) == .ok)
        #expect(flash.oldest == 4)
    }

    @Test("the mark of the highest sequence sent never goes back")
    func sentMark() throws {
        var flash = try flash(windows: 8)
        flash.markSent(6)
        flash.markSent(2)
        #expect(flash.highestSent == 6)
        flash.markSent(100)
        #expect(flash.highestSent == 6)
    }

    @Test("formatting starts an empty log under a new identity, and old windows can still be shown")
    func formatting() throws {
        var flash = try flash(windows: 4)
        let before = flash.bytes(log: 5, sequence: 2)
        var generator = SplitMix64(seed: 3)
        flash.format(using: &generator)
        #expect(flash.log != 5 && flash.log != 0 && flash.held == 0 && flash.highestSent == nil)
        #expect(flash.formattedAway == [WindowRange(log: 5, first: 0, count: 4)])
        #expect(flash.read(2) == .notHeld)
        #expect(before != nil && flash.bytes(log: 5, sequence: 2) == before)
        flash.append(time: 9)
        #expect(flash.bytes(log: flash.log, sequence: 0) != flash.bytes(log: 5, sequence: 0))
        #expect(flash.bytes(log: 5, sequence: 4) == nil)
    }

    @Test("a transient flash error is gone at the second read, a lasting one stays")
    func flashErrors() throws {
        var flash = try flash(windows: 4)
        flash.failReads(of: 1, lasting: false)
        flash.failReads(of: 2, lasting: true)
        #expect(flash.read(1) == .error)
        #expect(flash.read(1) != .error)
        #expect(flash.read(2) == .error)
        #expect(flash.read(2) == .error)
    }

    @Test("faults by seed hit the same windows each time, transient ones once")
    func seededFlashFaults() throws {
        func errors() throws -> [[UInt32]] {
            var flash = CollarFlash(
                capacity: 1_000, log: 5, forge: try smallForge(), faults: FlashFaults(seed: 4, transient: 0.1, lasting: 0.05))
            for time in 0..<1_000 { flash.append(time: UInt32(time)) }
            return (0..<2).map { _ in (0..<1_000).filter { flash.read($0) == .error } }
        }
        let first = try errors()
        #expect(try errors() == first)
        #expect((100...200).contains(first[0].count) && (25...80).contains(first[1].count))
        #expect(Set(first[1]).isSubset(of: first[0]))
    }

    @Test("damage in the flash is one flipped bit that every read shows alike")
    func lastingDamage() throws {
        var flash = try flash(windows: 4)
        let right = flash.read(2)
        flash.damage(2, bit: 100)
        let wrong = flash.read(2)
        #expect(wrong != right && wrong == flash.read(2))
        #expect(!flash.isIntact(2) && flash.isIntact(1))
        guard case .window(let good) = right, case .window(let bad) = wrong else {
            Issue.record("both are held")
            return
        }
        #expect(zip(good, bad).filter { $0 != $1 }.count == 1)
        let forge = try smallForge(damage: 0.5)
        let damaged = (UInt32(0)..<100).filter { sequence in
            let window = forge.window(log: 1, sequence: sequence, time: 0)
            return UInt16(window[8]) | UInt16(window[9]) << 8 != CRC16.checksum(window[0..<8] + window[10...])
        }
        #expect((30...70).contains(damaged.count))
        #expect(damaged == (0..<100).filter { forge.damage(log: 1, sequence: $0) != nil })
    }

    @Test("the clock counts from the start until it is set, and again after a new battery")
    func clock() {
        let start = BootInstant(nanoseconds: 50_000_000_000)
        var clock = CollarClock(startedAt: start)
        #expect(!clock.isSet && clock.time(at: start + .milliseconds(2_999)) == 2)
        #expect(clock.time(at: BootInstant(nanoseconds: .max)) <= 999_999_999)
        clock.set(1_750_000_000, at: start + .seconds(10))
        #expect(clock.isSet && clock.time(at: start + .seconds(15)) == 1_750_000_005)
        clock.restart(at: start + .seconds(20))
        #expect(!clock.isSet && clock.time(at: start + .seconds(21)) == 1)
    }
}
