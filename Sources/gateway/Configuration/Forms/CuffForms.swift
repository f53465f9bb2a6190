import Radio

extension ValueForm where Value == UInt32 {
    /// The number of a user of a cuff.
    static let userNumber = ValueForm(allowed: "a whole number from 0 to \(UInt32.max)", example: "1") { value in
        guard case .integer(let number) = value.content else { return .failure(ValueRefusal(code: .wrongType, words: "is \(value.kind)")) }
        guard let small = UInt32(exactly: number) else { return .failure(ValueRefusal(code: .notAllowed, words: "is \(number)")) }
        return .success(small)
    } write: { "\($0)" }
}

extension ValueForm where Value == String {
    /// What names begin with. A space at its end is a part of it.
    static let namePrefix = ValueForm(
        allowed: "1 to 64 ASCII characters", example: "MY-CUFF",
        parse: { text in
            (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) } ? text : nil
        }, print: { $0 })
}

extension ValueForm where Value == BluetoothUUID {
    /// A service, of the Bluetooth SIG's numbers or of a maker's own.
    static let serviceUUID = ValueForm(
        allowed: "a UUID of 16 or 128 bits", example: "fe4a",
        parse: { [4, 36].contains($0.utf8.count) ? BluetoothUUID($0) : nil }, print: { $0.description })
}

extension ValueForm {
    /// An array of values, each once.
    static func list<Element: Hashable>(of form: ValueForm<Element>, upTo limit: Int) -> ValueForm where Value == [Element] {
        ValueForm(allowed: "an array of 1 to \(limit), each \(form.allowed)", example: "[\(form.example)]") { value in
            guard case .array(let elements) = value.content else { return .failure(ValueRefusal(code: .wrongType, words: "is \(value.kind)")) }
            guard (1...limit).contains(elements.count) else {
                return .failure(ValueRefusal(code: .notAllowed, words: elements.isEmpty ? "is empty" : "has \(elements.count) values"))
            }
            var values: [Element] = []
            for element in elements {
                switch form.read(element) {
                case .failure(let refusal):
                    return .failure(ValueRefusal(code: refusal.code, words: "has a value that \(refusal.words)", position: refusal.position ?? element.position))
                case .success(let read):
                    guard !values.contains(read) else {
                        return .failure(ValueRefusal(code: .duplicate, words: "has \(form.write(read)) twice", position: element.position))
                    }
                    values.append(read)
                }
            }
            return .success(values)
        } write: { values in
            "[\(values.map(form.write).joined(separator: ", "))]"
        }
    }
}
