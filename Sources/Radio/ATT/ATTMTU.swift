/// Lengths that the Attribute Protocol fixes.
enum ATTLimit {
    /// The default ATT_MTU of an LE link, which holds until an exchange has said otherwise (Core Vol 3 Part G 5.2.1).
    static let defaultMTU: UInt16 = 23
    /// No attribute value is longer (Core Vol 3 Part F 3.2.9).
    static let maximumValueLength = 512
}

/// ATT_MTU of one bearer, as the exchanges in both directions have left it (Core Vol 3 Part F 3.4.2).
struct ATTMTU {
    /// The client's half of the exchange, which is done at most once on a bearer (3.4.2.1).
    private enum Exchange {
        case notAsked
        case asked(ATTBearer.Token)
        case done
    }

    private var exchange = Exchange.notAsked

    /// What we can receive, said in both directions of the exchange (3.4.2.2: the same in both).
    let receivable: UInt16
    /// As it holds for what we send.
    private(set) var sending = ATTLimit.defaultMTU
    /// As it holds for what we receive: never shrinks, so that no lie about it can make a lawful PDU a violation.
    private(set) var receiving = ATTLimit.defaultMTU

    init(receivable: UInt16) {
        self.receivable = max(receivable, ATTLimit.defaultMTU)
    }

    /// Whether the exchange has not been answered yet.
    var needsExchange: Bool {
        if case .done = exchange { false } else { true }
    }

    /// Our request was queued.
    ///
    /// - Returns: `false` when there was one before: it must not be sent again.
    mutating func ask(_ token: ATTBearer.Token) -> Bool {
        guard case .notAsked = exchange else { return false }
        exchange = .asked(token)
        return true
    }

    /// The request was taken back before it was sent.
    mutating func takeBack(_ token: ATTBearer.Token) {
        if case .asked(token) = exchange { exchange = .notAsked }
    }

    /// The request was answered, whatever with.
    mutating func answered(_ token: ATTBearer.Token) {
        if case .asked(token) = exchange { exchange = .done }
    }

    /// Takes the MTU that the peer said, in its request or in its response.
    mutating func apply(_ peer: UInt16) {
        // A value below the default is incorrect and leaves the default (3.4.2.2).
        sending = max(ATTLimit.defaultMTU, min(receivable, peer))
        receiving = max(receiving, sending)
    }
}
