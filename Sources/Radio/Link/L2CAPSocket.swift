import CBlueZ
import Glibc
import Platform
import Synchronization

/// The attribute channel of L2CAP (Core Vol 3 Part A 2.1: CID 4) as the kernel's sockets have it.
enum L2CAPSocket {
    static let attributeChannel: UInt16 = 4
    /// The channel has no flow control: what does not fit is lost without a word. Holds more than ten batches of 128 windows, with what the kernel counts for each packet.
    static let receiveBuffer: CInt = 4 << 20

    /// A socket bound to the attribute channel of whichever controller. It takes PDUs of up to 672 octets, L2CAP's default and more than any ATT_MTU
    /// (517) needs, so its own MTU is left alone.
    static func bound() throws(BluetoothError) -> Descriptor {
        let raw = cbluez_l2cap_socket()
        guard raw >= 0 else { throw BluetoothError(.socket(.last("socket", subject: "L2CAP"))) }
        let descriptor = Descriptor(owning: raw)
        var any = bdaddr_t()
        guard cbluez_l2cap_bind(raw, &any, UInt8(BDADDR_LE_PUBLIC), attributeChannel) == 0 else {
            throw BluetoothError(.socket(.last("bind", subject: "the attribute channel")))
        }
        return descriptor
    }
}

/// A link that has come and waits for its user; closed unless it is taken.
public final class IncomingLink: Sendable {
    /// The peer, by its identity address where the kernel knows it.
    public let address: BluetoothAddress
    /// The size of the receive buffer as the kernel counts it; smaller than wanted where the daemon lacks CAP_NET_ADMIN.
    public let receiveBuffer: Int
    private let descriptor: Mutex<CInt?>

    init(address: BluetoothAddress, descriptor: consuming Descriptor) {
        self.address = address
        let raw = descriptor.release()
        receiveBuffer = Int(cbluez_receive_buffer(raw, L2CAPSocket.receiveBuffer))
        self.descriptor = Mutex(raw)
    }

    deinit {
        // Nobody else can hold it any more.
        if let raw = descriptor.withLock({ $0 }) { _ = Descriptor(owning: raw) }
    }

    /// Gives the link away; once.
    public func take() -> Link? {
        let taken: CInt? = descriptor.withLock { raw in
            defer { raw = nil }
            return raw
        }
        guard let taken else { return nil }
        return Link(peer: address.description, address: address, descriptor: Descriptor(owning: taken))
    }
}
