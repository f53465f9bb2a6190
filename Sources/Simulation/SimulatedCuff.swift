import Platform

/// A blood-pressure cuff of the standard profile: it is there when it has something to send, indicates one reading after the other, forgets each when it is
/// confirmed, and hangs up behind the last one.
public actor SimulatedCuff {
    /// How a cuff behaves.
    public struct Habits: Sendable, Hashable {
        /// Readings carry the cuff's time.
        public var isDated = true
        /// Readings carry their user.
        public var tellsUser = false
        /// Keeps what was confirmed and sends it again on every link.
        public var replaysMemory = false
        /// Sends the newest reading first.
        public var newestFirst = false
        /// How far the cuff's clock is ahead of the world's, seconds.
        public var clockAhead: Int64 = 0
        /// Whether its clock can be set.
        public var takesTime = false
        /// After so many readings the link is lost.
        public var losesLinkAfter: Int?
        /// How long the cuff waits for a confirmation; then it hangs up and keeps the reading (Core, Vol 3, Part F, 3.3.3).
        public var patience = Duration.seconds(30)

        public init() {}
    }

    /// One measurement, and what became of it.
    public struct Reading: Sendable, Hashable {
        /// Counts the cuff's measurements.
        public let number: Int
        public let systolic: Int
        public let user: UInt8
        /// When it was measured, by the world's clock: local time as seconds since 1970.
        public let at: Int64
        /// What is sent.
        public let octets: [UInt8]
        /// When it was confirmed first.
        public fileprivate(set) var confirmedAt: BootInstant?
        /// How often it was sent.
        public fileprivate(set) var sent = 0
    }

    private final class Connection {
        let descriptor: Descriptor
        var server: ATTServer
        /// The numbers that are still to be sent on this link.
        var line: [Int]
        /// The one that waits for its confirmation.
        var waiting: Int?
        var timer: TimerID?
        var confirmed = 0

        init(_ descriptor: consuming Descriptor, server: ATTServer, line: [Int]) {
            self.descriptor = descriptor
            self.server = server
            self.line = line
        }
    }

    public nonisolated let serial: String
    private let loop: any EventLoop
    /// The local time of the world, seconds since 1970 as a clock on the wall shows them.
    private let localTime: @Sendable () -> Int64
    private var habits: Habits
    private let table: GATTTable
    private let measurement: UInt16
    private let clock: UInt16
    private var connection: Connection?
    /// Everything that was measured.
    public private(set) var readings: [Reading] = []
    /// Links that there were.
    public private(set) var links = 0

    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    public init(serial: String, habits: Habits = Habits(), loop: any EventLoop, localTime: @escaping @Sendable () -> Int64) {
        self.serial = serial
        self.habits = habits
        self.loop = loop
        self.localTime = localTime
        var table = GATTTable()
        table.addService(BluetoothUUID(0x180A))
        table.addCharacteristic(BluetoothUUID(0x2A25), .read, value: Array(serial.utf8))
        table.addCharacteristic(BluetoothUUID(0x2A24), .read, value: Array("SC-1".utf8))
        table.addService(BluetoothUUID(0x180F))
        table.addCharacteristic(BluetoothUUID(0x2A19), .read, value: [15])
        table.addService(BluetoothUUID(0x1810))
        measurement = table.addCharacteristic(BluetoothUUID(0x2A35), .indicate)
        table.addCharacteristic(BluetoothUUID(0x2A49), .read, value: [0, 0])
        clock = table.addCharacteristic(
            BluetoothUUID(0x2A08), habits.takesTime ? [.read, .write] : .read, value: [0, 0, 0, 0, 0, 0, 0], write: habits.takesTime ? .open : .denied)
        self.table = table
    }

    public func set(_ habits: Habits) { self.habits = habits }

    /// Measures.
    ///
    /// - Parameters:
    ///   - systolic: mmHg; 0 makes a measurement that failed.
    ///   - ago: how long ago, seconds.
    public func measure(systolic: Int, user: UInt8 = 1, ago: Int64 = 0) {
        func sfloat(_ value: Int) -> [UInt8] { value == 0 ? [0xFF, 0x07] : [UInt8(value & 0xFF), UInt8(value >> 8)] }
        var flags: UInt8 = 0x04
        var octets = sfloat(systolic) + sfloat(systolic == 0 ? 0 : 80) + sfloat(systolic == 0 ? 0 : 95)
        if habits.isDated {
            flags |= 0x02
            octets += Self.dateTime(localTime() + habits.clockAhead - ago)
        }
        octets += sfloat(60 + readings.count % 40)
        if habits.tellsUser {
            flags |= 0x08
            octets.append(user)
        }
        readings.append(Reading(number: readings.count, systolic: systolic, user: user, at: localTime() - ago, octets: [flags] + octets))
    }

    /// Whether it is switched on: it has something to send, and no link.
    public var isThere: Bool { connection == nil && !due.isEmpty }

    private var due: [Int] { readings.filter { habits.replaysMemory || $0.confirmedAt == nil }.map(\.number) }

    /// Takes a link.
    public func link(descriptor: consuming Descriptor) throws {
        hangUp()
        links += 1
        var server = ATTServer(table: table, preferredMTU: 64, encrypted: true)
        server.setValue(Self.dateTime(localTime() + habits.clockAhead), of: clock)
        let raw = descriptor.raw
        connection = Connection(descriptor, server: server, line: habits.newestFirst ? due.reversed() : due)
        try loop.watch(raw, for: .readable) { [weak self] _ in self?.assumeIsolated { $0.receive() } }
    }

    /// Ends the link.
    public func hangUp() {
        guard let connection else { return }
        if let timer = connection.timer { loop.cancel(timer) }
        loop.unwatch(connection.descriptor.raw)
        self.connection = nil
    }

    private func receive() {
        while let connection {
            guard let pdu = try? connection.descriptor.read(upTo: 1_024) else { return }
            guard !pdu.isEmpty else { return hangUp() }
            let shown = connection.server.value(of: clock)
            let actions = connection.server.receive(pdu)
            if let written = connection.server.value(of: clock), written != shown { setClock(written) }
            for action in actions {
                switch action {
                case .send(let pdu): _ = try? connection.descriptor.send(pdu)
                case .configured(let handle, let subscribed): if handle == measurement, subscribed { sendNext() }
                case .confirmed: confirmed()
                case .request: break
                }
            }
        }
    }

    /// The hub wrote a time: the clock goes on from there.
    private func setClock(_ octets: [UInt8]) {
        guard octets.count == 7, let time = CivilTime(
            year: Int(octets[0]) | Int(octets[1]) << 8, month: Int(octets[2]), day: Int(octets[3]), hour: Int(octets[4]), minute: Int(octets[5]), second: Int(octets[6]))
        else { return }
        habits.clockAhead = time.secondsSince1970 - localTime()
    }

    private func sendNext() {
        guard let connection, connection.waiting == nil else { return }
        if let limit = habits.losesLinkAfter, connection.confirmed >= limit { return hangUp() }
        guard let number = connection.line.first else { return hangUp() }
        connection.line.removeFirst()
        connection.waiting = number
        readings[number].sent += 1
        if let pdu = connection.server.indicate(readings[number].octets, of: measurement) { _ = try? connection.descriptor.send(pdu) }
        connection.timer = loop.schedule(after: habits.patience) { [weak self] in self?.assumeIsolated { $0.hangUp() } }
    }

    private func confirmed() {
        guard let connection, let number = connection.waiting else { return }
        if let timer = connection.timer { loop.cancel(timer) }
        connection.timer = nil
        connection.waiting = nil
        connection.confirmed += 1
        if readings[number].confirmedAt == nil { readings[number].confirmedAt = loop.now }
        sendNext()
    }

    /// Date Time (GATT Specification Supplement, 3.71).
    private static func dateTime(_ seconds: Int64) -> [UInt8] {
        guard let time = CivilTime(secondsSince1970: seconds) else { return [0, 0, 0, 0, 0, 0, 0] }
        return [
            UInt8(time.year & 0xFF), UInt8(time.year >> 8), UInt8(time.month), UInt8(time.day), UInt8(time.hour), UInt8(time.minute), UInt8(time.second)
        ]
    }
}
