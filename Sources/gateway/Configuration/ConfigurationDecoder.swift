import Radio

/// Turns what the files say into a configuration, with every finding on the way. It touches no file but those that `checks` looks at.
struct ConfigurationDecoder {
    let layers: ConfigurationLayers
    let checks: FileChecks
    let credentials: Credentials
    let findings: Findings

    /// The configuration; `nil` when there is an error among the findings.
    func decode() -> Configuration? {
        let indicators = IndicatorsDraft(layers, findings: findings).indicators
        let owners = repeated(.owner).map(OwnerDraft.init)
        let collars = repeated(.collar).map(CollarDraft.init)
        let cuffs = repeated(.cuff).map(CuffDraft.init)
        let models = repeated(.cuffModel).map(CuffModelDraft.init)
        // What the configuration says of a kind of cuff comes before what is built in.
        let allModels = models.compactMap(\.model) + CuffModel.table
        refuseIdleness()
        let consistency = Consistency(findings: findings)
        consistency.check(owners: owners, collars: collars, cuffs: cuffs)
        consistency.check(cuffs: cuffs, owners: owners, models: models, among: allModels)
        for owner in owners { checkSecrets(of: owner) }
        for collar in collars { checkSecrets(of: collar.pairing, collar.reader) }
        for cuff in cuffs { checkSecrets(of: cuff.pairing, cuff.reader) }
        let controller = single(.radio).read(Keys.Radio.controller)
        let uplink = uplink(single(.uplink))
        let outbox = single(.outbox)
        let directory = outbox.read(Keys.Outbox.directory)
        checks.outboxDirectory(directory, outbox.named(Keys.Outbox.directory.row), at: outbox.position(of: Keys.Outbox.directory.row), findings)
        let control = single(.control)
        let socket = control.read(Keys.Control.socket)
        for collar in collars where collar.socket?.value == socket {
            control.refuse(true, Keys.Control.socket.row, "is that of \(collar.reader.place) too; each has a socket of its own")
        }
        let sync = single(.sync)
        let batch = Configuration.Sync(batchWindows: sync.read(Keys.Sync.batchWindows), batchAge: sync.read(Keys.Sync.batchAge))
        let clockSource = single(.time).read(Keys.Time.synchronised)
        let log = single(.log)
        let level = log.read(Keys.Log.level), logsReadings = log.read(Keys.Log.readings)
        guard let uplink, !findings.haveError else { return nil }
        return Configuration(
            owners: owners.compactMap { $0.owner(credentials) }, collars: collars.compactMap { $0.collar(credentials) },
            cuffs: cuffs.compactMap { $0.cuff(credentials, models: allModels) }, controller: controller, uplink: uplink, outboxDirectory: directory,
            controlSocket: socket, sync: batch, clockSource: clockSource, indicators: indicators, logLevel: level, logReadings: logsReadings, settings: findings.settings)
    }

    // MARK: Sections

    private func uplink(_ reader: SectionReader) -> Configuration.Uplink? {
        let base = reader.read(Keys.Uplink.base), fhirBase = reader.read(Keys.Uplink.fhirBase)
        let caFile = reader.read(Keys.Uplink.caFile), pin = reader.read(Keys.Uplink.pin)
        if let caFile { checks.certificates(caFile.value, reader.named(Keys.Uplink.caFile.row), at: caFile.position, findings) }
        let connectTimeout = reader.read(Keys.Uplink.connectTimeout), requestTimeout = reader.read(Keys.Uplink.requestTimeout)
        let lowSpeedLimit = reader.read(Keys.Uplink.lowSpeedLimit), lowSpeedTime = reader.read(Keys.Uplink.lowSpeedTime)
        let flushInterval = reader.read(Keys.Uplink.flushInterval)
        let backoff = reader.read(Keys.Uplink.backoff), holdMax = reader.read(Keys.Uplink.holdMax)
        reader.refuse(connectTimeout > requestTimeout, Keys.Uplink.connectTimeout.row, "is longer than request_timeout; a request includes its connection")
        reader.refuse(backoff > holdMax, Keys.Uplink.backoff.row, "is longer than hold_max; the first wait cannot be longer than the longest")
        guard let base else { return nil }
        return Configuration.Uplink(
            base: base.value, fhirBase: fhirBase?.value, caFile: caFile?.value, pin: pin?.value, connectTimeout: connectTimeout,
            requestTimeout: requestTimeout, lowSpeedLimit: lowSpeedLimit, lowSpeedTime: lowSpeedTime, flushInterval: flushInterval,
            backoff: backoff, holdMax: holdMax)
    }

    // MARK: Secrets

    private func checkSecrets(of owner: OwnerDraft) {
        if let file = owner.tokenFile { checks.secret(file.value, owner.reader.named(Keys.Owner.tokenFile.row), at: file.position, findings) }
        if let name = owner.tokenCredential {
            checks.credential(name.value, credentials, owner.reader.named(Keys.Owner.tokenCredential.row), at: name.position, findings)
        }
    }

    private func checkSecrets(of pairing: PairingDraft, _ reader: SectionReader) {
        if let passkey = pairing.passkey {
            checks.secretInside(layers.mode(of: passkey.position.file), reader.named(pairing.keys.passkey.row), at: passkey.position, findings)
        }
        if let file = pairing.passkeyFile { checks.passkey(file.value, reader.named(pairing.keys.passkeyFile.row), at: file.position, findings) }
        if let name = pairing.passkeyCredential {
            checks.credential(name.value, credentials, reader.named(pairing.keys.passkeyCredential.row), at: name.position, findings)
        }
    }

    // MARK: Tables of the files

    private func single(_ section: Section) -> SectionReader {
        SectionReader(section, layers.tables(of: section).first, fileStart: layers.start, findings: findings)
    }

    private func repeated(_ section: Section) -> [SectionReader] {
        layers.tables(of: section).enumerated().map { index, table in
            SectionReader(section, table, fileStart: layers.start, number: index + 1, advice: layers.advice(on: table, section), findings: findings)
        }
    }

    private func refuseIdleness() {
        if layers.tables(of: .owner).isEmpty, !layers.isMalformed(.owner) {
            findings.error(.nothingConfigured, at: layers.start, "no owner is configured; add [[owner]] with key and token_file")
        }
        let kinds: [Section] = [.collar, .cuff]
        if kinds.allSatisfy({ layers.tables(of: $0).isEmpty && !layers.isMalformed($0) }) {
            findings.error(.nothingConfigured, at: layers.start, "no device is configured; add [[collar]] or [[cuff]] with name, serial and owner")
        }
    }
}
