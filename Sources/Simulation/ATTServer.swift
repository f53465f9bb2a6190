/// The server's side of one ATT bearer: PDUs in, PDUs out (Core, Vol 3, Part F). No I/O, no clock.
///
/// It serves discovery, reads and writes from its table, keeps the client configurations of the link, and lets one indication
/// at a time be on its way. A new link takes a new server.
public struct ATTServer: Sendable {
    /// What is to be done about a PDU.
    public enum Action: Sendable, Equatable {
        /// A PDU for the client.
        case send([UInt8])
        /// The client's configuration of a characteristic has changed.
        case configured(handle: UInt16, subscribed: Bool)
        /// A request was written; its response has been given.
        case request([UInt8])
        /// The client has confirmed the indication that was on its way.
        case confirmed
    }

    private var table: GATTTable
    private let preferredMTU: UInt16
    private var indicating = false
    private var waiting: [[UInt8]] = []

    /// ATT_MTU of the bearer: 23 until it has been exchanged.
    public private(set) var mtu = 23
    /// Whether the link below is encrypted.
    public var encrypted: Bool

    /// - Parameter preferredMTU: what the server offers; at least 23.
    public init(table: GATTTable, preferredMTU: UInt16, encrypted: Bool) {
        self.table = table
        self.preferredMTU = max(23, preferredMTU)
        self.encrypted = encrypted
    }

    // MARK: What the server starts

    /// The server's own Exchange MTU Request; a client on LE must answer it (3.4.2.1).
    public func mtuRequest() -> [UInt8] {
        var pdu = [ATTOpcode.exchangeMTURequest]
        pdu.append(littleEndian: preferredMTU)
        return pdu
    }

    /// Whether the client wants notifications or indications of the characteristic with this value handle.
    public func isSubscribed(_ handle: UInt16) -> Bool {
        table.attributes.contains { attribute in
            if case .configuration(of: handle, _) = attribute.role { return attribute.value != [0, 0] }
            return false
        }
    }

    /// Gives a characteristic the value that a read shows.
    public mutating func setValue(_ value: [UInt8], of handle: UInt16) {
        if let index = table.index(of: handle) { table.setValue(value, at: index) }
    }

    /// What a characteristic's value is, as a client may have written it.
    public func value(of handle: UInt16) -> [UInt8]? { table.index(of: handle).map { table.attributes[$0].value } }

    /// Serves other attributes from now on, as after an update of the firmware that the link has outlived.
    ///
    /// - Parameter kept: the value handles whose client configurations stay; others begin anew.
    public mutating func replaceTable(_ new: GATTTable, keepingConfigurationsOf kept: Set<UInt16>) {
        let former = table
        table = new
        for (index, attribute) in new.attributes.enumerated() {
            guard case .configuration(of: let handle, _) = attribute.role, kept.contains(handle), let place = former.index(of: attribute.handle) else { continue }
            table.setValue(former.attributes[place].value, at: index)
        }
    }

    /// A Handle Value Notification, cut to what the MTU takes; `nil` when the client has not subscribed.
    public func notification(_ value: [UInt8], of handle: UInt16) -> [UInt8]? {
        guard isSubscribed(handle) else { return nil }
        return pdu(ATTOpcode.notification, handle, value)
    }

    /// A Handle Value Indication to send now; `nil` when the client has not subscribed, or when another one waits for its
    /// confirmation: then this one follows it.
    public mutating func indicate(_ value: [UInt8], of handle: UInt16) -> [UInt8]? {
        guard isSubscribed(handle) else { return nil }
        let pdu = pdu(ATTOpcode.indication, handle, value)
        if indicating {
            waiting.append(pdu)
            return nil
        }
        indicating = true
        return pdu
    }

    // MARK: What the client sends

    /// Takes one PDU.
    public mutating func receive(_ pdu: [UInt8]) -> [Action] {
        guard let opcode = pdu.first else { return [] }
        var fields = FieldReader(Array(pdu.dropFirst()))
        switch opcode {
        case ATTOpcode.exchangeMTUResponse:
            if let client: UInt16 = fields.integer() { agree(client) }
            return []
        case ATTOpcode.confirmation:
            return confirm()
        case ATTOpcode.writeCommand:
            if let handle: UInt16 = fields.integer() { return command(handle, fields.rest()) }
            return []
        case ATTOpcode.error, ATTOpcode.notification, ATTOpcode.indication:
            return []
        case _ where opcode & ATTOpcode.commandFlag != 0:
            // Commands that are not known are ignored (3.3).
            return []
        case _ where opcode & 1 == 1:
            // Odd opcodes below the flag are responses; nothing was asked.
            return []
        default:
            var handle: UInt16 = 0
            do throws(ATTError) {
                return try request(opcode, &fields, &handle)
            } catch {
                var response = [ATTOpcode.error, opcode]
                response.append(littleEndian: handle)
                return [.send(response + [error.rawValue])]
            }
        }
    }

