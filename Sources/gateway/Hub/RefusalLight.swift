import Glibc
import Indicators
import Platform

/// Shows on the LEDs that the configuration was refused, as far as it says where they are.
enum RefusalLight {
    /// How long it is shown: then the process ends, and whoever supervises it starts it anew, with a configuration that may have been mended.
    static let time = Duration.seconds(60)

    /// Shows it until SIGTERM or SIGINT, at most for `time`. Without a status LED of hardware it returns at once.
    static func show(for path: String) {
        guard case .hardware(let whole)? = ConfigurationFile.indicators(path) else { return }
        // Of what the others would say nothing is known, and an LED that is on says that all is well. One alone says everything.
        let board = Configuration.Board(leds: whole.leds.count == 1 ? whole.leds : whole.leds.filter { $0.key == .status }, button: nil)
        guard !board.leds.isEmpty else { return }
        do throws(SystemError) {
            let loop = try EpollLoop()
            let end: @Sendable (CInt) -> Void = { [unowned loop] _ in loop.stop() }
            try loop.watchSignals([SIGTERM, SIGINT], end)
            // What becomes of LEDs is of no matter beside what was said already.
            let log = Log(sink: PrefixSink(), threshold: .error) { [unowned loop] in loop.now }
            let parts = IndicatorParts(.hardware(board), loop: loop, log: log)
            let lights = IndicatorBoard(loop: loop, output: parts.leds, layout: parts.layout)
            loop.spawn { await lights.set(.configurationRefused) }
            let over: @Sendable () -> Void = { [unowned loop] in loop.stop() }
            _ = loop.schedule(after: time, over)
            loop.run()
            loop.spawn {
                await lights.stop()
                loop.stop()
            }
            loop.run()
        } catch {
            Output.complain("gateway: the LEDs cannot show it: \(error)")
        }
    }
}
