import Radio

/// The driver that speaks to a cuff on one link.
enum CuffLink: Sendable {
    case standard(CuffConnection)
    case bp2(BP2Connection)

    /// The cuff may forget what it indicated.
    ///
    /// - Returns: whether it was told so.
    @discardableResult
    func confirm(_ confirmation: CuffConfirmation) async -> Bool {
        switch self {
        case .standard(let connection): await connection.confirm(confirmation)
        case .bp2: false
        }
    }

    func close() async {
        switch self {
        case .standard(let connection): await connection.close()
        case .bp2(let connection): await connection.close()
        }
    }
}

extension CuffLink {
    /// Looks at the cuff over this link, which goes on working meanwhile.
    ///
    /// - Throws: `CuffError` when the link is over.
    func survey() async throws(CuffError) -> CuffSurvey {
        switch self {
        case .standard(let connection): try await connection.survey()
        case .bp2(let connection): try await connection.survey()
        }
    }
}