    private mutating func request(_ opcode: UInt8, _ fields: inout FieldReader, _ handle: inout UInt16) throws(ATTError) -> [Action] {
        switch opcode {
        case ATTOpcode.exchangeMTURequest:
            guard let client: UInt16 = fields.integer(), fields.left == 0 else { throw .invalidPDU }
            agree(client)
            var response = [ATTOpcode.exchangeMTUResponse]
            response.append(littleEndian: preferredMTU)
            return [.send(response)]
        case ATTOpcode.findInformationRequest, ATTOpcode.findByTypeValueRequest, ATTOpcode.readByTypeRequest, ATTOpcode.readByGroupTypeRequest:
            return [.send(try ATTDiscovery(table: table, mtu: mtu, encrypted: encrypted).respond(opcode, &fields, &handle))]
        case ATTOpcode.readRequest, ATTOpcode.readBlobRequest:
            guard let asked: UInt16 = fields.integer() else { throw .invalidPDU }
            handle = asked
            var offset = 0
            if opcode == ATTOpcode.readBlobRequest {
                guard let start: UInt16 = fields.integer() else { throw .invalidPDU }
                offset = Int(start)
            }
            guard fields.left == 0 else { throw .invalidPDU }
            let value = try read(asked)
            guard offset <= value.count else { throw .invalidOffset }
            let answer = opcode == ATTOpcode.readRequest ? ATTOpcode.readResponse : ATTOpcode.readBlobResponse
            return [.send([answer] + value[offset...].prefix(mtu - 1))]
        case ATTOpcode.writeRequest:
            guard let asked: UInt16 = fields.integer() else { throw .invalidPDU }
            handle = asked
            return try write(asked, fields.rest())
        default:
            throw .requestNotSupported
        }
    }

    // MARK: Parts

    private mutating func agree(_ client: UInt16) {
        mtu = Int(max(23, min(client, preferredMTU)))
    }

    private mutating func confirm() -> [Action] {
        guard indicating else { return [] }
        indicating = !waiting.isEmpty
        return [.confirmed] + (waiting.isEmpty ? [] : [.send(waiting.removeFirst())])
    }

    private func read(_ handle: UInt16) throws(ATTError) -> [UInt8] {
        guard let index = table.index(of: handle) else { throw .invalidHandle }
        try table.attributes[index].read.admit(encrypted, otherwise: .readNotPermitted)
        return table.attributes[index].value
    }

    private mutating func write(_ handle: UInt16, _ value: [UInt8]) throws(ATTError) -> [Action] {
        guard let index = table.index(of: handle) else { throw .invalidHandle }
        let attribute = table.attributes[index]
        try attribute.write.admit(encrypted, otherwise: .writeNotPermitted)
        switch attribute.role {
        case .value:
            table.setValue(value, at: index)
            return [.send([ATTOpcode.writeResponse])]
        case .configuration(let characteristic, let allowed):
            guard value.count == 2 else { throw .invalidAttributeValueLength }
            guard (UInt16(value[0]) | UInt16(value[1]) << 8) & ~allowed == 0 else { throw .valueNotAllowed }
            let before = attribute.value != [0, 0]
            let after = value != [0, 0]
            table.setValue(value, at: index)
            let response = Action.send([ATTOpcode.writeResponse])
            return before == after ? [response] : [response, .configured(handle: characteristic, subscribed: after)]
        case .request(let subscriptions):
            guard subscriptions.allSatisfy(isSubscribed) else { throw .improperlyConfigured }
            // An opcode there must be: without one there is no request to answer.
            guard !value.isEmpty else { throw .invalidAttributeValueLength }
            return [.send([ATTOpcode.writeResponse]), .request(value)]
        }
    }

    /// A write without response: what may be written is written, the rest is ignored (3.4.5.3). No characteristic here has the property,
    /// so that only client configurations are reached by it, and never a request.
    private mutating func command(_ handle: UInt16, _ value: [UInt8]) -> [Action] {
        guard let index = table.index(of: handle), case .configuration = table.attributes[index].role else { return [] }
        do throws(ATTError) {
            return try write(handle, value).filter { if case .send = $0 { false } else { true } }
        } catch {
            return []
        }
    }

    private func pdu(_ opcode: UInt8, _ handle: UInt16, _ value: [UInt8]) -> [UInt8] {
        var pdu = [opcode]
        pdu.reserveCapacity(3 + value.count)
        pdu.append(littleEndian: handle)
        pdu += value.prefix(mtu - 3)
        return pdu
    }
}

extension GATTTable.Access {
    func admit(_ isEncrypted: Bool, otherwise error: ATTError) throws(ATTError) {
        switch self {
        case .denied: throw error
        case .open: return
        case .encrypted: if !isEncrypted { throw .insufficientEncryption }
        }
    }
}
