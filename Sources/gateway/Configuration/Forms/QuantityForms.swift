/// A unit with its worth in the smallest one.
private struct Unit {
    let name: String
    let worth: Int64
}

/// Whole numbers with a unit, `"90s"`, as people write them and as they are written back.
private struct Scale {
    let units: [Unit]

    static let time = Scale(units: [
        Unit(name: "ms", worth: 1), Unit(name: "s", worth: 1_000), Unit(name: "min", worth: 60_000),
        Unit(name: "h", worth: 3_600_000), Unit(name: "d", worth: 86_400_000)
    ])
    static let bytes = Scale(units: [
        Unit(name: "B", worth: 1), Unit(name: "KiB", worth: 1 << 10), Unit(name: "MiB", worth: 1 << 20), Unit(name: "GiB", worth: 1 << 30)
    ])

    /// The amount in the smallest unit; `nil` for anything but digits and a unit, and for what 64 bits do not hold.
    func parse(_ text: String) -> Int64? {
        let digits = text.utf8.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard let number = Int64(String(decoding: digits, as: UTF8.self)) else { return nil }
        let name = String(decoding: text.utf8.dropFirst(digits.count), as: UTF8.self)
        guard let unit = units.first(where: { $0.name == name }) else { return nil }
        let (amount, overflow) = number.multipliedReportingOverflow(by: unit.worth)
        return overflow ? nil : amount
    }

    /// The amount in the largest unit that leaves no rest.
    func write(_ amount: Int64) -> String {
        let unit = units.last { amount % $0.worth == 0 && amount != 0 } ?? units[0]
        return "\(amount / unit.worth)\(unit.name)"
    }
}

extension ValueForm where Value == Duration {
    /// A time span within `range`, in whole milliseconds, written with its unit.
    static func duration(_ range: ClosedRange<Duration>, example: Duration) -> ValueForm {
        let write: @Sendable (Duration) -> String = { Scale.time.write($0.milliseconds) }
        return ValueForm(
            allowed: "a duration from \(write(range.lowerBound)) to \(write(range.upperBound)) with its unit (ms, s, min, h or d)",
            example: write(example),
            parse: { text in
                guard let amount = Scale.time.parse(text) else { return nil }
                let duration = Duration.milliseconds(amount)
                return range.contains(duration) ? duration : nil
            }, print: write)
    }
}

extension ValueForm where Value == Int64 {
    /// A number of bytes within `range`, written with its unit.
    static func size(_ range: ClosedRange<Int64>, example: Int64) -> ValueForm {
        ValueForm(
            allowed: "a size from \(Scale.bytes.write(range.lowerBound)) to \(Scale.bytes.write(range.upperBound)) with its unit (B, KiB, MiB or GiB)",
            example: Scale.bytes.write(example),
            parse: { text in
                guard let amount = Scale.bytes.parse(text), range.contains(amount) else { return nil }
                return amount
            }, print: { Scale.bytes.write($0) })
    }
}

extension ValueForm where Value == Int {
    /// A whole number within `range`, without quotes.
    static func integer(_ range: ClosedRange<Int>, example: Int) -> ValueForm {
        ValueForm(allowed: "a whole number from \(range.lowerBound) to \(range.upperBound)", example: "\(example)") { value in
            guard case .integer(let number) = value.content else { return .failure(ValueRefusal(code: .wrongType, words: "is \(value.kind)")) }
            guard let small = Int(exactly: number), range.contains(small) else {
                return .failure(ValueRefusal(code: .notAllowed, words: "is \(number)"))
            }
            return .success(small)
        } write: { "\($0)" }
    }
}
