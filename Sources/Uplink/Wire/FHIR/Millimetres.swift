import Platform

extension DecimalNumber {
    /// A pressure in kPa as one in mmHg, with as many decimals as it had and rounded half away from zero. A step in kPa is more than seven of
    /// those steps in mmHg, so nothing that the cuff said is lost.
    ///
    /// - Returns: `nil` for a number so large that it is no pressure.
    var millimetresOfMercury: DecimalNumber? {
        // 1 mmHg is 133.322387415 Pa by definition (BIPM); so 1 kPa is 10^12 / 133,322,387,415 mmHg.
        let numerator: UInt64 = 1_000_000_000_000, denominator: UInt64 = 133_322_387_415
        var units = coefficient.magnitude
        // A positive exponent means zeros in front of the point.
        for _ in 0..<max(0, Int(exponent)) {
            let (product, overflow) = units.multipliedReportingOverflow(by: 10)
            guard !overflow else { return nil }
            units = product
        }
        let product = units.multipliedFullWidth(by: numerator)
        guard product.high < denominator else { return nil }
        let (quotient, remainder) = denominator.dividingFullWidth(product)
        guard let rounded = Int64(exactly: quotient), rounded < .max else { return nil }
        let magnitude = 2 * remainder >= denominator ? rounded + 1 : rounded
        return DecimalNumber(coefficient < 0 ? -magnitude : magnitude, exponent: min(0, exponent))
    }
}
