/// A value that the peer sent of itself: a notification or an indication (Core Vol 3 Part G 4.10 and 4.11).
public struct ValueUpdate: Sendable, Hashable {
    /// The handle of the characteristic's value.
    public let handle: AttributeHandle
    /// The value as it came; a peer may have cut it at ATT_MTU - 3.
    public let value: [UInt8]
    /// Whether the peer waits for `GATTClient.confirmIndication()`.
    public let isIndication: Bool

    public init(handle: AttributeHandle, value: [UInt8], isIndication: Bool) {
        self.handle = handle
        self.value = value
        self.isIndication = isIndication
    }
}
