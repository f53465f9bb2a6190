extension Configuration {
    /// This configuration with everything of `new` that may change while the daemon runs: what the table of keys calls `reload`.
    ///
    /// Whose data it is, from which device, into which queue and to which backend stays as it is: these belong together, and a change of one of them
    /// amid the work of the others could put a reading under the wrong person.
    func adopting(_ new: Configuration) -> Configuration {
        var adopted = self
        adopted.logLevel = new.logLevel
        adopted.logReadings = new.logReadings
        adopted.sync = new.sync
        adopted.uplink.connectTimeout = new.uplink.connectTimeout
        adopted.uplink.requestTimeout = new.uplink.requestTimeout
        adopted.uplink.lowSpeedLimit = new.uplink.lowSpeedLimit
        adopted.uplink.lowSpeedTime = new.uplink.lowSpeedTime
        adopted.uplink.flushInterval = new.uplink.flushInterval
        adopted.uplink.backoff = new.uplink.backoff
        adopted.uplink.holdMax = new.uplink.holdMax
        // A device that got another serial number is another device, whatever it is called.
        var foreign: Set<String> = []
        for index in collars.indices {
            if let same = new.collars.first(where: { $0.serial == collars[index].serial && $0.name == collars[index].name }) {
                adopted.collars[index].awayAfter = same.awayAfter
            } else {
                foreign.insert("[\(Section.collar.rawValue)] \(quoted(collars[index].name))")
            }
        }
        for index in cuffs.indices {
            if let same = new.cuffs.first(where: { $0.serial == cuffs[index].serial && $0.name == cuffs[index].name }) {
                adopted.cuffs[index].awayAfter = same.awayAfter
            } else {
                foreign.insert("[\(Section.cuff.rawValue)] \(quoted(cuffs[index].name))")
            }
        }
        let known = Dictionary(new.settings.map { ($0.path, $0) }) { first, _ in first }
        adopted.settings = settings.map { setting in
            guard setting.row.effect == .reload, !foreign.contains(setting.place), let other = known[setting.path] else { return setting }
            return other
        }
        return adopted
    }

    /// What differs from this configuration in another one, a line for each setting or section. Values that are no affair of the journal are not in it.
    func changes(to other: Configuration) -> [String] {
        let before = Dictionary(settings.map { ($0.path, $0) }) { first, _ in first }
        let after = Dictionary(other.settings.map { ($0.path, $0) }) { first, _ in first }
        let placesBefore = Set(settings.map(\.place)), placesAfter = Set(other.settings.map(\.place))
        var lines: [String] = []
        var told: Set<String> = []
        for setting in settings where !setting.place.isEmpty && !placesAfter.contains(setting.place) && told.insert(setting.place).inserted {
            lines.append("\(setting.place) is no longer there")
        }
        for setting in other.settings {
            guard placesBefore.contains(setting.place) else {
                if told.insert(setting.place).inserted { lines.append("\(setting.place) is new") }
                continue
            }
            guard let former = before[setting.path], former.value != after[setting.path]?.value else { continue }
            if let old = former.loggable, let new = setting.loggable {
                lines.append("\(setting.path) was \(shown(old, upTo: 256)) and is \(shown(new, upTo: 256))")
            } else {
                lines.append("\(setting.path) " + (former.value == nil ? "is set now" : setting.value == nil ? "is no longer set" : "is another one"))
            }
        }
        return lines
    }
}
