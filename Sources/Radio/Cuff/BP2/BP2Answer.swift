import Platform

/// Who a cuff of the BP2 family is: the answer to the info request, 60 octets.
struct BP2Info: Sendable, Equatable {
    /// The serial number, which stays when the address changes.
    let serial: String
    /// The firmware's version, e.g. `1.1.0.1`.
    let firmware: String
    /// What the cuff's clock shows; `nil` when that is no time.
    let clock: CivilTime?

    /// - Throws: `CuffError` with `.malformedAnswer`.
    init(parsing payload: [UInt8]) throws(CuffError) {
        guard payload.count >= 38 else { throw CuffError(.malformedAnswer, "an info answer of \(payload.count) octets") }
        let length = Int(payload[37])
        // Version 1 of the layout has room for 18 octets; shorter answers end with the number.
        guard (1...18).contains(length), payload.count >= 38 + length else { throw CuffError(.malformedAnswer, "an info answer with a serial number of \(length) octets") }
        guard let serial = CollarConnection.text(Array(payload[38..<(38 + length)])) else { throw CuffError(.malformedAnswer, "a serial number that is not printable text") }
        self.serial = serial
        firmware = payload[1...4].reversed().map(String.init).joined(separator: ".")
        clock = try DateTimeValue(parsing: Array(payload[24..<31])).civil
    }
}

/// The battery: 4 octets.
struct BP2Battery: Sendable, Equatable {
    /// 0 in use, 1 charging, 2 full, 3 low.
    let state: UInt8
    /// 0...100; `nil` when the cuff says something else.
    let percent: UInt8?

    /// Whether the cuff asks for new batteries.
    var isLow: Bool { state == 3 }

    /// - Throws: `CuffError` with `.malformedAnswer`.
    init(parsing payload: [UInt8]) throws(CuffError) {
        guard payload.count >= 4 else { throw CuffError(.malformedAnswer, "a battery answer of \(payload.count) octets") }
        state = payload[0]
        percent = payload[1] <= 100 ? payload[1] : nil
    }
}

/// What the cuff does: an open set.
struct BP2Activity: RawRepresentable, Sendable, Hashable {
    let rawValue: UInt8

    static let ready = BP2Activity(rawValue: 3)

    /// Measures, or rests between the measurements of a mean of three.
    var isMeasuring: Bool { [4, 15, 16].contains(rawValue) }
}

/// The answer to the state request.
struct BP2State: Sendable, Equatable {
    let activity: BP2Activity
    let battery: BP2Battery

    /// - Throws: `CuffError` with `.malformedAnswer`.
    init(parsing payload: [UInt8]) throws(CuffError) {
        guard let first = payload.first else { throw CuffError(.malformedAnswer, "a state answer of 0 octets") }
        activity = BP2Activity(rawValue: first)
        battery = try BP2Battery(parsing: Array(payload.dropFirst()))
    }
}

/// The names of the files that a cuff holds: a count, and 16 octets for each.
struct BP2FileList: Sendable, Equatable {
    /// In the cuff's order, which is none.
    let names: [BP2FileName]
    /// How many entries are no names.
    let unreadable: Int

    /// Reads the list. An entry that is no name costs itself alone; a list that is shorter than its count gives what it has.
    ///
    /// - Throws: `CuffError` with `.malformedAnswer` when there is not even a count.
    init(parsing payload: [UInt8]) throws(CuffError) {
        guard let count = payload.first else { throw CuffError(.malformedAnswer, "a file list of 0 octets") }
        var names: [BP2FileName] = []
        for place in 0..<Int(count) {
            let start = 1 + place * BP2FileName.length
            guard start + BP2FileName.length <= payload.count else { break }
            let octets = payload[start..<(start + BP2FileName.length)].prefix { $0 != 0 }
            if let name = BP2FileName(String(decoding: octets, as: UTF8.self)), !names.contains(name) { names.append(name) }
        }
        self.names = names
        unreadable = Int(count) - names.count
    }
}
