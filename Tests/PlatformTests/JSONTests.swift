import Platform
import Testing

private let malformedTexts: [(String, JSONError.Code, Int)] = [
    ("", .unfinished, 1), ("{", .unfinished, 1), ("[1,]", .syntax, 1), ("nul", .syntax, 1), ("\"\u{1}\"", .syntax, 1), ("\"\\ud800\"", .syntax, 1),
    ("01", .syntax, 1), ("1 2", .trailing, 1), ("{}\n\n x", .trailing, 3), ("1e999", .number, 1), ("9223372036854775808", .number, 1),
    ("{\"a\":1,\n\"a\":2}", .duplicateName, 2), ("[{\"b\":{\"a\":1,\"a\":1}}]", .duplicateName, 1),
    ("\"\\u0000\"", .text, 1), ("{\"\\u0000\":1}", .text, 1), ("NaN", .syntax, 1), ("'a'", .syntax, 1), ("[1] // no", .trailing, 1)
]

@Suite("JSON")
struct JSONTests {
    private func parse(_ text: String) throws(JSONError) -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

    @Test("reads as it was written, plain and indented", arguments: [
        .null, .bool(true), .bool(false), .integer(.max), .integer(.min), .real(0.5), .string(""), .string("ä\"\\\n\u{7f}🦮"),
        .array([.integer(1), .array([]), .null]), .object(["b": .integer(1), "a": .object([:])])
    ] as [JSONValue])
    func roundTrip(value: JSONValue) throws {
        #expect(try parse(value.encoded()) == value)
        #expect(try parse(value.encoded(indented: true)) == value)
    }

