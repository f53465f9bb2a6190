import Indicators
import Platform

/// The LEDs and the button of a configuration, ready for the hub.
struct IndicatorParts {
    let leds: any LEDOutput
    let layout: LEDLayout
    /// Not started yet; `nil` without one.
    let button: PairingButton?

    init(_ indicators: Configuration.Indicators, loop: any EventLoop, log: Log) {
        switch indicators {
        case .none:
            (leds, layout, button) = (DarkOutput(), .none, nil)
        case .terminal:
            (leds, layout, button) = (TerminalOutput(), .full, nil)
        case .hardware(let board):
            leds = HardwareOutput(loop: loop, places: board.leds, log: log)
            layout = LEDLayout(board.leds.keys)
            button = board.button.map { PairingButton(loop: loop, line: $0.line, resets: $0.resets, log: log) }
        }
    }
}

extension IndicatorParts {
    /// Lets the button open the hub's pairing, and forget its devices where that is allowed.
    ///
    /// - Parameter devices: the names of the configured devices.
    func join(_ hub: Hub, devices: [String], loop: any EventLoop, log: Log) async {
        guard let button else { return }
        let press: @Sendable () -> Void = { loop.spawn { await hub.openPairing() } }
        let reset: @Sendable () -> Void = { loop.spawn { await Self.forgetAll(devices, of: hub, log) } }
        await button.start(onPress: press, onReset: reset)
    }

    /// As `gateway forget` does, for each device: its bonds and the address it was found at. What was read stays and is delivered.
    private static func forgetAll(_ devices: [String], of hub: Hub, _ log: Log) async {
        for device in devices {
            switch await hub.perform(.forget(device: device)) {
            case .success: log(.notice, .buttonHeld, "\(device) is forgotten, as the button asked")
            case .failure(let error): log(.warning, .buttonHeld, "\(device) is not forgotten: \(error.text) [\(error.code)]")
            }
        }
    }
}

/// A board without LEDs.
private struct DarkOutput: LEDOutput {
    mutating func set(_ led: LED, lit: Bool) {}
    mutating func close() {}
}
