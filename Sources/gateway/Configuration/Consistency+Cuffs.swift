import Radio

/// What no single key of a cuff can say.
extension Consistency {
    /// - Parameter all: the models of the configuration and the built-in ones.
    func check(cuffs: [CuffDraft], owners: [OwnerDraft], models: [CuffModelDraft], among all: [CuffModel]) {
        refuseRepeats(models.map { ($0.reader, $0.name) }, Keys.CuffModel.name.row, "every model has a name of its own")
        for model in models {
            model.reader.refuse(
                CuffModel.table.contains { $0.name == model.name?.value }, Keys.CuffModel.name.row, "is that of a built-in model; every model has a name of its own")
            guard model.driver?.value == .bp2 else { continue }
            // Its cuffs name their model, and its protocol is another one.
            for row in [Keys.CuffModel.namePrefixes.row, Keys.CuffModel.quirks.row] where model.reader.gives(row) {
                model.reader.refuse(true, row, "has no effect with driver = \"bp2\"; remove it")
            }
        }
        // A model whose name could not be read may be the one.
        let isComplete = models.allSatisfy { $0.model != nil }
        for cuff in cuffs {
            checkOwnership(of: cuff, among: owners)
            if isComplete { checkModel(of: cuff, among: all) }
            checkPasskeys(of: cuff.pairing, cuff.reader)
            if isComplete { checkPairing(of: cuff, among: all) }
        }
    }

    // MARK: Whose its readings are

    private func checkOwnership(of cuff: CuffDraft, among owners: [OwnerDraft]) {
        let reader = cuff.reader, row = Keys.Cuff.owner.row
        let hasUsers = !cuff.users.isEmpty || reader.isMalformed(.cuffUser)
        if reader.gives(row), let user = cuff.users.first {
            findings.error(.conflict, at: reader.position(of: row), "\(reader.place) has both owner and [[cuff.user]] (\(user.reader.position)); keep one of them")
        } else if !reader.gives(row), !hasUsers {
            findings.error(.missingKey, at: reader.position,
                           "\(reader.place) has neither owner nor [[cuff.user]]; add owner = \(row.example) (\(row.allowed))")
        }
        checkReader(cuff.owner, reader.named(row), among: owners)
        for user in cuff.users { checkReader(user.owner, user.reader.named(Keys.CuffUser.owner.row), among: owners) }
        refuseRepeats(cuff.users.map { ($0.reader, $0.user) }, Keys.CuffUser.user.row, "a user of a cuff has one owner")
    }

    /// Checks an owner of readings: that there is one, and that the backend has a record for them.
    private func checkReader(_ owner: Placed<String>?, _ key: String, among owners: [OwnerDraft]) {
        checkOwner(owner, key, among: owners)
        guard let owner, let named = owners.first(where: { $0.key?.value == owner.value }), !named.reader.gives(Keys.Owner.patient.row) else { return }
        let row = Keys.Owner.patient.row
        findings.error(.missingKey, at: owner.position,
                       "\(key) is \(quoted(owner.value)), who has no patient for readings to be sent to; add \(row.name) = \(row.example) to \(named.reader.place)")
    }

    // MARK: What it is

    private func checkModel(of cuff: CuffDraft, among models: [CuffModel]) {
        let model = cuff.model(among: models)
        if let named = cuff.model, model == nil {
            let names = models.map(\.name)
            let advice = NearestName.of(named.value, among: names).map { "did you mean \(quoted($0))?" } ?? "known: \(names.map(quoted).joined(separator: ", "))"
            findings.error(.unknownModel, at: named.position, "\(cuff.reader.named(Keys.Cuff.model.row)) is \(quoted(named.value)), which is no known model; \(advice)")
            return
        }
        if let model, !model.tellsUsers, let user = cuff.users.first {
            findings.warning(.conflict, at: user.reader.position,
                             "\(cuff.reader.place) has users, and \(model.name) tells none apart: each of its readings would be set aside; give owner instead")
        }
        let users = (model?.driver ?? .standard).users
        for user in cuff.users {
            guard let number = user.user?.value, !users.contains(number) else { continue }
            user.reader.refuse(true, Keys.CuffUser.user.row,
                               "is \(number); \((model ?? .general(.standard)).name) numbers its users from \(users.lowerBound) to \(users.upperBound)")
        }
    }

    private func checkPairing(of cuff: CuffDraft, among models: [CuffModel]) {
        let reader = cuff.reader, security = Keys.Cuff.security.row
        guard cuff.model == nil || cuff.model(among: models) != nil, cuff.security(among: models) == .none else { return }
        for row in cuff.pairing.given(by: reader) {
            reader.refuse(true, row, reader.gives(security)
                ? "has no effect with security = \"none\"; remove one of them"
                : "has no effect: a cuff of this model is not paired; remove it, or add security = \"encrypted\"")
        }
    }
}
