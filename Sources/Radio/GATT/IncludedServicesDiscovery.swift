/// Find Included Services (Core Vol 3 Part G 4.5.1).
///
/// A declaration has room for a UUID of 16 bits only: the longer ones are read from the included service's own declaration, after each page.
struct IncludedServicesDiscovery {
    /// An include's declaration as it comes in a page.
    struct Declaration: Sendable, Hashable {
        let handle: AttributeHandle
        let range: ATTHandleRange
        /// `nil` when it is to be read.
        let uuid: BluetoothUUID?
    }

    private struct Page: DiscoveryPage {
        func request(_ range: ATTHandleRange) -> ATTPDU { .readByTypeRequest(range, type: .include) }

        func items(in response: ATTPDU) throws(DiscoveryFault) -> [(item: Declaration, range: ATTHandleRange)] {
            guard case .readByTypeResponse(let list) = response else { throw .unexpected(response) }
            var items: [(item: Declaration, range: ATTHandleRange)] = []
            for entry in list {
                // Starting handle, end group handle, UUID of 16 bits (3.2).
                guard entry.value.count == 4 || entry.value.count == 6 else {
                    throw DiscoveryFault("has an include's declaration of \(entry.value.count) octets")
                }
                let range = ATTHandleRange(start: AttributeHandle(rawValue: UInt16(entry.value[0]) | UInt16(entry.value[1]) << 8),
                                           end: AttributeHandle(rawValue: UInt16(entry.value[2]) | UInt16(entry.value[3]) << 8))
                guard range.start != .none, range.start <= range.end else {
                    throw DiscoveryFault("includes at \(entry.handle) a service from \(range.start) to \(range.end)")
                }
                let uuid = entry.value.count == 6 ? BluetoothUUID(littleEndian: entry.value.dropFirst(4)) : nil
                items.append((Declaration(handle: entry.handle, range: range, uuid: uuid), ATTHandleRange(start: entry.handle, end: entry.handle)))
            }
            return items
        }
    }

    enum Step {
        case request(ATTPDU)
        case finished([GATTIncludedService])
    }

    private var pages: Discovery<Page>
    private var found: [GATTIncludedService] = []

    /// - Parameter range: of the including service.
    init(in range: ATTHandleRange) {
        pages = Discovery(Page(), in: range)
    }

    /// The declaration whose UUID is to be read next.
    private var unresolved: Declaration? {
        found.count < pages.found.count ? pages.found[found.count] : nil
    }

    /// What is to be done next.
    var step: Step {
        if let unresolved { return .request(.readRequest(unresolved.range.start)) }
        switch pages.step {
        case .request(let pdu): return .request(pdu)
        case .finished: return .finished(found)
        }
    }

    /// Takes the response to the last request.
    ///
    /// - Throws: what is wrong with it, or the peer's refusal.
    mutating func receive(_ response: ATTPDU) throws(GATTError) {
        if let unresolved {
            switch response {
            case .readResponse(let value):
                guard value.count == 2 || value.count == 16, let uuid = BluetoothUUID(littleEndian: value) else {
                    throw GATTError(.implausible(response.opcode, "has a service UUID of \(value.count) octets"))
                }
                take(unresolved, uuid)
            case .errorResponse(let request, _, let code):
                throw GATTError(.att(code, request: request, handle: unresolved.range.start))
            default:
                throw GATTError(.implausible(response.opcode, "answers another procedure"))
            }
        } else {
            try pages.receive(response)
        }
        while let next = self.unresolved, let uuid = next.uuid { take(next, uuid) }
    }

    private mutating func take(_ declaration: Declaration, _ uuid: BluetoothUUID) {
        let service = GATTService(uuid: uuid, startHandle: declaration.range.start, endHandle: declaration.range.end)
        found.append(GATTIncludedService(handle: declaration.handle, service: service))
    }
}
