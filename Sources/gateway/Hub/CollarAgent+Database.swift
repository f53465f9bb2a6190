import Outbox
import Platform
import Radio

/// The collar's database, kept between links: taken from the outbox for a link, and stored when the link has shown another one.
extension CollarAgent {
    /// What is known of the database on one link.
    struct LinkDatabase {
        /// What was kept before the link; `nil` where nothing may be.
        var kept: KeptDatabase?
        /// The link was opened by what was kept.
        var isInUse = false
        /// What was discovered on the link and is not stored yet.
        var discovered: GATTDatabaseCache?
        /// The last link failed by what was kept: the next one discovers the collar.
        var isDoubted = false
    }

    /// Looks up what is kept for a link that is about to be opened. The link goes on without it when the outbox cannot say.
    func takeDatabase() async {
        database.kept = try? await services.databases?.kept()
        database.discovered = nil
        database.isInUse = database.kept?.cache != nil && !database.isDoubted
    }

    /// The driver has discovered a database that is worth keeping.
    func discovered(_ found: GATTDatabaseCache) {
        database.discovered = found
        // Before the link is open nobody knows that it is this collar's.
        if connection != nil { services.loop.spawn { await self.storeDatabase() } }
    }

    /// Stores what was discovered, unless it is what was kept.
    func storeDatabase() async {
        guard let found = database.discovered, let kept = database.kept else { return }
        database.discovered = nil
        guard found != kept.cache else { return }
        database.kept = KeptDatabase(bond: kept.bond, cache: found)
        // A fault of the storage is the keeper's to tell; it costs a discovery on the next link.
        try? await services.databases?.keep(found, kept.bond)
    }

    /// Something failed on the link. A peer whose hash stays when its attributes move is found out by that: the next link discovers it.
    func doubtDatabase(_ error: CollarError) {
        guard database.isInUse, error.canComeOfWrongAttributes else { return }
        database.isDoubted = true
    }
}

extension CollarError {
    /// Whether attributes that are not what they are taken for can look like this.
    var canComeOfWrongAttributes: Bool {
        switch code {
        case .busy, .linkClosed, .cancelled, .stopped, .notOpen, .databaseChanged: false
        default: true
        }
    }
}
