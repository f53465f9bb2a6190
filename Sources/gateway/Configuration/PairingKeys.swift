/// How pairing with a device is answered: the same keys for every kind of device.
struct PairingKeys {
    let repair: StandardKey<Bool>
    let passkey: Key<Passkey>
    let passkeyFile: Key<String>
    let passkeyCredential: Key<String>

    /// - Parameters:
    ///   - device: the kind of device in a word.
    ///   - cause: by what it may lose its keys.
    ///   - file: an example of a passkey file.
    ///   - content: what the file is for, in the words that come behind "the file".
    init(_ section: Section, of device: String, losing cause: String, file: String, content: String) {
        repair = StandardKey(section, "repair", .flag, standard: false,
            "Whether the hub pairs again by itself with a \(device) that lost its keys, as after \(cause). Whoever is near at that moment could pose as the \(device); without it `gateway pair` does it.")
        passkey = .optional(section, "passkey", .passkey, absent: "pairing asks for no passkey (Just Works)", disclosure: .never,
            "The passkey of a \(device) that has a fixed one. It excludes somebody in the middle of the pairing.")
        passkeyFile = .optional(section, "passkey_file", .absolutePath(example: file), absent: "as `passkey` says",
            "Instead of `passkey`: the file \(content)")
        passkeyCredential = .optional(section, "passkey_credential", .credentialName, absent: "as `passkey` says",
            "Instead of `passkey`: the name of the systemd credential that is the passkey.")
    }

    /// The ways to give a passkey, of which a device has one at most.
    var passkeys: [KeyRow] { [passkey.row, passkeyFile.row, passkeyCredential.row] }

    var rows: [KeyRow] { [repair.row] + passkeys }
}

/// What a device says of its pairing, as far as it could be read.
struct PairingDraft {
    let keys: PairingKeys
    let repair: Bool
    let passkey: Placed<Passkey>?
    let passkeyFile: Placed<String>?
    let passkeyCredential: Placed<String>?

    init(_ reader: SectionReader, _ keys: PairingKeys) {
        self.keys = keys
        repair = reader.read(keys.repair)
        passkey = reader.read(keys.passkey)
        passkeyFile = reader.read(keys.passkeyFile)
        passkeyCredential = reader.read(keys.passkeyCredential)
    }

    /// What the file gives that is of no use where nothing is paired.
    func given(by reader: SectionReader) -> [KeyRow] { keys.passkeys.filter(reader.gives) + (repair ? [keys.repair.row] : []) }

    func pairing(_ credentials: Credentials) -> Configuration.Pairing {
        let source: Configuration.PasskeySource = switch (passkey, passkeyFile, passkeyCredential) {
        case (let passkey?, _, _): .fixed(passkey.value)
        case (nil, let file?, _): .file(path: file.value)
        case (nil, nil, let name?): .file(path: credentials.path(of: name.value))
        case (nil, nil, nil): .none
        }
        return Configuration.Pairing(repair: repair, passkey: source)
    }
}
