import Platform
import Testing

@testable import gateway

@Suite("A damaged configuration never crashes the gateway and never starts one that ignores a line")
struct MutationTests {
    @Test("whatever happens to the sample, it is refused or every line of it counts", arguments: 0..<8 as Range<UInt64>)
    func mutations(seed: UInt64) throws {
        let scratch = try ConfigurationScratch()
        try scratch.write("-----BEGIN CERTIFICATE-----\n", to: "backend-ca.pem")
        let sample = Array(try Sample().complete(in: scratch, commentedToo: true).utf8)
        // Comments are most of the sample and nothing to damage.
        let lines = sample.split(separator: UInt8(ascii: "\n")).filter { $0.first != UInt8(ascii: "#") }
        var mutator = Mutator(lines: lines.map(Array.init), random: SplitMix64(seed: seed))
        var accepted = 0, refused = 0
        for _ in 0..<250 {
            let bytes = mutator.next()
            let path = try scratch.write(bytes, to: "gateway.toml")
            let outcome = ConfigurationFile.load(path, checks: .command)
            if let configuration = outcome.configuration {
                accepted += 1
                #expect(!outcome.diagnostics.contains { $0.severity == .error })
                expectEveryLineCounts(bytes, configuration)
            } else {
                refused += 1
                #expect(outcome.diagnostics.contains { $0.severity == .error })
            }
            #expect(outcome.diagnostics.allSatisfy { !$0.description.contains("token-of-") && !$0.message.contains("\n") })
        }
        // Both ends of the test are reached.
        #expect(accepted > 5)
        #expect(refused > 100)
    }

    @Test("whatever happens to a drop-in over the sample, it is refused or every line of both counts, or is shown not to", arguments: 0..<4 as Range<UInt64>)
    func dropIns(seed: UInt64) throws {
        let scratch = try ConfigurationScratch()
        try scratch.write("-----BEGIN CERTIFICATE-----\n", to: "backend-ca.pem")
        let sample = Array(try Sample().complete(in: scratch, commentedToo: true).utf8)
        let path = try scratch.write(sample, to: "gateway.toml", mode: 0o600)
        let lines = sample.split(separator: UInt8(ascii: "\n")).filter { $0.first != UInt8(ascii: "#") }
        var mutator = Mutator(lines: lines.map(Array.init), random: SplitMix64(seed: seed &+ 1_000))
        var accepted = 0, refused = 0
        for _ in 0..<250 {
            let bytes = mutator.next()
            let dropIn = try scratch.dropIn("1.toml", String(decoding: bytes, as: UTF8.self))
            let outcome = ConfigurationFile.load(path, checks: .command)
            if let configuration = outcome.configuration {
                accepted += 1
                expectEveryLineCounts(Array(try fileText(dropIn).utf8), configuration, in: dropIn)
                expectEveryLineCounts(sample, configuration, in: path)
            } else {
                refused += 1
                #expect(outcome.diagnostics.contains { $0.severity == .error })
            }
        }
        #expect(accepted > 5)
        #expect(refused > 50)
    }

    /// Deletes, doubles, exchanges, swaps and sets each character of each key and section in turn: whatever it makes of a line is reported, or counts.
    @Test("no slip in the name of a key or a section passes unseen")
    func slips() throws {
        let scratch = try ConfigurationScratch()
        try scratch.write("-----BEGIN CERTIFICATE-----\n", to: "backend-ca.pem")
        let lines = try Sample().complete(in: scratch, commentedToo: true).split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
        let settings = try #require(try scratch.load(lines.joined(separator: "\n")).configuration).settings
        var tried = 0
        for (index, line) in lines.enumerated() {
            let name = line.hasPrefix("[") ? line : String(line.prefix { $0 != " " })
            for slip in Set(slips(of: Array(name))) where slip != name {
                var changed = lines
                changed[index] = slip + line.dropFirst(name.count)
                tried += 1
                let outcome = try scratch.load(changed.joined(separator: "\n") + "\n")
                guard let configuration = outcome.configuration else { continue }
                // A comment sign makes a comment, and a dot or a space more may be the same name.
                let isComment = changed[index].hasPrefix("#"), isSame = configuration.settings.map(\.value) == settings.map(\.value) && slip.contains(" ")
                let isAnother = configuration.settings.map(\.value) != settings.map(\.value)
                #expect(isComment || isSame || isAnother, "\(changed[index])")
            }
        }
        #expect(tried > 2_000)
    }

