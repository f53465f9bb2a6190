/// Where the values go that the peer sends of itself.
///
/// A peer that remembers a subscription from an earlier link sends as soon as the link is up, before anybody here could have asked. Such values are kept, in a
/// bounded buffer, until their handler comes or the caller says that none will come.
struct UpdateRouter {
    typealias Handler = @Sendable (ValueUpdate) -> Void

    /// Values kept for nobody yet: 32 KB at most, as a value has at most 512 octets.
    static let limit = 64

    enum Route {
        case handler(Handler)
        case kept
        /// Nobody will want it; an indication can be confirmed.
        case unwanted
    }

    private var handlers: [AttributeHandle: Handler] = [:]
    private var retired: Set<AttributeHandle> = []
    private var kept: [ValueUpdate] = []
    private var keeping = true

    /// Notifications that found the buffer full and pushed the oldest one out.
    private(set) var lost = 0

    mutating func route(_ update: ValueUpdate) -> Route {
        if let handler = handlers[update.handle] { return .handler(handler) }
        guard keeping, !retired.contains(update.handle) else { return .unwanted }
        if kept.count == Self.limit {
            // Only one indication can be outstanding, and it must not be lost: it is the peer's promise.
            guard let oldest = kept.firstIndex(where: { !$0.isIndication }) else { return .unwanted }
            kept.remove(at: oldest)
            lost += 1
        }
        kept.append(update)
        return .kept
    }

    /// - Returns: the handler that was there before.
    mutating func register(_ handle: AttributeHandle, _ handler: @escaping Handler) -> Handler? {
        retired.remove(handle)
        return handlers.updateValue(handler, forKey: handle)
    }

    /// Gives out what was kept for a handle, in its order.
    mutating func takeKept(_ handle: AttributeHandle) -> [ValueUpdate] {
        let taken = kept.filter { $0.handle == handle }
        if !taken.isEmpty { kept.removeAll { $0.handle == handle } }
        return taken
    }

    /// Puts back what was there before a subscription that failed; with nothing there, values are kept again.
    mutating func restore(_ handle: AttributeHandle, _ handler: Handler?) {
        handlers[handle] = handler
    }

    /// The peer has been told to stop: what still comes is nobody's.
    mutating func retire(_ handle: AttributeHandle) {
        handlers[handle] = nil
        retired.insert(handle)
    }

    /// Nobody else will subscribe.
    ///
    /// - Returns: whether an indication was kept, which can be confirmed now.
    mutating func stopKeeping() -> Bool {
        keeping = false
        defer { kept = [] }
        return kept.contains(where: \.isIndication)
    }

    mutating func removeAll() {
        handlers = [:]
        retired = []
        kept = []
        keeping = false
    }
}
