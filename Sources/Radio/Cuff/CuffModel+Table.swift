/// The built-in models. Nothing stands here that is not in a public source; what nobody has confirmed says so.
extension CuffModel {
    /// The built-in models, the first that fits before others; behind all others the general one of each driver.
    public static let table = standardModels + bp2Models + CuffDriver.allCases.map(general)

    /// Any cuff of a driver of which no more is known.
    public static func general(_ driver: CuffDriver) -> CuffModel {
        switch driver {
        case .standard: bloodPressureService
        case .bp2: bp2Family
        }
    }

    // MARK: The Blood Pressure Service

    private static let bloodPressureService = CuffModel(
        name: "Blood Pressure Service", driver: .standard,
        pairing: "Put the cuff into its pairing mode (mostly by holding a button) and open pairing. A passkey that it always has is configured; without one it is Just Works. "
            + "The first thing on a new link is the pairing: a cuff that is linked and not paired may switch off.",
        memory: "A cuff that keeps the standard holds each reading until the hub has confirmed it, and the hub confirms what is stored. Whether it then deletes it "
            + "or sends it again later is the maker's choice; a repetition with the same time is the same reading.",
        knowledge: "Blood Pressure Service and Profile 1.1 of the Bluetooth SIG."
    )

    private static let unconfirmedPairing = "Unconfirmed; presumably as any cuff of the Blood Pressure Service."

    private static let standardModels = [
        CuffModel(
            name: "Beurer BM85", namePrefixes: ["BM85"], driver: .standard, quirks: .bigEndianPulseAndStatus,
            pairing: unconfirmedPairing, memory: "Unconfirmed.",
            knowledge: "Reported: pulse and status have their high octet first. Unconfirmed here, as is the name that it advertises."
        ),
        CuffModel(
            name: "SilverCrest SBM 69", namePrefixes: ["SBM69"], driver: .standard,
            pairing: unconfirmedPairing, memory: "Reported: it sends all that it has after a measurement, drops the link, and is not said to delete anything.",
            knowledge: "The list of devices of an open-source app, by its users. Unconfirmed here."
        ),
        CuffModel(
            name: "Omron X4 Smart", namePrefixes: ["X4 Smart"], driver: .standard,
            pairing: unconfirmedPairing,
            memory: "Reported: after a measurement it sends the newest reading; when its memory is asked for by a button it sends all of it and deletes it. It drops the link by itself.",
            knowledge: "The list of devices of an open-source app, by its users. Unconfirmed here."
        ),
        CuffModel(
            name: "Omron X2 Smart+", namePrefixes: ["X2 Smart+"], driver: .standard,
            pairing: unconfirmedPairing, memory: "Reported: after a measurement it sends the newest reading. Unconfirmed what it does with older ones.",
            knowledge: "The list of devices of an open-source app, by its users. Unconfirmed here."
        ),
        CuffModel(
            name: "American Health Gate AHG-427B", namePrefixes: ["AHG-427B", "AHG427B"], driver: .standard,
            pairing: unconfirmedPairing, memory: "Unconfirmed.",
            knowledge: "No public protocol: it works as far as it keeps the standard service, and that is all that is known. The name that it advertises is unconfirmed."
        )
    ]

    // MARK: The BP2 family

    private static let bp2Pairing = "It needs no pairing, by public descriptions of the protocol. Switch it on, and open pairing so that the hub learns its address."
    private static let bp2Files = "A file for each reading, in a ring of 50. It deletes nothing when it is read; the hub reads what is new by name and content."
    private static let bp2List = "A list of readings with their users, in a ring. It deletes nothing when it is read; the hub reads the list and takes what is new."

    private static let bp2Family = CuffModel(
        name: "BP2 family", driver: .bp2, replaysMemory: true, pairing: bp2Pairing, memory: "\(bp2Files) The W models have a list instead.",
        knowledge: "Public descriptions of the protocol."
    )

    // The longer names first: the others are their beginnings.
    private static let bp2Models = [
        CuffModel(
            name: "Viatom LP-BP2W", namePrefixes: ["LP-BP2W"], driver: .bp2, replaysMemory: true, pairing: bp2Pairing,
            memory: "\(bp2List) Its clock is lost when it is switched off.",
            knowledge: "A public description of the protocol, tried there on a device: its users are numbered by the accounts of the maker's app."
        ),
        CuffModel(
            name: "Viatom BP2W", namePrefixes: ["BP2W"], driver: .bp2, replaysMemory: true, pairing: bp2Pairing, memory: bp2List,
            knowledge: "Public descriptions of the protocol."
        ),
        CuffModel(
            name: "Viatom BP2A", namePrefixes: ["BP2A", "LP-BP2A"], driver: .bp2, replaysMemory: true, tellsUsers: false, pairing: bp2Pairing,
            memory: bp2Files, knowledge: "Public descriptions of the protocol."
        ),
        CuffModel(
            name: "Viatom BP2", namePrefixes: ["BP2", "LP-BP2", "Checkme BP2"], driver: .bp2, replaysMemory: true, tellsUsers: false, pairing: bp2Pairing,
            memory: "\(bp2Files) Electrocardiograms are left alone.", knowledge: "Public descriptions of the protocol."
        )
    ]
}
