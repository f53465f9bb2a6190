/// One kind of thing that is discovered page by page: which request asks for a range, and what its response says.
protocol DiscoveryPage {
    associatedtype Item: Sendable

    /// The request for what lies in `range`.
    func request(_ range: ATTHandleRange) -> ATTPDU

    /// The last handle of an item's own that the next request is to begin behind.
    func boundary(of range: ATTHandleRange) -> AttributeHandle

    /// The items of a response, each with the handles it takes up; the last of a page says where the next one begins.
    ///
    /// - Throws: what is wrong with the response, in words.
    func items(in response: ATTPDU) throws(DiscoveryFault) -> [(item: Item, range: ATTHandleRange)]
}

extension DiscoveryPage {
    func boundary(of range: ATTHandleRange) -> AttributeHandle { range.end }
}

/// Why a response that is well-formed cannot be believed.
struct DiscoveryFault: Error, Hashable {
    let fault: String

    init(_ fault: String) { self.fault = fault }
}

/// Discovery of everything in a range of handles (Core Vol 3 Part G 4.4 to 4.7): the one machine for services, characteristics and descriptors.
///
/// It ends whatever the peer answers: each item must lie behind the one before it and within the range, and there is a limit to
/// their number. A peer that repeats itself, goes back, names handle 0 or lets ranges overlap is told from one that has more to say.
struct Discovery<Page: DiscoveryPage> {
    /// More than any device has; a hostile peer could go on to 65,535.
    static var limit: Int { 1024 }

    enum Step {
        case request(ATTPDU)
        case finished([Page.Item])
    }

    private enum State {
        /// The request for what begins here is to be sent, or is with the peer; nothing of it may lie before `lowest`. → asking (further on), finished
        case asking(from: AttributeHandle, lowest: AttributeHandle)
        case finished
    }

    private let page: Page
    private let end: AttributeHandle
    private var state: State
    /// What has been found so far.
    private(set) var found: [Page.Item] = []

    /// - Parameter range: what is to be searched; an empty one is finished at once.
    init(_ page: Page, in range: ATTHandleRange) {
        self.page = page
        end = range.end
        state = range.start == .none || range.start > range.end ? .finished : .asking(from: range.start, lowest: range.start)
    }

    /// What is to be done next.
    var step: Step {
        switch state {
        case .asking(let start, _): .request(page.request(ATTHandleRange(start: start, end: end)))
        case .finished: .finished(found)
        }
    }

    /// Takes the response to the last request.
    ///
    /// - Throws: what is wrong with it, or the peer's refusal; "Attribute Not Found" is none, but the end.
    mutating func receive(_ response: ATTPDU) throws(GATTError) {
        guard case .asking(let start, let lowest) = state else { return }
        if case .errorResponse(let request, _, let code) = response {
            guard code == .attributeNotFound else { throw GATTError(.att(code, request: request, handle: start)) }
            state = .finished
            return
        }
        do {
            try take(response, from: lowest)
        } catch {
            throw GATTError(.implausible(response.opcode, error.fault))
        }
    }

    private mutating func take(_ response: ATTPDU, from start: AttributeHandle) throws(DiscoveryFault) {
        let items = try page.items(in: response)
        var lowest: AttributeHandle? = start
        var boundary: AttributeHandle?
        for (item, range) in items {
            guard range.start <= range.end else { throw DiscoveryFault("has a range that ends at \(range.end) before it begins at \(range.start)") }
            guard let bound = lowest, range.start >= bound else {
                throw DiscoveryFault("goes back to \(range.start)")
            }
            guard range.start <= end else { throw DiscoveryFault("names \(range.start), which lies behind the range asked for") }
            guard found.count < Self.limit else { throw DiscoveryFault("goes on beyond \(Self.limit) entries") }
            found.append(item)
            lowest = range.end.next
            boundary = page.boundary(of: range).next
        }
        if let boundary, let lowest, boundary <= end {
            state = .asking(from: boundary, lowest: lowest)
        } else {
            state = .finished
        }
    }
}
