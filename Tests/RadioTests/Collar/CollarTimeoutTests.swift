import Platform
import Testing
@testable import Radio

@Suite("Every wait on a collar has an end")
struct CollarTimeoutTests {
    private func closure(_ events: [CollarEvent]) -> [CollarError.Code] {
        events.compactMap { if case .closed(let error) = $0 { error.code } else { nil } }
    }

    @Test("15 s after its last heartbeat a link is dead: the hub is told, and the link is closed")
    func silence() throws {
        try CollarFixture.open { fixture in
            try await fixture.loop.sleep(for: .seconds(102))
            await fixture.collar.fallSilent()
            // The last heartbeat came at 100 s.
            try await fixture.loop.sleep(for: .milliseconds(12_999))
            #expect(closure(fixture.events.all).isEmpty)
            try await fixture.loop.sleep(for: .milliseconds(2))
            #expect(fixture.events.all.suffix(2).first == .silent)
            #expect(closure(fixture.events.all) == [.silent])
            try await fixture.loop.sleep(for: .milliseconds(1))
            #expect(await fixture.collar.hungUpAt != nil)
            #expect(fixture.events.all.count == 20 + 2)
        }
    }

    @Test("a first heartbeat that never comes is silence too")
    func neverABeat() throws {
        try CollarFixture.open(beats: false) { fixture in
            try await fixture.loop.sleep(for: .milliseconds(15_001))
            #expect(fixture.events.all.first == .silent)
            #expect(closure(fixture.events.all) == [.silent])
        }
    }

    @Test("a read without a window or an answer for 10 s ends with what came, and the link is closed")
    func stall() throws {
        let script: ScriptedCollar.Script = { collar, _ in
            collar.window(Forge.bytes(0))
            collar.after(.seconds(9)) { $0.window(Forge.bytes(1)) }
        }
        try CollarFixture.open(script: script) { fixture in
            let start = fixture.loop.now
            let read = try await fixture.connection.read(log: 7, first: 0, count: 5)
            #expect(interruption(read.end) == .readStalled)
            #expect(read.windows == Forge.run(0, 2))
            #expect(fixture.loop.now - start == .seconds(19))
            #expect(closure(fixture.events.all) == [.readStalled])
        }
    }

    @Test("windows 9 s apart do not stall a read")
    func slow() throws {
        let script: ScriptedCollar.Script = { collar, _ in
            for offset in 0..<6 as Range<UInt32> { collar.after(.seconds(9) * (Int(offset) + 1)) { $0.window(Forge.bytes(offset)) } }
            collar.after(.seconds(63)) { $0.answer(1, 0, 6) }
        }
        try CollarFixture.open(script: script) { fixture in
            let read = try await fixture.connection.read(log: 7, first: 0, count: 6)
            #expect(read.end == .complete)
        }
    }

    @Test("neither heartbeats nor windows that were not asked for keep a stalled read alive")
    func babble() throws {
        let script: ScriptedCollar.Script = { collar, _ in
            for second in 1...300 { collar.after(.seconds(second)) { $0.window(Forge.bytes(99)) } }
        }
        try CollarFixture.open(script: script) { fixture in
            let start = fixture.loop.now
            let read = try await fixture.connection.read(log: 7, first: 0, count: 2)
            #expect(interruption(read.end) == .readStalled)
            #expect(fixture.loop.now - start == .seconds(12))
        }
    }

    @Test("halves of windows do not keep a stalled read alive")
    func halves() throws {
        let script: ScriptedCollar.Script = { collar, _ in
            for second in 1...300 { collar.after(.seconds(second)) { $0.notify([0, 0] + [UInt8](repeating: 1, count: 100)) } }
        }
        try CollarFixture.open(script: script) { fixture in
            let start = fixture.loop.now
            let read = try await fixture.connection.read(log: 7, first: 0, count: 2)
            #expect(interruption(read.end) == .readStalled)
            #expect(fixture.loop.now - start == .seconds(10))
        }
    }

    @Test("a request whose answer does not come within 30 s closes the link, with everything that waits behind it")
    func noAnswer() throws {
        try CollarFixture.open { fixture in
            let start = fixture.loop.now
            async let behind = fixture.connection.setTime(5)
            let error = await #expect(throws: CollarError.self) { _ = try await fixture.connection.clear(log: 7, through: 3) }
            #expect(error?.code == .answerTimeout)
            #expect(fixture.loop.now - start == .seconds(30))
            do {
                _ = try await behind
                Issue.record("answered")
            } catch {
                #expect((error as? CollarError)?.code == .answerTimeout)
            }
            #expect(closure(fixture.events.all) == [.answerTimeout])
        }
    }

    @Test("a write that the peer does not acknowledge ends by the attribute protocol's own 30 s")
    func noWriteResponse() throws {
        try CollarFixture.open { fixture in
            await fixture.collar.intercept { _ in [] }
            let start = fixture.loop.now
            let error = await #expect(throws: CollarError.self) { _ = try await fixture.connection.clear(log: 7, through: 3) }
            #expect(error != nil)
            #expect(fixture.loop.now - start == .seconds(30))
        }
    }

    @Test("closing ends a read at once with what came, and is told once")
    func close() throws {
        try CollarFixture.open(script: { collar, _ in collar.window(Forge.bytes(0)) }) { fixture in
            async let read = fixture.connection.read(log: 7, first: 0, count: 5)
            try await fixture.loop.sleep(for: .seconds(2))
            await fixture.connection.close()
            #expect(try await read.windows == Forge.run(0, 1))
            #expect(try await interruption(read.end) == .linkClosed)
            await fixture.connection.close()
            try await fixture.loop.sleep(for: .seconds(60))
            #expect(closure(fixture.events.all) == [.linkClosed])
            #expect(fixture.events.all.count == 1)
        }
    }

    @Test("an opening that is cancelled closes the link")
    func cancelledOpening() throws {
        try CollarFixture.run { fixture in
            await fixture.collar.intercept { _ in [] }
            let opening = fixture.loop.spawn { () -> CollarError.Code? in
                do {
                    _ = try await fixture.connection.open()
                    return nil
                } catch {
                    return (error as? CollarError)?.code
                }
            }
            try await fixture.loop.sleep(for: .seconds(1))
            opening.cancel()
            #expect(await opening.value == .cancelled)
            #expect(closure(fixture.events.all) == [.cancelled])
        }
    }
}
