import Platform

extension GATTClient {
    /// A client over a link.
    ///
    /// - Parameters:
    ///   - link: taken over.
    ///   - raiseSecurity: see the other initializer.
    /// - Throws: `BluetoothError` when there are no descriptors left.
    public init(
        link: consuming Link, loop: any EventLoop, configuration: GATTClientConfiguration = .init(), raiseSecurity: RaiseSecurity? = nil
    ) throws(BluetoothError) {
        // Over a Unix socket there is nothing to encrypt.
        guard link.address != nil else {
            self.init(descriptor: link.takeDescriptor(), loop: loop, configuration: configuration, raiseSecurity: raiseSecurity)
            return
        }
        let security = try link.security(on: loop)
        self.init(
            descriptor: link.takeDescriptor(), loop: loop, configuration: configuration, raiseSecurity: raiseSecurity,
            isEncrypted: { security.assumeIsolated { (try? $0.state().isEncrypted) ?? false } },
            // Its descriptor would keep the channel open.
            onEnd: { security.assumeIsolated { $0.close() } })
    }

    /// Whether the link is encrypted now.
    public var isLinkEncrypted: Bool { isEncrypted() }
}
