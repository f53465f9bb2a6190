/// The shell around `RangeReadMachine` and `WindowAssembler`.
extension CollarConnection {
    /// A read that runs: its machine, the log it reads, and who waits for it.
    struct Reading {
        let log: UInt32
        var machine: RangeReadMachine
        let done: (RangeRead) -> Void
    }

    /// Starts a read; there is none yet.
    func beginReading(_ log: UInt32, _ machine: RangeReadMachine, _ done: @escaping (RangeRead) -> Void) {
        var machine = machine
        let step = machine.start()
        reading = Reading(log: log, machine: machine, done: done)
        takeReadStep(step)
    }

    /// A notification of Raw Windows.
    func windowNotified(_ value: [UInt8]) {
        guard reading != nil else {
            report(CollarError(.strayWindow, "raw windows came that were not asked for"))
            return
        }
        guard case .window(let window, let fragmented) = assembler.take(value) else { return }
        if reading?.machine.take(window, fragmented: fragmented) == true { heard(.window) }
    }

    private func takeReadStep(_ step: RangeReadMachine.Step) {
        guard let reading else { return }
        switch step {
        case .request(let first, let count):
            submit(.readRange(log: reading.log, first: first, count: count)) { self.readAnswered($0) }
        case .finish(let read):
            self.reading = nil
            reading.done(read)
        }
    }

    private func readAnswered(_ outcome: Outcome) {
        forget(.window)
        // A window whose rest has not come before the answer will not be completed.
        assembler.reset()
        switch outcome {
        case .success(let answer):
            if let step = reading?.machine.answered(answer) { takeReadStep(step) }
        case .failure(let error):
            if let read = reading?.machine.interrupt(error) { takeReadStep(.finish(read)) }
        }
    }
}