    @Test("members keep their order, read and written, and the order makes no difference")
    func order() throws {
        let value = try parse(#"{"z":1,"a":2,"m":{"y":[true,null],"b":0.5}}"#)
        #expect(value.encoded() == #"{"z":1,"a":2,"m":{"y":[true,null],"b":0.5}}"#)
        let other: JSONValue = .object(["m": .object(["b": .real(0.5), "y": .array([.bool(true), .null])]), "a": .integer(2), "z": .integer(1)])
        #expect(value == other && value.hashValue == other.hashValue)
        #expect(value != .object(["z": .integer(1), "a": .integer(2)]))
        #expect(JSONObject(["b": .null, "a": .null]).members.map(\.name) == ["a", "b"])
    }

    @Test("indented text has two blanks a level")
    func indented() {
        #expect(JSONValue.object(["a": .array([.integer(1)])]).encoded(indented: true) == "{\n  \"a\": [\n    1\n  ]\n}")
    }

    @Test("a decimal number is written digit for digit, and an empty array or object in two characters")
    func decimal() throws {
        let value: JSONValue = .object(["p": .decimal(DecimalNumber(1_200, exponent: -1)), "q": .decimal(DecimalNumber(-5, exponent: -2)), "e": .array([]), "o": .object([:])])
        #expect(value.encoded() == #"{"p":120.0,"q":-0.05,"e":[],"o":{}}"#)
        #expect(value.encoded(indented: true) == "{\n  \"p\": 120.0,\n  \"q\": -0.05,\n  \"e\": [],\n  \"o\": {}\n}")
        #expect(try parse("[\(DecimalNumber(189, exponent: -1)),\(DecimalNumber(3, exponent: 2))]") == .array([.real(18.9), .integer(300)]))
    }

    @Test("a member that is set again has its new value in its old place, and one that is set to nothing is gone")
    func members() {
        var object: JSONObject = ["a": .integer(1), "b": .integer(2), "a": .integer(3)]
        #expect(JSONValue.object(object).encoded() == #"{"a":3,"b":2}"#)
        object["c"] = .null
        object["a"] = nil
        #expect(JSONValue.object(object).encoded() == #"{"b":2,"c":null}"#)
    }

    @Test("what is asked for as something that it is not is nothing")
    func accessors() throws {
        let value = try parse(#"{"s":"x","i":7,"r":7.0,"b":true,"a":[1]}"#)
        #expect(value["s"]?.string == "x" && value["i"]?.integer == 7 && value["b"]?.bool == true && value["a"]?.elements == [.integer(1)])
        #expect(value["i"]?.string == nil && value["r"]?.integer == nil && value["s"]?.bool == nil && value["s"]?.elements == nil)
        #expect(value["none"] == nil && value["s"]?["s"] == nil && JSONValue.null["s"] == nil)
    }

    @Test("what is not JSON is refused with its kind and its place", arguments: malformedTexts)
    func malformed(text: String, code: JSONError.Code, line: Int) {
        do throws(JSONError) {
            let value = try parse(text)
            Issue.record("taken as \(value)")
        } catch {
            #expect(error.code == code)
            #expect(error.position?.line == line)
            #expect("\(error)".hasPrefix("line \(line), column "))
        }
    }

    @Test("an error says where it is and quotes nothing of the text")
    func discreet() {
        do throws(JSONError) {
            _ = try parse("{\"token\": \"secret\", \"pulse\": sixty}")
            Issue.record("taken")
        } catch {
            #expect(error.code == .syntax)
            // Up to the end of the word that is none.
            #expect(error.position?.byte == 34 && error.position?.column == 34)
            #expect(!"\(error)".contains("secret") && !"\(error)".contains("sixty"))
        }
    }

    @Test("what is not UTF-8 is refused, in values and in names", arguments: [
        [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x7B, 0x22, 0xC0, 0x80, 0x22, 0x3A, 0x31, 0x7D], [0xEF, 0xBB]
    ] as [[UInt8]])
    func notUTF8(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
    }

    @Test("NUL in a string or in a name is written escaped, not as the end")
    func nul() {
        #expect(JSONValue.string("a\u{0}b").encoded() == "\"a\\u0000b\"")
        #expect(JSONValue.object(["a\u{0}b": .integer(1)]).encoded() == "{\"a\\u0000b\":1}")
    }

    @Test("a number that JSON has not is written as null")
    func notANumber() {
        #expect(JSONValue.array([.real(.nan), .real(.infinity), .real(1)]).encoded() == "[null,null,1.0]")
        #expect(JSONValue.number(UInt64.max) == .integer(.max))
    }

    @Test("a text of the longest length is read, one of a byte more is refused unread")
    func size() throws {
        #expect(try JSONValue(parsing: Array("[1,2]".utf8), size: 5) == .array([.integer(1), .integer(2)]))
        #expect(throws: JSONError(code: .tooLarge, what: "more than 4 bytes", position: nil)) { try JSONValue(parsing: Array("[1,2]".utf8), size: 4) }
    }

    @Test("nesting is allowed up to the depth, brackets within strings aside")
    func depth() throws {
        #expect(try JSONValue(parsing: Array(#"[{"[[[":"{{\"[["}]"#.utf8), depth: 2).elements?.count == 1)
        #expect(throws: JSONError(code: .tooDeep, what: "nested deeper than 2", position: nil)) { try JSONValue(parsing: Array("[[[]]]".utf8), depth: 2) }
        #expect(throws: JSONError.self) { try JSONValue(parsing: [UInt8](repeating: UInt8(ascii: "["), count: 1 << 20)) }
    }

    @Test("random damage to a text never traps, and what is read can be written", arguments: 0..<4 as Range<UInt64>)
    func damaged(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let text = Array(#"{"receipt":"r-1","rejected":[{"sequence":4294967295,"code":"crc"}],"x":[null,true,-1.5e3,"\u00e4"]}"#.utf8)
        for _ in 0..<2_000 {
            var bytes = text
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            guard let value = try? JSONValue(parsing: bytes) else { continue }
            #expect(try parse(value.encoded()) == value)
        }
    }
}
