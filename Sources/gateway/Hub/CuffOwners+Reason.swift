extension CuffOwners.Doubt {
    /// The reason under which a reading lies in quarantine. What lies together there is given to somebody together, so readings of one user stay apart from those of
    /// another.
    func reason(user: UInt32?) -> String { user.map { "\(rawValue) (user \($0))" } ?? rawValue }
}
