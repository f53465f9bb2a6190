@testable import Outbox
import Platform
import Testing

@Suite("Where the outbox runs")
struct ExecutorTests {
    @Test("on a virtual loop the outbox runs in the loop's own turn, and its names follow from the seed")
    func virtual() throws {
        let names = try (0..<2).map { _ in
            let directory = Directory()
            let loop = VirtualLoop()
            return try loop.run {
                let (outbox, _) = try await Outbox.open(directory: directory.path, executor: loop, settings: .small(), random: SplitMix64(seed: 77))
                _ = try await outbox.configureOwners(["ada"])
                let outcomes = try await outbox.commit([
                    .beginLog(device: "C1", log: 7, base: 100, formerEnd: nil), .assign(device: "C1", log: 7, from: 100, owner: "ada"),
                    .enqueue(batch(100, 3))
                ])
                await outbox.close()
                guard case .enqueued(let id) = outcomes[2] else { throw Unexpected(outcomes: outcomes) }
                return id.text
            }
        }
        #expect(names[0] == names[1] && names[0].utf8.count == 32)
    }

    @Test("an outbox whose source of randomness begins anew gives no name twice, not even that of an entry just delivered", arguments: [false, true])
    func names(delivered: Bool) async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        let first = try await outbox.accept(batch(100, 3))
        if delivered { try await outbox.settle(first) }
        await outbox.close()
        outbox = try await Outbox.open(directory)
        let second = try await outbox.accept(batch(103, 3))
        #expect(first != second)
        await outbox.close()
    }
}
