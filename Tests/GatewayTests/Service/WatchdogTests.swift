import Outbox
import Platform
import Testing
import Uplink
@testable import gateway

@Suite("The watchdog is fed by a hub that is alive")
struct WatchdogTests {
    private let start = BootInstant(nanoseconds: 0)
    private let late = OverdueWork(kind: .read, subject: "front")

    @Test("two checks are within the period, and the storage thread is asked every half minute")
    func healthy() {
        var machine = WatchdogMachine(.init(period: .seconds(30)))
        #expect(machine.bounds.latest == .seconds(15))
        #expect(machine.bounds.earliest == .seconds(9))
        let actions = (0..<6).map { machine.check(storageAnswers: true, overdue: [], now: start + .seconds(15 * $0)) }
        #expect(actions == [[.ping, .feed], [.feed], [.ping, .feed], [.feed], [.ping, .feed], [.feed]])
    }

    @Test("a sync that takes less than a minute changes nothing")
    func slowSync() {
        var machine = WatchdogMachine(.init(period: .seconds(30)))
        #expect(machine.check(storageAnswers: true, overdue: [], now: start) == [.ping, .feed])
        for second in stride(from: 15, through: 60, by: 15) {
            #expect(machine.check(storageAnswers: false, overdue: [], now: start + .seconds(second)) == [.feed])
        }
        #expect(machine.check(storageAnswers: true, overdue: [], now: start + .seconds(75)) == [.ping, .feed])
    }

    @Test("a storage thread that is silent for more than a minute ends the feeding, is said once, and begins it again when it answers")
    func blocked() {
        var machine = WatchdogMachine(.init(period: .seconds(30)))
        _ = machine.check(storageAnswers: true, overdue: [], now: start)
        #expect(machine.check(storageAnswers: false, overdue: [], now: start + .seconds(61)) == [.complain([.storageSilent])])
        #expect(machine.check(storageAnswers: false, overdue: [], now: start + .seconds(76)) == [])
        #expect(machine.check(storageAnswers: true, overdue: [], now: start + .seconds(85)) == [.ping, .recovered, .feed])
    }

    @Test("work past its deadline ends the feeding, whatever the storage thread says")
    func overdue() {
        var machine = WatchdogMachine(.init(period: .seconds(30)))
        #expect(machine.check(storageAnswers: true, overdue: [late], now: start) == [.ping, .complain([.overdue(late)])])
        #expect(machine.check(storageAnswers: true, overdue: [late], now: start + .seconds(15)) == [])
        let other = OverdueWork(kind: .controller, subject: "")
        #expect(machine.check(storageAnswers: true, overdue: [late, other], now: start + .seconds(20)) == [.complain([.overdue(late), .overdue(other)])])
        #expect(machine.check(storageAnswers: true, overdue: [], now: start + .seconds(29)) == [.recovered, .feed])
    }
}

@Suite("What is past its own deadline")
struct DeadlinesTests {
    private let start = BootInstant(nanoseconds: 0)

    private func view(_ change: (inout HubView, Configuration.Collar) -> Void) throws -> HubView {
        let configuration = try World(.init(seed: 1), recording: try projectRecording()).configuration()
        var view = HubView(configuration: configuration, wall: WallTime(seconds: 0, synchronised: true))
        change(&view, configuration.collars[0])
        return view
    }

    /// What is found at each moment, the hub being as it is all the time.
    private func found(_ view: HubView, at moments: [Duration]) -> [[OverdueWork.Kind]] {
        var deadlines = Deadlines()
        return moments.map { deadlines.overdue(view, now: start + $0).map(\.kind) }
    }

    @Test("a hub that is offline, alone and without a controller is healthy, however long that lasts")
    func idle() throws {
        let view = try view { view, collar in
            view.fault = .init(.inUse, "")
            view.radio = .init(controller: .absent("there is none"))
            view.collars = [(collar, CollarReport(since: start))]
            view.lanes = [LaneStatus(owner: "anna")]
        }
        #expect(found(view, at: [.zero, .seconds(86_400), .seconds(30 * 86_400)]) == [[], [], []])
    }

