import Platform

/// Who could be one of ours under a new address, who pretended to be, and who was told as unknown: each a table of bounded size, whatever the air brings.
struct Candidates: Sendable {
    struct Candidate: Sendable, Hashable {
        let address: BluetoothAddress
        var devices: [String]
        let first: BootInstant
        var last: BootInstant
        var rssi: Int8?
        var tries = 0
    }

    private(set) var heard: [BluetoothAddress: Candidate] = [:]
    private var spoofs: [BluetoothAddress: BootInstant] = [:]
    private var told: [BluetoothAddress] = []
    private var nextTelling: BootInstant?

    /// Unknown devices are told at most this often: their addresses may change with every packet.
    private static let tellingPause = Duration.seconds(60)

    var count: Int { heard.count + spoofs.count + told.count }

    mutating func note(_ sighting: Sighting, for devices: [String], at now: BootInstant, _ settings: ConnectorSettings) {
        if var known = heard[sighting.address] {
            known.last = now
            known.devices = devices
            known.rssi = sighting.rssi ?? known.rssi
            heard[sighting.address] = known
            return
        }
        if heard.count >= settings.memoryLimit, let oldest = heard.values.min(by: { ($0.last, $0.address.description) < ($1.last, $1.address.description) }) {
            heard[oldest.address] = nil
        }
        heard[sighting.address] = Candidate(address: sighting.address, devices: devices, first: now, last: now, rssi: sighting.rssi)
    }

    /// The candidates for a device: the least tried first, then the nearest.
    func of(_ device: String) -> [Candidate] {
        heard.values.filter { $0.devices.contains(device) }.sorted { left, right in
            (left.tries, -Int(left.rssi ?? -128), left.address.description) < (right.tries, -Int(right.rssi ?? -128), right.address.description)
        }
    }

    mutating func tried(_ address: BluetoothAddress) { heard[address]?.tries += 1 }

    mutating func remove(_ address: BluetoothAddress) { heard[address] = nil }

    mutating func removeAll(of device: String) { heard = heard.filter { !$0.value.devices.contains(device) } }

    mutating func prune(at now: BootInstant, _ settings: ConnectorSettings) {
        heard = heard.filter { now - $0.value.last <= settings.candidateLifetime }
        spoofs = spoofs.filter { $0.value > now }
    }

    mutating func isSpoof(_ address: BluetoothAddress, at now: BootInstant) -> Bool { spoofs[address].map { $0 > now } ?? false }

    mutating func rememberSpoof(_ address: BluetoothAddress, at now: BootInstant, _ settings: ConnectorSettings) {
        heard[address] = nil
        if spoofs.count >= settings.memoryLimit, spoofs[address] == nil,
           let oldest = spoofs.min(by: { ($0.value, $0.key.description) < ($1.value, $1.key.description) }) {
            spoofs[oldest.key] = nil
        }
        spoofs[address] = now + settings.spoofMemory
    }

    /// Whether an unknown device is worth a line: each once, as far as they are remembered.
    mutating func isNews(_ address: BluetoothAddress, at now: BootInstant, _ settings: ConnectorSettings) -> Bool {
        guard !told.contains(address), nextTelling.map({ $0 <= now }) ?? true else { return false }
        if told.count >= settings.memoryLimit { told.removeFirst() }
        told.append(address)
        nextTelling = now + Self.tellingPause
        return true
    }
}
