@testable import Indicators

/// The page for the wall, `docs/leds.svg`: every pattern to scale, with the words of `docs/leds.md`. A4, in black and white.
struct LeafletDrawing {
    /// One line of the page: what is seen, and what it means.
    struct Row {
        let pattern: LEDPattern
        let name: String
        let meaning: String
        let advice: String
    }

    struct Block {
        let led: LED
        let title: String
        let rows: [Row]
    }

    let blocks: [Block]

    /// How much time a line shows, in milliseconds; and where it lies on the page, in millimetres.
    private static let span = 12_000.0, left = 18.0, width = 62.0

    var svg: String {
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"210mm\" height=\"297mm\" viewBox=\"0 0 210 297\" font-family=\"sans-serif\">",
            "<title>What the lights say</title>",
            "<rect width=\"210\" height=\"297\" fill=\"white\"/>",
            text(18, 22, 9, "What the lights say", weight: "bold"),
            "<rect x=\"128\" y=\"11\" width=\"64\" height=\"19\" rx=\"2\" fill=\"none\" stroke=\"black\" stroke-width=\"0.4\"/>"
        ]
        for (index, block) in blocks.enumerated() {
            let x = 140 + 20 * index
            lines.append("<circle cx=\"\(x)\" cy=\"18\" r=\"2.2\" fill=\"black\"/>")
            lines.append("<text x=\"\(x)\" y=\"26.5\" font-size=\"3.6\" text-anchor=\"middle\">\(block.led.rawValue)</text>")
        }
        lines.append(text(18, 37, 4, "All three on: all is well. Each line below is 12 seconds long; black is light."))
        lines.append(text(18, 42.5, 4, "Flashes are counted: the more, the sooner somebody should look."))
        var y = 53.0
        for block in blocks {
            lines.append(text(Self.left, y, 5.2, escaped(block.title), weight: "bold"))
            y += 4
            for row in block.rows {
                lines += drawing(of: row.pattern, at: y)
                lines.append(text(Self.left, y + 7.6, 3, escaped(row.name)))
                var below = y + 3.4
                for part in wrapped(row.meaning, upTo: 46) {
                    lines.append(text(Self.left + Self.width + 6, below, 3.7, escaped(part), weight: "bold"))
                    below += 4.2
                }
                for part in wrapped("\u{2192} \(row.advice)", upTo: 64) where row.advice != "nothing" {
                    lines.append(text(Self.left + Self.width + 6, below, 3, escaped(part)))
                    below += 3.6
                }
                y = max(y + 12, below + 2)
            }
            y += 5
        }
        lines.append(text(18, 291, 3.2, "One light alone shows the most urgent of all. The whole page, with flickers and winks: docs/leds.md"))
        return (lines + ["</svg>"]).joined(separator: "\n") + "\n"
    }

    /// A bar for each stretch of light, over a line for the dark.
    private func drawing(of pattern: LEDPattern, at y: Double) -> [String] {
        var lines = ["<path d=\"M\(Self.left) \(number(y + 4))h\(number(Self.width))\" stroke=\"black\" stroke-width=\"0.2\"/>"]
        // A dip with each batch has no times of its own: two are drawn.
        let segments: [LEDSegment] = pattern == .onDippingWithBatches
            ? [.lit(.milliseconds(3_800)), .dark(.milliseconds(200)), .lit(.milliseconds(3_800)), .dark(.milliseconds(200)), .forever(lit: true)]
            : pattern.round
        var time = 0.0, index = 0
        while time < Self.span {
            let segment = segments[index % segments.count]
            let end = min(Self.span, segment.duration.map { time + Double($0.milliseconds) } ?? Self.span)
            if segment.lit {
                let x = Self.left + Self.width * time / Self.span, length = Self.width * (end - time) / Self.span
                lines.append("<rect x=\"\(number(x))\" y=\"\(number(y))\" width=\"\(number(length))\" height=\"4\"/>")
            }
            time = end
            index += 1
        }
        return lines
    }

    private func text(_ x: Double, _ y: Double, _ size: Double, _ words: String, weight: String = "normal") -> String {
        "<text x=\"\(number(x))\" y=\"\(number(y))\" font-size=\"\(number(size))\" font-weight=\"\(weight)\">\(words)</text>"
    }

    /// Lines of so many characters, as they fit beside the drawing.
    private func wrapped(_ words: String, upTo limit: Int) -> [String] {
        var lines = [""]
        for word in words.split(separator: " ") {
            if lines[lines.count - 1].count + word.count > limit { lines.append("") }
            lines[lines.count - 1] += (lines[lines.count - 1].isEmpty ? "" : " ") + word
        }
        return lines
    }

    private func escaped(_ words: String) -> String {
        words.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    }

    /// Hundredths of a millimetre.
    private func number(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        let rest = hundredths % 100
        return rest == 0 ? "\(hundredths / 100)" : "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}
