import Platform

/// The digest over everything about an entry that is fixed at enqueue.
///
/// SQLite does not notice a flipped byte within a value. The body has its own digest, which is also sent; a flipped byte in the owner or the
/// device would send health data under the wrong name, so those are covered too.
enum Fingerprint {
    /// What the fingerprint of an entry covers beside the batch, and instead of the body itself.
    struct Frame {
        let name: String
        let kind: DeviceKind
        /// The number of windows.
        let count: Int
        /// The CRC of the last window.
        let tail: UInt16?
        /// The body's digest.
        let digest: [UInt8]
        /// The lines of the entry and of its gaps.
        let lines: [Int64?]
    }

    /// The batch's body is not looked at: `frame.digest` stands for it.
    static func of(_ batch: WindowBatch, _ frame: Frame) -> [UInt8] {
        var encoder = Encoder()
        encoder.add(frame.name)
        encoder.add(UInt64(frame.kind.rawValue))
        encoder.add(batch.owner)
        encoder.add(batch.device)
        encoder.add(UInt64(batch.log))
        encoder.add(batch.first)
        encoder.add(UInt64(frame.count))
        encoder.add(UInt64(frame.tail ?? 0))
        encoder.add(batch.next)
        encoder.add(UInt64(bitPattern: batch.received))
        encoder.add(batch.clock)
        encoder.add(UInt64(batch.gaps.count))
        for gap in batch.gaps {
            encoder.add(UInt64(gap.log))
            encoder.add(gap.first)
            encoder.add(gap.count)
            encoder.add(gap.reason.rawValue)
        }
        for line in frame.lines { encoder.add(UInt64(bitPattern: line ?? -1)) }
        encoder.bytes += frame.digest
        return SHA256.digest(encoder.bytes)
    }

    /// The digest over an entry of readings: whose they are, and every byte of them.
    static func of(_ readings: [ReadingRecord], name: String, owner: String) -> [UInt8] {
        var encoder = Encoder()
        encoder.add(name)
        encoder.add(UInt64(DeviceKind.cuff.rawValue))
        encoder.add(owner)
        encoder.add(UInt64(readings.count))
        for reading in readings {
            encoder.add(reading.name)
            encoder.add(reading.device)
            encoder.add(UInt64(bitPattern: reading.received))
            encoder.add(UInt64(reading.octets.count))
            encoder.bytes += reading.octets
        }
        return SHA256.digest(encoder.bytes)
    }

    /// The digest over all assignments, by which a salvaged table proves to be whole.
    static func of(assignments: [(device: String, assignment: Assignment)]) -> [UInt8] {
        var encoder = Encoder()
        for (device, assignment) in assignments {
            encoder.add(device)
            encoder.add(UInt64(assignment.log))
            encoder.add(assignment.first)
            encoder.add(assignment.owner)
        }
        return SHA256.digest(encoder.bytes)
    }

    /// The digest over all assignments of cuffs, likewise.
    static func of(cuffAssignments: [(device: String, assignment: CuffAssignment)]) -> [UInt8] {
        var encoder = Encoder()
        for (device, assignment) in cuffAssignments {
            encoder.add(device)
            encoder.add(assignment.user.map { UInt64($0) } ?? .max)
            encoder.add(assignment.owner)
            encoder.add(assignment.since == nil ? 0 : 1)
            encoder.add(UInt64(bitPattern: assignment.since ?? 0))
            encoder.add(assignment.contacted ? 1 : 0)
        }
        return SHA256.digest(encoder.bytes)
    }

    /// The digest over the last setting of a cuff's clock.
    static func of(clockOf device: String, _ setting: CuffClockSetting) -> [UInt8] {
        var encoder = Encoder()
        encoder.add(device)
        encoder.add(UInt64(bitPattern: setting.ahead))
        encoder.add(UInt64(bitPattern: setting.setTo))
        return SHA256.digest(encoder.bytes)
    }

    /// The digest over the books on one line. A flipped byte in them would clear what was never delivered, or never read what was not stored.
    static func of(line device: String, log: UInt32, numbers: [UInt64], settled: RangeSet) -> [UInt8] {
        var encoder = Encoder()
        encoder.add(device)
        encoder.add(UInt64(log))
        for number in numbers { encoder.add(number) }
        for span in settled.spans {
            encoder.add(span.first)
            encoder.add(span.end)
            encoder.add(span.tag.map { UInt64($0) } ?? .max)
        }
        return SHA256.digest(encoder.bytes)
    }

    /// The digest over a bond, its keys and counters: a flipped byte in a key would look like a device that lost its own.
    static func of(_ bond: Bond) -> [UInt8] {
        var encoder = Encoder()
        encoder.add(bond.id)
        encoder.add(bond.device)
        encoder.add(UInt64(bond.longTermKeys.count))
        for key in bond.longTermKeys {
            for number in [UInt64(key.kind.rawValue), key.isInitiator ? 1 : 0, UInt64(key.encryptionSize), UInt64(key.encryptedDiversifier), key.random] {
                encoder.add(number)
            }
            encoder.bytes += key.value.octets
        }
        encoder.add(UInt64(bond.signatureKeys.count))
        for key in bond.signatureKeys {
            for number in [key.isLocal ? 1 : 0, key.isAuthenticated ? 1 : 0, UInt64(key.counter)] { encoder.add(number) }
            encoder.bytes += key.value.octets
        }
        encoder.add(bond.identityResolvingKey == nil ? 0 : 1)
        encoder.bytes += bond.identityResolvingKey?.octets ?? []
        return SHA256.digest(encoder.bytes)
    }

    /// The digest over what was discovered of a device, and whose it is.
    static func of(_ cache: AttributeCache, of bond: BondID) -> [UInt8] {
        var encoder = Encoder()
        encoder.add(bond)
        encoder.add(UInt64(cache.hash.count))
        encoder.bytes += cache.hash + cache.octets
        return SHA256.digest(encoder.bytes)
    }

    /// The digest over the address that a device was met under.
    static func of(_ address: IdentityAddress, adoptedFor device: String) -> [UInt8] {
        var encoder = Encoder()
        encoder.add(device)
        encoder.add(address)
        return SHA256.digest(encoder.bytes)
    }

    /// Numbers in eight bytes, texts behind their length: no two lists of fields give the same bytes.
    private struct Encoder {
        var bytes: [UInt8] = []

        mutating func add(_ number: UInt64) {
            for shift in stride(from: UInt64(56), through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
        }

        mutating func add(_ text: String) {
            add(UInt64(text.utf8.count))
            bytes += Array(text.utf8)
        }

        mutating func add(_ address: IdentityAddress) {
            add(address.value)
            add(address.isRandom ? 1 : 0)
        }

        mutating func add(_ bond: BondID) {
            add(bond.controller)
            add(bond.peer)
        }
    }
}
