/// Turns a document into a configuration, with every finding on the way. It touches no file but those that `checks` looks at.
struct ConfigurationDecoder {
    let root: TOMLTable
    /// The permissions of the file.
    let mode: UInt32
    let checks: FileChecks
    let findings: Findings

    /// The configuration; `nil` when there is an error among the findings.
    func decode() -> Configuration? {
        let indicators = SectionReader(.top, root, fileStart: root.position, findings: findings).read(Keys.Top.indicators)
        let owners = repeated(.owner).map(OwnerDraft.init)
        let collars = repeated(.collar).map(CollarDraft.init)
        refuseIdleness()
        Consistency(findings: findings).check(owners: owners, collars: collars)
        for owner in owners {
            guard let file = owner.tokenFile else { continue }
            checks.secret(file.value, owner.reader.named(Keys.Owner.tokenFile.row), at: file.position, findings)
        }
        for collar in collars {
            if let passkey = collar.passkey { checks.secretInside(mode, collar.reader.named(Keys.Collar.passkey.row), at: passkey.position, findings) }
            if let file = collar.passkeyFile {
                checks.passkey(file.value, collar.reader.named(Keys.Collar.passkeyFile.row), at: file.position, findings)
            }
        }
        let controller = single(.radio).read(Keys.Radio.controller)
        let uplink = uplink(single(.uplink))
        let outbox = single(.outbox)
        let directory = outbox.read(Keys.Outbox.directory)
        checks.outboxDirectory(directory, outbox.named(Keys.Outbox.directory.row), at: outbox.position(of: Keys.Outbox.directory.row), findings)
        let control = single(.control).read(Keys.Control.socket)
        let sync = single(.sync)
        let batch = Configuration.Sync(batchWindows: sync.read(Keys.Sync.batchWindows), batchAge: sync.read(Keys.Sync.batchAge))
        let clockSource = single(.time).read(Keys.Time.synchronised)
        let level = single(.log).read(Keys.Log.level)
        guard let uplink, !findings.haveError else { return nil }
        return Configuration(
            owners: owners.compactMap(\.owner), collars: collars.compactMap(\.collar), controller: controller, uplink: uplink, outboxDirectory: directory, controlSocket: control,
            sync: batch, clockSource: clockSource, indicators: indicators, logLevel: level, settings: findings.settings)
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

    // MARK: Tables of the file

    private func single(_ section: Section) -> SectionReader {
        SectionReader(section, tables(of: section).first, fileStart: root.position, findings: findings)
    }

    private func repeated(_ section: Section) -> [SectionReader] {
        tables(of: section).enumerated().map { index, table in
            SectionReader(section, table, fileStart: root.position, number: index + 1, findings: findings)
        }
    }

    /// The tables that the file has for a section, one at most unless it repeats.
    private func tables(of section: Section) -> [TOMLTable] {
        guard let entry = root[section.rawValue] else { return [] }
        switch entry.value.content {
        case .table(let table) where !section.repeats: return [table]
        case .array(let elements) where section.repeats:
            let tables = elements.compactMap { element -> TOMLTable? in
                if case .table(let table) = element.content { table } else { nil }
            }
            if tables.count == elements.count { return tables }
        default: break
        }
        findings.error(.wrongType, at: entry.keyPosition, "\(section.rawValue) is \(entry.value.kind); write it as \(section.head)")
        return []
    }

    private func refuseIdleness() {
        if root[Section.owner.rawValue] == nil || isEmptyArray(.owner) {
            findings.error(.nothingConfigured, at: root.position, "no owner is configured; add [[owner]] with key and token_file")
        }
        if root[Section.collar.rawValue] == nil || isEmptyArray(.collar) {
            findings.error(.nothingConfigured, at: root.position, "no device is configured; add [[collar]] with name, serial and owner")
        }
    }

    private func isEmptyArray(_ section: Section) -> Bool {
        if case .array(let elements) = root[section.rawValue]?.value.content { elements.isEmpty } else { false }
    }
}
