import Platform

extension SimulatedCollar {
    /// The collar's account of what happened so far.
    public func books() -> CollarBooks {
        CollarBooks(
            serial: configuration.serial, address: address.map { [$0].hexadecimal }.joined(separator: ":"),
            log: state.flash.log, oldest: state.flash.oldest, next: state.flash.next,
            logs: state.flash.produced, overwritten: state.flash.overwritten, formattedAway: state.flash.formattedAway,
            clears: clears, clearsRefused: clearsRefused, reads: reads, windowsSent: windowsSent, links: links, faults: faultCounts)
    }

    /// The bytes of a window as the flash holds or held them, whatever became of it; `nil` when it was never produced.
    public func window(log: UInt32, sequence: UInt32) -> [UInt8]? {
        state.flash.bytes(log: log, sequence: sequence)
    }
}