    @Test("an attempt or a probe whose moment has long passed is overdue; without entries there is none to come")
    func attempt() throws {
        for state in [LaneStatus.State.waiting(until: start), .holding(.authorisation, probe: start)] {
            let waiting = try view { view, _ in view.lanes = [LaneStatus(owner: "anna", state: state, queued: 2, exhausted: 1)] }
            let limit = waiting.configuration.uplink.requestTimeout * 2 + Deadlines.slack
            #expect(found(waiting, at: [limit, limit + .seconds(1)]) == [[], [.attempt]])
            let nothing = try view { view, _ in view.lanes = [LaneStatus(owner: "anna", state: state, queued: 1, exhausted: 1)] }
            #expect(found(nothing, at: [limit + .seconds(1)]) == [[]])
        }
    }

    @Test("a request is overdue when it takes longer than two of them may; another entry begins anew")
    func request() throws {
        func sending(_ entry: String) throws -> HubView { try view { view, _ in view.lanes = [LaneStatus(owner: "anna", state: .sending(entry: entry), queued: 1)] } }
        let one = try sending("one"), other = try sending("other")
        let limit = one.configuration.uplink.requestTimeout * 2 + Deadlines.slack
        #expect(found(one, at: [.zero, limit, limit + .seconds(1)]) == [[], [], [.request]])
        var deadlines = Deadlines()
        #expect(deadlines.overdue(one, now: start) == [])
        #expect(deadlines.overdue(other, now: start + limit + .seconds(1)) == [])
    }

    @Test("a link that is neither set up nor given up, and a read that stands still, are overdue; one that goes on is not")
    func collar() throws {
        func collar(_ state: CollarReport.State, checkpoint: UInt64 = 0) throws -> HubView {
            try view { view, device in
                var report = CollarReport(since: start)
                report.state = state
                report.checkpoint = checkpoint
                view.collars = [(device, report)]
            }
        }
        #expect(found(try collar(.linking), at: [.zero, Deadlines.link, Deadlines.link + .seconds(1)]) == [[], [], [.link]])
        #expect(found(try collar(.reading), at: [.zero, Deadlines.read, Deadlines.read + .seconds(1)]) == [[], [], [.read]])
        #expect(found(try collar(.linked), at: [.zero, .seconds(86_400)]) == [[], []])
        #expect(found(try collar(.held), at: [.zero, .seconds(86_400)]) == [[], []])
        var deadlines = Deadlines()
        for step in 0..<100 {
            #expect(deadlines.overdue(try collar(.reading, checkpoint: UInt64(step)), now: start + .seconds(step * 500)) == [])
        }
    }

    @Test("a cuff's link and a cuff's readings likewise; a measurement takes its time")
    func cuff() throws {
        let device = Configuration.Cuff.forTests(serial: "K-1")
        func cuff(_ state: CuffReport.State, last: BootInstant? = nil) throws -> HubView {
            try view { view, _ in
                var report = CuffReport(since: start)
                report.state = state
                report.lastReading = last
                view.cuffs = [(device, report)]
            }
        }
        #expect(found(try cuff(.linking), at: [.zero, Deadlines.link + .seconds(1)]) == [[], [.link]])
        #expect(found(try cuff(.reading), at: [.zero, Deadlines.read + .seconds(1)]) == [[], [.read]])
        #expect(found(try cuff(.measuring), at: [.zero, .seconds(86_400)]) == [[], []])
        var deadlines = Deadlines()
        for step in 0..<100 {
            let moment = start + .seconds(step * 500)
            #expect(deadlines.overdue(try cuff(.reading, last: moment), now: moment) == [])
        }
    }

    @Test("a controller that is neither set up nor given up is overdue")
    func controller() throws {
        for state in [HubRadio.Controller.starting, .recovering("reset")] {
            let view = try view { view, _ in view.radio = .init(controller: state) }
            #expect(found(view, at: [.zero, Deadlines.controller, Deadlines.controller + .seconds(1)]) == [[], [], [.controller]])
        }
    }
}
