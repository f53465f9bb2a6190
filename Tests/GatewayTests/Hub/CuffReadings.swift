import Platform
import Radio

/// Readings as cuffs send them.
enum CuffReadings {
    static let identity = CuffIdentity(serial: "told", manufacturer: "Example", model: "B1", firmware: "1.0", battery: 80)
    /// 2024-06-15 15:17:27 UTC.
    static let moment: Int64 = 1_718_464_647

    static func measurement(
        _ number: Int, unit: PressureUnit = .mmHg, systolic: SFLOAT? = nil, diastolic: SFLOAT = .number(DecimalNumber(86)), mean: SFLOAT = .number(DecimalNumber(97)),
        pulse: SFLOAT? = nil, user: UInt32? = nil, status: MeasurementStatus? = nil
    ) -> CuffMeasurement {
        CuffMeasurement(
            unit: unit, systolic: systolic ?? .number(DecimalNumber(100 + Int64(number % 100))), diastolic: diastolic, mean: mean, time: .civil(civil(number)), pulse: pulse,
            user: user, status: status, raw: Array("measurement \(number)".utf8))
    }

    static func civil(_ number: Int) -> CivilTime {
        guard let time = CivilTime(secondsSince1970: moment + 7_200 + Int64(number)) else { fatalError("no time") }
        return time
    }

    static func time(_ number: Int, clock: CuffClock = .ahead(0)) -> ReadingTime {
        ReadingTime(
            moment: moment + Int64(number), zoneOffset: 7_200, basis: .cuffClock, device: civil(number), clock: clock,
            received: WallTime(seconds: moment + Int64(number) + 5, synchronised: true))
    }

    static func reading(_ number: Int, device: String = "BP-1", measurement: CuffMeasurement? = nil, time: ReadingTime? = nil) -> CuffReading {
        let measurement = measurement ?? Self.measurement(number)
        let id = ReadingIdentity.name(device: device, measurement: measurement, replaysMemory: true, nonce: [])
        return CuffReading(device: device, measurement: measurement, time: time ?? Self.time(number), id: id)
    }

    static let specials: [SFLOAT] = [.nan, .notAtThisResolution, .positiveInfinity, .negativeInfinity, .reserved]

    /// One of each kind that there is: every special value in every place, both units, every bit of the status, decimals.
    static let allKinds: [CuffMeasurement] = {
        var kinds: [CuffMeasurement] = []
        for unit in [PressureUnit.mmHg, .kPa] {
            for special in specials {
                kinds.append(measurement(kinds.count, unit: unit, systolic: special))
                kinds.append(measurement(kinds.count, unit: unit, diastolic: special))
                kinds.append(measurement(kinds.count, unit: unit, mean: special))
                kinds.append(measurement(kinds.count, unit: unit, pulse: special))
            }
            for (coefficient, exponent) in [(189, -1), (0, 0), (1_200, -1), (8, 1), (-5, -2), (2_047, -2)] as [(Int64, Int8)] {
                let value = SFLOAT.number(DecimalNumber(coefficient, exponent: exponent))
                kinds.append(measurement(kinds.count, unit: unit, systolic: value, diastolic: value, mean: value, pulse: value))
            }
        }
        for bit in 0..<16 { kinds.append(measurement(kinds.count, status: MeasurementStatus(rawValue: 1 << UInt16(bit)))) }
        kinds.append(measurement(kinds.count, user: 3, status: MeasurementStatus(rawValue: .max)))
        return kinds
    }()
}
