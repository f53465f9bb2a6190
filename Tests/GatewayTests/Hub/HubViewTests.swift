import Platform
import Testing
@testable import gateway

@Suite("What the LEDs show of the hub")
struct HubViewTests {
    @Test("an outbox that nobody could look into is not shown as everything delivered")
    func unknownQueue() throws {
        let world = try World(.init(seed: 1), recording: try projectRecording())
        let view = HubView(configuration: world.configuration(), wall: WallTime(seconds: 0, synchronised: true))
        let conditions = view.conditions(now: BootInstant(nanoseconds: 0))
        #expect(conditions.contains([.starting, .waitingToSend]))
    }
}
