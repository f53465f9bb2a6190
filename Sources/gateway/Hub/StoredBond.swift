import Outbox

/// A bond as the outbox keeps it, under a name of its own: the radio has bonds too.
typealias StoredBond = Bond