    private func slips(of name: [Character]) -> [String] {
        var slips: [[Character]] = []
        for place in name.indices {
            slips.append(Array(name[..<place] + name[(place + 1)...]))
            slips.append(Array(name[...place] + name[place...]))
            for other: Character in ["x", "_", "-", " ", ".", "#", "\"", name[place].isUppercase ? "a" : Character(name[place].uppercased())] {
                slips.append(Array(name[..<place] + [other] + name[(place + 1)...]))
            }
            if place > 0 {
                var swapped = name
                swapped.swapAt(place - 1, place)
                slips.append(swapped)
            }
        }
        return slips.map { String($0) }
    }

    @Test("a line that goes is reported, or the value that it gave counts no longer")
    func removals() throws {
        let scratch = try ConfigurationScratch()
        try scratch.write("-----BEGIN CERTIFICATE-----\n", to: "backend-ca.pem")
        let lines = try Sample().complete(in: scratch, commentedToo: true).split(separator: "\n").filter { !$0.hasPrefix("#") }.map(String.init)
        let before = try #require(try scratch.load(lines.joined(separator: "\n")).configuration).settings
        for index in lines.indices {
            var fewer = lines
            fewer.remove(at: index)
            guard let after = try scratch.load(fewer.joined(separator: "\n")).configuration?.settings else { continue }
            let isGone = before.contains { setting in
                if case .file(let position) = setting.origin { position.line == index + 1 } else { false }
            } && after.count { if case .file = $0.origin { true } else { false } } < before.count { if case .file = $0.origin { true } else { false } }
            // A head without its table: what stood in it belongs to another one now, or was refused.
            #expect(isGone || lines[index].hasPrefix("["), "\(lines[index])")
        }
    }

    /// Every line is empty, a comment, the head of a known section, or gives a value that counts or is noted not to.
    private func expectEveryLineCounts(_ bytes: [UInt8], _ configuration: Configuration, in file: String? = nil) {
        let text = String(decoding: bytes, as: UTF8.self)
        // A string or array over several lines covers more than the line of its key.
        guard !text.contains("\"\"\""), !text.contains("'''") else { return }
        var counting: Set<Int> = []
        for setting in configuration.settings {
            var places = setting.instead
            if case .file(let position) = setting.origin { places.append(position) }
            for position in places where file == nil || position.file == file { counting.insert(position.line) }
        }
        // By bytes: to Swift CR and LF together are one character, and not a line feed.
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map { String(Substring($0)) }
        for (index, line) in lines.enumerated() where !counting.contains(index + 1) {
            let content = line.drop { $0 == " " || $0 == "\t" }
            let head = content.prefix { $0 != "#" }.filter { !"[] \t\r\"'".contains($0) }
            #expect(content.isEmpty || content == "\r" || content.hasPrefix("#") || (content.hasPrefix("[") && Section(rawValue: head) != nil),
                    "line \(index + 1) of \(text)")
        }
    }
}

/// Damages a text in the ways of people and of disks.
private struct Mutator {
    let lines: [[UInt8]]
    var random: SplitMix64

    mutating func next() -> [UInt8] {
        var lines = self.lines
        for _ in 0..<Int.random(in: 1...2, using: &random) { mutate(&lines) }
        return Array(lines.joined(separator: [UInt8(ascii: "\n")])) + [UInt8(ascii: "\n")]
    }

    private mutating func mutate(_ lines: inout [[UInt8]]) {
        let place = Int.random(in: 0..<lines.count, using: &random)
        switch Int.random(in: 0..<11, using: &random) {
        case 0: lines.remove(at: place)
        case 1: lines.insert(lines[place], at: Int.random(in: 0...lines.count, using: &random))
        case 2: lines.swapAt(place, Int.random(in: 0..<lines.count, using: &random))
        case 3: lines[place].insert(UInt8(ascii: "#"), at: 0)
        case 4: if let byte = byte(of: lines[place]) { lines[place][byte] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
        case 5: if let byte = byte(of: lines[place]) { lines[place].remove(at: byte) }
        case 6: if let byte = byte(of: lines[place]) { lines[place].insert(UInt8.random(in: 0...255, using: &random), at: byte) }
        case 7: lines[place] = Array(lines[place].prefix(Int.random(in: 0...lines[place].count, using: &random)))
        case 8: if let byte = byte(of: lines[place]) { lines[place][byte] = "\"'[]{}=.,#\\ \t0a-_/:".utf8.randomElement(using: &random) ?? 0 }
        case 9: lines[place] += Array(["  # why", "\r", " ", " x", ", 1", "\"", "]", " = 1"].randomElement(using: &random)?.utf8 ?? "".utf8)
        default: lines.insert(Array(["", "x = 1", "[time]", "[[owner]]", "[uplink.x]", "\"\" = 2", "# -", "a.b = 3", "level = \"debug\""]
            .randomElement(using: &random)?.utf8 ?? "".utf8), at: place)
        }
    }

    private mutating func byte(of line: [UInt8]) -> Int? { line.indices.randomElement(using: &random) }
}
