import Platform
import Radio

/// The keys of cuffs.
extension Keys {
    enum Cuff {
        static let name = Key.required(.cuff, "name", .name(example: "arm"), "What the cuff is called in logs and in `gateway status`.")
        static let serial = Key.required(.cuff, "serial", .line(upTo: 64, example: "BP-0001"),
            "The serial number on its label, or any lasting name for it. It is how the cuff is known, here and at the backend; no two devices have the same.")
        static let owner = Key.optional(.cuff, "owner", .name(example: "anna"), absent: "the tables `[[cuff.user]]` must be there instead",
            "The `key` of the owner whose readings it takes, whatever user the cuff names.")
        static let address = Key.optional(.cuff, "address", .deviceAddress,
            absent: "the cuff is adopted when pairing is opened (`gateway pair`) and it is the only one of its kind that is heard",
            "The Bluetooth address. Without `/random` or `/public` behind it, it is a static random one (its first digit is C, D, E or F).")
        static let model = Key.optional(.cuff, "model", .line(upTo: 64, example: "Beurer BM85"),
            absent: "a cuff of the Blood Pressure Service; what is known of its model is found by the name that it says",
            "The model, by its name in [devices.md](devices.md) or in `[[cuff_model]]`. A cuff of the BP2 family must have it.")
        static let backlog = Key.optional(.cuff, "backlog", .choice(example: Configuration.CuffBacklog.new),
            absent: "readings from before a change of owner, and those without a time that came with the first link after it, are set aside",
            "Whose the readings are that the cuff took before its owner changed: the `former` owner's, or the `new` owner's.")
        static let awayAfter = Key.optional(.cuff, "away_after", .duration(.seconds(1) ... .seconds(365 * 86_400), example: .seconds(7 * 86_400)),
            absent: "never: a cuff is switched off between measurements", effect: .reload,
            "How long the cuff may be out of reach before the radio LED says so.")
        static let security = Key.optional(.cuff, "security", .choice(example: Configuration.CuffSecurity.encrypted),
            absent: "what the model needs: `encrypted`, and `none` for the BP2 family",
            "`encrypted`: the link is paired and encrypted before anything else. `on-demand`: once the cuff asks for it. `none`: never; anybody near can then read the cuff.")
        static let setsClock = StandardKey(.cuff, "set_clock", .flag, standard: true,
            "Whether the hub sets the cuff's clock when that is off by more than a minute.")
        static let pairing = PairingKeys(.cuff, of: "cuff", losing: "a reset", file: "/etc/gateway/arm.passkey",
            content: "that holds the six digits (mode 0600). It is read when a pairing begins, and need not be there before.")
        static let rows = [name.row, serial.row, owner.row, address.row, model.row, backlog.row, awayAfter.row, security.row, setsClock.row] + pairing.rows
    }

    enum CuffUser {
        static let user = Key.required(.cuffUser, "user", .userNumber,
            "The number by which the cuff names the user: mostly 1 for its first button; 0 to 254 for the Blood Pressure Service, from 1 on for the BP2 family.")
        static let owner = Key.required(.cuffUser, "owner", .name(example: "anna"), "The `key` of the owner whose this user's readings are.")
        static let rows = [user.row, owner.row]
    }

    enum CuffModel {
        static let name = Key.required(.cuffModel, "name", .line(upTo: 64, example: "my cuff"), "What `model` of a cuff calls it; none of the built-in names.")
        static let driver = Key.required(.cuffModel, "driver", .choice(example: CuffDriver.standard),
            "How it is spoken to: `standard` is the Blood Pressure Service, `bp2` the protocol of the BP2 family.")
        static let namePrefixes = Key.optional(.cuffModel, "name_prefixes", .list(of: .namePrefix, upTo: 16), absent: "it is chosen by `model` alone",
            "What its names begin with: a cuff without `model` that says one of them is of this model. Not with the driver `bp2`, whose cuffs name their model.")
        static let serviceUUIDs = Key.optional(.cuffModel, "service_uuids", .list(of: .serviceUUID, upTo: 16), absent: "its driver's service alone",
            "Services that it advertises, beside its driver's: they too make it a candidate while pairing is open.")
        static let quirks = Key.optional(.cuffModel, "quirks", .list(of: .choice(example: MeasurementQuirks.Name.bigEndianPulseAndStatus), upTo: 16), absent: "none",
            "Where its measurements leave the standard: " + MeasurementQuirks.Name.allCases.map { "`\($0.rawValue)`, \($0.explanation)" }.joined(separator: "; ") + ".")
        static let replaysMemory = StandardKey(.cuffModel, "replays_memory", .flag, standard: false,
            "Whether it sends the readings of its memory again on every link. Of those without a time, equal ones then count as one.")
        static let rows = [name.row, driver.row, namePrefixes.row, serviceUUIDs.row, quirks.row, replaysMemory.row]
    }
}
