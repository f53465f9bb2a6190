import Testing
@testable import gateway

@Suite("When the start is done")
struct StartUpTests {
    @Test("with the outbox open and a controller set up, in either order")
    func whole() {
        var start = StartUp()
        start.update(store: .open, controller: .missing)
        #expect(!start.isDone)
        start.update(store: .open, controller: .ready)
        #expect(start.isDone)
        start = StartUp()
        start.update(store: .opening, controller: .ready)
        #expect(!start.isDone)
        start.update(store: .open, controller: .ready)
        #expect(start.isDone)
    }

    @Test("with the outbox open alone, where no device is reached over the air")
    func withoutRadio() {
        var start = StartUp()
        start.update(store: .open, controller: .unneeded)
        #expect(start.isDone)
    }

    @Test("at the limit without a controller, and at the limit with a disk that cannot be used", arguments: [StartUp.Store.open, .faulted])
    func limit(_ store: StartUp.Store) {
        var start = StartUp()
        start.update(store: store, controller: .missing)
        #expect(!start.isDone)
        start.limitReached()
        #expect(start.isDone)
    }

    @Test("not at the limit while the outbox is still being opened, but as soon as that has ended one way or the other", arguments: [StartUp.Store.open, .faulted])
    func slowCard(_ store: StartUp.Store) {
        var start = StartUp()
        start.update(store: .opening, controller: .missing)
        start.limitReached()
        #expect(!start.isDone)
        start.update(store: store, controller: .missing)
        #expect(start.isDone)
    }

    @Test("once and for all")
    func once() {
        var start = StartUp()
        start.update(store: .open, controller: .ready)
        start.update(store: .faulted, controller: .missing)
        start.limitReached()
        #expect(start.isDone)
    }
}
