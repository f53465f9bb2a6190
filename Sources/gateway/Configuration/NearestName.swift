/// Guesses which name somebody meant.
enum NearestName {
    /// The name nearest to `written`; `nil` when all are too far to be a slip of the fingers. Of two equally near ones, the first.
    static func of(_ written: String, among names: [String]) -> String? {
        // Longer names leave room for more slips; a name of two letters leaves room for one.
        let bound = max(1, min(written.count, 24) / 3)
        var nearest: (name: String, distance: Int)?
        for name in names {
            let distance = distance(written.lowercased(), name.lowercased())
            if distance <= bound, distance < nearest?.distance ?? .max { nearest = (name, distance) }
        }
        return nearest?.name
    }

    /// The optimal string alignment distance: how many insertions, removals, replacements and swaps of neighbours lead from one to the other.
    static func distance(_ left: String, _ right: String) -> Int {
        // What is longer than any name of ours is far from all of them; the table of distances must stay small for a hostile file.
        let a = Array(left.unicodeScalars.prefix(64)), b = Array(right.unicodeScalars.prefix(64))
        var beforeLast: [Int] = []
        var last = Array(0...b.count)
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var best = min(last[j + 1] + 1, row[j] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, beforeLast[j - 1] + 1) }
                row.append(best)
            }
            beforeLast = last
            last = row
        }
        return last[b.count]
    }
}
