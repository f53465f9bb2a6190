import Glibc
import Platform

/// What failed between this hub and its Bluetooth kernel, under a code that stays the same between releases, and what can be done.
public struct BluetoothError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Reason: Sendable, Hashable {
        /// The management channel cannot be opened or is broken.
        case controlChannel(SystemError)
        /// The management channel was closed by this side or by the kernel.
        case controlChannelClosed
        /// The kernel refused a command.
        case refused(ManagementOpcode, ManagementStatus)
        /// The kernel did not answer a command in time.
        case unanswered(ManagementOpcode)
        /// The kernel's answer cannot be read; the text says why.
        case unreadable(ManagementOpcode, String)
        /// A call on an L2CAP socket failed.
        case socket(SystemError)
        /// The peer could not be connected.
        case connect(BluetoothAddress, SystemError)
        /// The peer could not be connected in the time that was given.
        case connectTimeout(BluetoothAddress)
        /// The link ended while its security was being raised: the peer has no key, another key, or does not want to pair.
        case securityRefused(SystemError)
        /// The link's security was not raised in the time that was given.
        case securityTimeout
    }

    public let reason: Reason

    public init(_ reason: Reason) { self.reason = reason }

    /// A short name that stays the same between releases.
    public var code: String {
        switch reason {
        case .controlChannel: "management-channel"
        case .controlChannelClosed: "management-closed"
        case .refused: "management-refused"
        case .unanswered: "management-unanswered"
        case .unreadable: "management-unreadable"
        case .socket: "l2cap-socket"
        case .connect: "l2cap-connect"
        case .connectTimeout: "l2cap-connect-timeout"
        case .securityRefused: "link-security-refused"
        case .securityTimeout: "link-security-timeout"
        }
    }

    /// Whether the kernel said that something of this kind is under way already: one LE connection may be pending for each controller, and
    /// a leaked one makes this answer permanent.
    public var isBusy: Bool {
        switch reason {
        case .refused(_, .busy): true
        case .connect(_, let error): error.code == EBUSY
        default: false
        }
    }

    /// What failed.
    public var description: String {
        switch reason {
        case .controlChannel(let error): "the Bluetooth management channel: \(error)"
        case .controlChannelClosed: "the Bluetooth management channel is closed"
        case .refused(let opcode, let status): "the kernel refused \(opcode): \(status)"
        case .unanswered(let opcode): "the kernel did not answer \(opcode)"
        case .unreadable(let opcode, let fault): "the kernel's answer to \(opcode) cannot be read: \(fault)"
        case .socket(let error): "an L2CAP socket: \(error)"
        case .connect(let address, let error): "\(address) cannot be connected: \(error)"
        case .connectTimeout(let address): "\(address) was not connected in time"
        case .securityRefused(let error): "the link ended while it was being encrypted: \(error)"
        case .securityTimeout: "the link was not encrypted in time"
        }
    }

    /// What the reader can do.
    public var remedy: String {
        switch reason {
        case .controlChannel(let error) where error.code == EPERM || error.code == EACCES: "give the gateway CAP_NET_ADMIN"
        case .controlChannel(let error) where error.code == EAFNOSUPPORT || error.code == EPROTONOSUPPORT:
            "use a kernel with Bluetooth (CONFIG_BT, CONFIG_BT_LE)"
        case .controlChannel, .controlChannelClosed: "restart the gateway"
        case .refused(_, .rfkilled): "switch the radio on: rfkill unblock bluetooth"
        case .refused(_, .permissionDenied): "give the gateway CAP_NET_ADMIN"
        case .refused, .unreadable: "check the controller and the kernel's log"
        case .unanswered: "the controller is power cycled; unplug it if that does not help"
        case .socket: "check that the kernel has Bluetooth and that no other program uses the attribute channel"
        case .connect, .connectTimeout: "check that the device is near, charged, and not connected to somebody else"
        case .securityRefused, .securityTimeout: "pair the device again"
        }
    }
}
