import CLinux
import Glibc
import Platform

/// A connected `SOCK_SEQPACKET` socket with one buffer for all that it receives: no PDU costs more than its value.
struct PacketSocket: ~Copyable {
    private let descriptor: Descriptor
    private var buffer: [UInt8]

    /// What one recv(2) gave.
    enum Received {
        /// A packet's octets, as far as the buffer holds them, and its whole length.
        case packet(ArraySlice<UInt8>, length: Int)
        /// Nothing is there yet.
        case nothing
        /// The peer has closed its end, and everything before that is read. (A packet without octets looks the same; it would be a violation.)
        case end
        case failed(SystemError)
    }

    /// - Parameter capacity: the longest packet that is wanted whole.
    init(_ descriptor: consuming Descriptor, capacity: Int) {
        self.descriptor = descriptor
        buffer = [UInt8](repeating: 0, count: capacity)
    }

    /// The number, for the loop.
    var raw: CInt { descriptor.raw }

    borrowing func setNonBlocking() throws(SystemError) { try descriptor.setNonBlocking() }

    mutating func receive() -> Received {
        let raw = descriptor.raw
        // With MSG_TRUNC the answer is the packet's whole length, whatever of it fits the buffer.
        let length = buffer.withUnsafeMutableBytes { space in
            retryOnInterrupt { recv(raw, space.baseAddress, space.count, CInt(MSG_TRUNC)) }
        }
        if length > 0 { return .packet(buffer[..<min(length, buffer.count)], length: length) }
        if length == 0 { return .end }
        return errno == EAGAIN || errno == EWOULDBLOCK ? .nothing : .failed(.last("recv"))
    }

    /// Sends one packet; a packet socket takes it whole or not at all.
    ///
    /// - Returns: `false` when the socket is full.
    borrowing func send(_ packet: [UInt8]) throws(SystemError) -> Bool { try descriptor.send(packet) != nil }
}
