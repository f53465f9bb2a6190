import Outbox
import Platform
import Testing

@Suite("Places")
struct PlacesTests {
    @Test("collars get 16 places, cuffs the other four, and nobody a 21st")
    func bounds() {
        var places = Places(owners: 1)
        for number in 0..<30 { places.wait(device: "C\(number)", owner: "ada", kind: .collar) }
        #expect(places.grant().count == 16)
        for number in 0..<9 { places.wait(device: "K\(number)", owner: "ada", kind: .cuff) }
        #expect(places.grant().map(\.device) == ["K0", "K1", "K2", "K3"])
        #expect(places.used == 20 && places.usedByCollars == 16)
        #expect(places.grant().isEmpty)
    }

    @Test("a place that is free again goes to the device that waits longest")
    func roundRobin() {
        var places = Places(OutboxSettings(places: 2, collarPlaces: 2), owners: 1)
        for device in ["A", "B", "C"] { places.wait(device: device, owner: "ada", kind: .collar) }
        var held = places.grant()
        var order = held.map(\.device)
        for _ in 0..<7 {
            let done = held.removeFirst()
            places.fill(done)
            places.entryLeft(owner: "ada", kind: .collar)
            places.wait(device: done.device, owner: "ada", kind: .collar)
            let granted = places.grant()
            #expect(granted.count == 1)
            held += granted
            order += granted.map(\.device)
        }
        #expect(order == ["A", "B", "C", "A", "B", "C", "A", "B", "C"])
    }

    @Test("an owner may use idle places, but not more than their share while another waits")
    func share() {
        var places = Places(owners: 2)
        for number in 0..<12 { places.wait(device: "A\(number)", owner: "ada", kind: .collar) }
        #expect(places.grant().count == 12)
        for number in 12..<20 { places.wait(device: "A\(number)", owner: "ada", kind: .collar) }
        for number in 0..<2 { places.wait(device: "B\(number)", owner: "bob", kind: .collar) }
        // While bob waits ada is over the share of 8; once bob is served the rest is free for ada.
        let granted = places.grant()
        #expect(granted.prefix(2).map(\.device) == ["B0", "B1"])
        #expect(granted.count == 4)
    }

    @Test("a reservation ends once: filled or released, and an entry counts in its stead")
    func once() {
        var places = Places(OutboxSettings(places: 1, collarPlaces: 1), owners: 1)
        places.wait(device: "A", owner: "ada", kind: .collar)
        places.wait(device: "A", owner: "ada", kind: .collar)
        let granted = places.grant()
        #expect(granted.count == 1 && places.reserved == 1 && !places.waits(device: "A"))
        places.fill(granted[0])
        places.fill(granted[0])
        places.release(granted[0])
        #expect(places.used == 1 && places.reserved == 0)
        places.update(queued: [])
        #expect(places.used == 0)
        places.wait(device: "A", owner: "ada", kind: .collar)
        places.leave(device: "A")
        #expect(places.grant().isEmpty)
    }

    @Test("no order of requests breaks a bound or leaves a place empty that somebody may have", arguments: UInt64(1)...30)
    func random(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var places = Places(owners: 3)
        let share = 16 / 3
        var reserved: [Places.Reservation] = []
        var stored: [Places.Reservation] = []
        var waiting: [String: (owner: String, kind: DeviceKind)] = [:]
        for _ in 0..<400 {
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                let number = Int.random(in: 0..<24, using: &random)
                let kind: DeviceKind = number < 18 ? .collar : .cuff
                places.wait(device: "D\(number)", owner: "owner-\(number % 3)", kind: kind)
                waiting["D\(number)"] = ("owner-\(number % 3)", kind)
            case 1 where !reserved.isEmpty:
                let done = reserved.remove(at: Int.random(in: 0..<reserved.count, using: &random))
                if Bool.random(using: &random) {
                    places.fill(done)
                    stored.append(done)
                } else {
                    places.release(done)
                }
            case 2 where !stored.isEmpty:
                let gone = stored.remove(at: Int.random(in: 0..<stored.count, using: &random))
                places.entryLeft(owner: gone.owner, kind: gone.kind)
            default: break
            }
            func held(_ owner: String) -> Int { (reserved + stored).count { $0.owner == owner && $0.kind == .collar } }
            for reservation in places.grant() {
                let others = waiting.values.contains { $0.kind == .collar && $0.owner != reservation.owner }
                if reservation.kind == .collar, others { #expect(held(reservation.owner) < share) }
                waiting[reservation.device] = nil
                reserved.append(reservation)
            }
            #expect(places.used == reserved.count + stored.count && places.used <= 20 && places.usedByCollars <= 16)
            if places.used < 20 { #expect(!waiting.values.contains { $0.kind == .cuff }) }
            if places.used < 20, places.usedByCollars < 16 {
                let owners = Set(waiting.values.filter { $0.kind == .collar }.map(\.owner))
                #expect(owners.count != 1 && owners.allSatisfy { held($0) >= share })
            }
        }
    }
}
