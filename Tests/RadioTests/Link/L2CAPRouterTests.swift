import Glibc
import Platform
import Testing

@testable import Radio

@Suite("Links of many devices")
struct L2CAPRouterTests {
    /// A link whose far end is given beside it.
    private func link(_ address: BluetoothAddress) throws -> (IncomingLink, far: CInt) {
        let (near, far) = try packetPair()
        return (IncomingLink(address: address, descriptor: Descriptor(owning: near)), far)
    }

    /// Whether the near end is closed.
    private func isClosed(_ far: CInt) -> Bool {
        var octet: UInt8 = 0
        return recv(far, &octet, 1, CInt(MSG_DONTWAIT)) == 0
    }

    @Test("each link goes to who waits for its device, with the device's address")
    func routing() throws {
        let loop = VirtualLoop()
        let router = L2CAPRouter(loop: loop)
        let (first, firstFar) = try link(device(1))
        let (second, secondFar) = try link(device(2))
        try loop.run {
            await router.expect([device(1), device(2)])
            let waiting = [1, 2].map { (number: UInt8) in
                loop.spawn { () -> (BluetoothAddress?, Int)? in
                    guard let link = try? await router.source(for: device(number)).nextLink() else { return nil }
                    let address = link.address
                    let descriptor = link.takeDescriptor()
                    return (address, (try? descriptor.send([number])) ?? 0)
                }
            }
            await loop.yield()
            #expect(await router.deliver(second) == .handedOver)
            #expect(await router.deliver(first) == .handedOver)
            for (task, number) in zip(waiting, UInt8(1)...2) { #expect(await task.value?.0 == device(number)) }
        }
        for (far, number) in [(firstFar, UInt8(1)), (secondFar, 2)] {
            var octet: UInt8 = 0
            #expect(recv(far, &octet, 1, 0) == 1 && octet == number)
            close(far)
        }
    }

    @Test("a link that comes early is kept until it is asked for, the last one of each device; a link that is down is not")
    func keeping() throws {
        let loop = VirtualLoop()
        let router = L2CAPRouter(loop: loop)
        let fars = try loop.run { () -> [CInt] in
            await router.expect([device(1)])
            var fars: [CInt] = []
            for _ in 0..<2 {
                let (link, far) = try self.link(device(1))
                #expect(await router.deliver(link) == .kept)
                fars.append(far)
            }
            let taken = try await router.source(for: device(1)).nextLink()
            _ = try taken.takeDescriptor().send([9])
            let (late, far) = try self.link(device(1))
            #expect(await router.deliver(late) == .kept)
            await router.linkEnded(device(1))
            return fars + [far]
        }
        #expect(isClosed(fars[0]), "the older one is closed")
        var octet: UInt8 = 0
        #expect(recv(fars[1], &octet, 1, 0) == 1 && octet == 9)
        #expect(isClosed(fars[2]))
        for far in fars { close(far) }
    }

    @Test("a device that nobody configured is refused and its link closed")
    func unknown() throws {
        let loop = VirtualLoop()
        let router = L2CAPRouter(loop: loop)
        let far = try loop.run { () -> CInt in
            await router.expect([device(1)])
            // The same 48 bits of the other kind are another device.
            let (link, far) = try self.link(BluetoothAddress(octets: device(1).octets, kind: .public)!)
            #expect(await router.deliver(link) == .refused)
            return far
        }
        #expect(isClosed(far))
        close(far)
    }

    @Test("a wait ends when it is cancelled, or when another takes its place, and the next link is the other's")
    func ends() throws {
        let loop = VirtualLoop()
        let router = L2CAPRouter(loop: loop)
        let (link, far) = try link(device(1))
        try loop.run {
            await router.expect([device(1)])
            let waits = (0..<3).map { _ in
                loop.spawn { () -> Bool in
                    do {
                        _ = try await router.source(for: device(1)).nextLink()
                        return true
                    } catch {
                        #expect(error is CancellationError)
                        return false
                    }
                }
            }
            await loop.yield()
            waits[2].cancel()
            for wait in waits { #expect(await wait.value == false) }
            let last = loop.spawn { () -> Bool in (try? await router.source(for: device(1)).nextLink()) != nil }
            await loop.yield()
            #expect(await router.deliver(link) == .handedOver)
            #expect(await last.value)
        }
        close(far)
    }
}
