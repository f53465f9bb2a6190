import Platform
import Synchronization
import Testing
@testable import gateway

@Suite("What becomes of a pairing that somebody waits for")
struct PairingWatchTests {
    /// Whether `wait` has ended by now.
    private static func run(_ devices: Set<String>, _ body: @escaping @Sendable (PairingWatch, Flag, VirtualLoop) async throws -> Void) throws {
        let loop = VirtualLoop()
        try loop.run {
            let watch = PairingWatch(devices)
            let ended = Flag()
            loop.spawn {
                await watch.wait()
                ended.set()
            }
            for _ in 0..<8 { await loop.yield() }
            try await body(watch, ended, loop)
            watch.end()
            for _ in 0..<8 { await loop.yield() }
            #expect(ended.isSet, "whatever came before, the end ends the wait")
        }
    }

    private static func settle(_ loop: VirtualLoop) async { for _ in 0..<8 { await loop.yield() } }

    @Test("the wait ends with the last device, and not with one of two")
    func last() throws {
        try Self.run(["A1", "B2"]) { watch, ended, loop in
            watch.worked("A1", adopted: false)
            await Self.settle(loop)
            #expect(!ended.isSet)
            watch.worked("B2", adopted: true)
            await Self.settle(loop)
            #expect(ended.isSet)
            #expect(watch.results == ["A1": .paired(adopted: false), "B2": .paired(adopted: true)])
        }
    }

    @Test("a device of which nothing is heard is told as that")
    func nothing() throws {
        try Self.run(["A1"]) { watch, ended, loop in
            watch.end()
            await Self.settle(loop)
            #expect(ended.isSet)
            guard case .failed("not-heard", _)? = watch.results["A1"] else {
                Issue.record("\(watch.results)")
                return
            }
        }
    }

    @Test("a failure is told with its last reason, and does not end the wait: another try may follow")
    func failure() throws {
        try Self.run(["A1"]) { watch, ended, loop in
            watch.failed("A1", "first", "1")
            watch.failed("A1", "second", "2")
            await Self.settle(loop)
            #expect(!ended.isSet)
            #expect(watch.results == ["A1": .failed(code: "second", text: "2")])
            watch.worked("A1", adopted: false)
            watch.failed("A1", "late", "3")
            await Self.settle(loop)
            #expect(ended.isSet)
            #expect(watch.results == ["A1": .paired(adopted: false)], "what fails afterwards is no pairing of this one")
        }
    }

    @Test("an adoption stays one when the link works afterwards, in either order")
    func adoption() throws {
        for order in [[true, false], [false, true]] {
            try Self.run(["A1"]) { watch, _, _ in
                for adopted in order { watch.worked("A1", adopted: adopted) }
                #expect(watch.results == ["A1": .paired(adopted: true)])
            }
        }
    }

    @Test("devices that nobody asked for change nothing")
    func strangers() throws {
        try Self.run(["A1"]) { watch, ended, loop in
            watch.worked("B2", adopted: true)
            watch.failed("B2", "x", "x")
            await Self.settle(loop)
            #expect(!ended.isSet)
            #expect(watch.results.keys.sorted() == ["A1"])
        }
    }

    @Test("who waits for nothing, or after the end, does not wait")
    func none() throws {
        try Self.run([]) { _, ended, _ in #expect(ended.isSet) }
        let loop = VirtualLoop()
        try loop.run {
            let watch = PairingWatch(["A1"])
            watch.end()
            await watch.wait()
        }
    }
}
