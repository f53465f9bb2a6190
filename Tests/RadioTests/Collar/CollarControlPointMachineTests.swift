import Testing
@testable import Radio

@Suite("Requests to the control point")
struct CollarControlPointMachineTests {
    private static let read = ControlRequest.readRange(log: 7, first: 0, count: 3)

    private func answer(_ opcode: UInt8, _ result: UInt8 = 0, _ payload: [UInt8] = []) -> [UInt8] { [0x80, opcode, result] + payload }

    @Test("requests are written as the profile lays them out")
    func encodings() {
        #expect(ControlRequest.readRange(log: 0x0403_0201, first: 0x0807_0605, count: 0x0C0B_0A09).encoded == [1] + Array(1...12))
        #expect(ControlRequest.stop.encoded == [2])
        #expect(ControlRequest.clear(log: 0x0403_0201, through: 0x0807_0605).encoded == [3] + Array(1...8))
        #expect(ControlRequest.setTime(seconds: 0x0403_0201).encoded == [4, 1, 2, 3, 4])
        #expect(ControlRequest.status.encoded == [5])
    }

    @Test("the next request is written when the one before it is answered, not when its write is acknowledged")
    func oneAtATime() {
        var machine = ControlPointMachine()
        #expect(machine.submit(.status, id: 1) == [.write(1, .status)])
        #expect(machine.submit(.setTime(seconds: 9), id: 2) == [])
        #expect(machine.written(1) == [])
        #expect(machine.indication(answer(5)) == [.answer(1, ControlAnswer(opcode: 5, result: .ok, payload: [])), .write(2, .setTime(seconds: 9))])
    }

    @Test("while a read runs other requests are served, and each answer finds its request")
    func besideARead() {
        var machine = ControlPointMachine()
        _ = machine.submit(Self.read, id: 1)
        #expect(machine.submit(.clear(log: 7, through: 1), id: 2) == [])
        #expect(machine.written(1) == [.write(2, .clear(log: 7, through: 1))])
        #expect(machine.indication(answer(3, 7)) == [.answer(2, ControlAnswer(opcode: 3, result: .clearRefused, payload: []))])
        #expect(machine.indication(answer(1)) == [.answer(1, ControlAnswer(opcode: 1, result: .ok, payload: []))])
    }

    @Test("the answer to a read that a stop ended comes before that of the stop, and both are told")
    func stop() {
        var machine = ControlPointMachine()
        _ = machine.submit(Self.read, id: 1)
        _ = machine.written(1)
        #expect(machine.submit(.stop, id: 2) == [.write(2, .stop)])
        #expect(machine.indication(answer(1)) == [.answer(1, ControlAnswer(opcode: 1, result: .ok, payload: []))])
        #expect(machine.indication(answer(2)) == [.answer(2, ControlAnswer(opcode: 2, result: .ok, payload: []))])
    }

    @Test("an answer may overtake the acknowledgement of its write")
    func overtaking() {
        var machine = ControlPointMachine()
        _ = machine.submit(Self.read, id: 1)
        #expect(machine.indication(answer(1)) == [.answer(1, ControlAnswer(opcode: 1, result: .ok, payload: []))])
        #expect(machine.submit(.status, id: 2) == [.write(2, .status)])
        #expect(machine.written(1) == [])
        #expect(machine.writeFailed(1, CollarError(.linkClosed, "late")) == [])
        #expect(machine.indication(answer(5)) == [.answer(2, ControlAnswer(opcode: 5, result: .ok, payload: []))])
    }

    @Test("a second read is busy while one runs, and is not written")
    func secondRead() {
        var machine = ControlPointMachine()
        _ = machine.submit(Self.read, id: 1)
        #expect(machine.submit(Self.read, id: 2) == [.fail(2, CollarError(.busy, "a read is running on this connection"))])
        _ = machine.written(1)
        #expect(machine.submit(Self.read, id: 3) == [.fail(3, CollarError(.busy, "a read is running on this connection"))])
    }

    @Test("a write that the peer refuses fails its request alone")
    func writeFailure() {
        var machine = ControlPointMachine()
        _ = machine.submit(.status, id: 1)
        _ = machine.submit(.stop, id: 2)
        let error = CollarError(.notSubscribed, "0xFD")
        #expect(machine.writeFailed(1, error) == [.fail(1, error), .write(2, .stop)])
    }

    @Test("an answer for another opcode, or to nothing, answers nothing and is reported")
    func unsolicited() {
        var machine = ControlPointMachine()
        #expect(machine.indication(answer(1)) == [.report(CollarError(.unsolicitedAnswer, "an answer for opcode 1 that was not asked"))])
        _ = machine.submit(.status, id: 1)
        #expect(machine.indication(answer(3)) == [.report(CollarError(.unsolicitedAnswer, "an answer for opcode 3 that was not asked"))])
        #expect(machine.indication(answer(5)) == [.answer(1, ControlAnswer(opcode: 5, result: .ok, payload: []))])
        #expect(machine.indication(answer(5)) == [.report(CollarError(.unsolicitedAnswer, "an answer for opcode 5 that was not asked"))])
    }

    @Test("an answer too short or without its mark is reported and answers nothing", arguments: [[], [0x80], [0x80, 5], [0x81, 5, 0], [5, 0, 0]] as [[UInt8]])
    func malformed(_ bytes: [UInt8]) {
        var machine = ControlPointMachine()
        _ = machine.submit(.status, id: 1)
        guard case .report(let error)? = machine.indication(bytes).first else {
            Issue.record("not reported")
            return
        }
        #expect(error.code == .malformedAnswer)
        #expect(machine.isAwaitingAnswer)
    }

    @Test("the end of the connection ends everything that waits, and what is asked later")
    func close() {
        var machine = ControlPointMachine()
        _ = machine.submit(Self.read, id: 1)
        _ = machine.written(1)
        _ = machine.submit(.status, id: 2)
        _ = machine.submit(.stop, id: 3)
        let error = CollarError(.linkClosed, "gone")
        #expect(machine.close(error) == [.fail(1, error), .fail(2, error), .fail(3, error)])
        #expect(machine.close(error) == [])
        #expect(machine.submit(.stop, id: 4) == [.fail(4, error)])
        #expect(machine.indication(answer(5)) == [])
    }
}
