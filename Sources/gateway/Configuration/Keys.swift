import Indicators
import Platform
import Radio

/// Every key that a configuration file may have. Decoding, the search for misspelt keys, the sample file's check and the check of
/// `docs/configuration.md` all start from here.
enum Keys {
    enum Top {
        static let indicators = StandardKey(.top, "indicators", .choice(example: Configuration.IndicatorWord.terminal), standard: .none,
            "Where the three LEDs are shown: `terminal` draws them on standard output, for a machine without LEDs. LEDs of hardware have the table `[indicators]` instead.")
        static let rows = [indicators.row]
    }

    enum Indicators {
        static let status = led("status", "The LED that tells of the gateway itself.")
        static let radio = led("radio", "The LED that tells of collars and cuffs.")
        static let uplink = led("uplink", "The LED that tells of the way to the backend.")
        static let pairButton = Key.optional(.indicators, "pair_button", .button, absent: "there is none; `gateway pair` does the same",
            "The button that opens pairing for two minutes. Its line is pulled towards the level at rest where the chip can do so. Held for ten seconds it forgets nothing, unless `reset = true` allows it.")
        static let rows = [status.row, radio.row, uplink.row, pairButton.row]

        private static func led(_ name: String, _ explanation: String) -> Key<LEDPlace> {
            .optional(.indicators, name, .ledPlace, absent: "there is none", "\(explanation) A GPIO `line` by its name, on whatever chip has it or on the one whose label is `chip`, lit when it is `active` (`high` or `low`; without it `high`); or an LED of the kernel's, `led`, by its name below `/sys/class/leds`.")
        }
    }

    enum Owner {
        static let key = Key.required(.owner, "key", .name(example: "anna"),
            "The owner's lasting name. It goes to the backend with everything that is this owner's, so it must never be given to somebody else.")
        static let tokenFile = Key.optional(.owner, "token_file", .absolutePath(example: "/etc/gateway/anna.token"), absent: "`token_credential` must be there instead",
            "The file with the owner's token for the backend: one line, readable by the gateway's user alone (mode 0600).")
        static let tokenCredential = Key.optional(.owner, "token_credential", .credentialName, absent: "`token_file` must be there instead",
            "Instead of `token_file`: the name of the systemd credential that is the token (`LoadCredential=` or `LoadCredentialEncrypted=` of the unit).")
        static let patient = Key.optional(.owner, "patient", .line(upTo: 256, example: "Patient/4711"), absent: "no readings can be sent for this owner",
            disclosure: .onRequest,
            "The owner's FHIR Patient resource at the backend, for blood-pressure readings.")
        static let rows = [key.row, tokenFile.row, tokenCredential.row, patient.row]
    }

    enum Collar {
        static let name = Key.required(.collar, "name", .name(example: "front"), "What the collar is called in logs and in `gateway status`.")
        static let serial = Key.required(.collar, "serial", .line(upTo: 64, example: "AC-0001"),
            "The serial number on the collar. It is how the collar is known, here and at the backend.")
        static let owner = Key.required(.collar, "owner", .name(example: "anna"), "The `key` of the owner whose activity it records.")
        static let address = Key.optional(.collar, "address", .deviceAddress,
            absent: "without `socket` either, the collar is found by its serial number when pairing is opened (`gateway pair`)",
            "The Bluetooth address. Without `/random` or `/public` behind it, it is a static random one (its first digit is C, D, E or F).")
        static let socket = Key.optional(.collar, "socket", .absolutePath(upTo: 107, example: "/tmp/collar.sock"), absent: "the collar is reached over Bluetooth",
            "Instead of `address`: the Unix socket of a simulated collar, for development.")
        static let backlog = Key.optional(.collar, "backlog", .choice(example: Configuration.Backlog.new),
            absent: "`new` when this hub meets the collar for the first time; after a change of owner the hub waits until it is told",
            "Whose the windows are that the collar holds when its owner changes: the `former` owner's, the `new` owner's, or nobody's (`skip`: they are not read).")
        static let awayAfter = StandardKey(.collar, "away_after", .duration(.seconds(1) ... .seconds(365 * 86_400), example: .seconds(86_400)),
            standard: .seconds(86_400), effect: .reload, "How long the collar may be out of reach before the radio LED says so.")
        static let security = StandardKey(.collar, "security", .choice(example: Configuration.Security.encrypted), standard: .encrypted,
            "`none` is for firmware that cannot pair: anybody near can then read the collar and clear it.")
        static let pairing = PairingKeys(.collar, of: "collar", losing: "a change of firmware", file: "/run/gateway/front.passkey",
            content: "into which somebody writes the six digits that the collar shows while it is paired (mode 0600). It need not be there before.")
        static let service = uuid("service", \.service, "The collar service.")
        static let heartbeat = uuid("heartbeat", \.heartbeat, "The characteristic Beta Metrics, whose notifications are the heartbeat.")
        static let windows = uuid("windows", \.windows, "The characteristic Raw Windows.")
        static let control = uuid("control", \.control, "The characteristic Control Point.")
        static let rows = [name.row, serial.row, owner.row, address.row, socket.row, backlog.row, awayAfter.row, security.row] + pairing.rows
            + [service.row, heartbeat.row, windows.row, control.row]

        private static func uuid(_ name: String, _ part: KeyPath<CollarProfile, BluetoothUUID>, _ explanation: String) -> StandardKey<BluetoothUUID> {
            StandardKey(.collar, name, .uuid, standard: CollarProfile()[keyPath: part], "\(explanation) Other than the default only for firmware that uses its own UUIDs.")
        }
    }

    enum Radio {
        static let controller = StandardKey(.radio, "controller", .controller, standard: .any,
            "The Bluetooth controller to drive: its address, or `any` for the first one that is there. Bonds belong to one controller: after a change the devices are paired again.")
        static let rows = [controller.row]
    }

    enum Uplink {
        static let base = Key.required(.uplink, "base", .httpsBase, "Where the backend is; the gateway appends `/v1/raw-windows`.")
        static let fhirBase = Key.optional(.uplink, "fhir_base", .httpsBase, absent: "readings go to `{base}/v1/readings`",
            "Where blood-pressure readings go, when that is a FHIR server of its own.")
        static let caFile = Key.optional(.uplink, "ca_file", .absolutePath(example: "/etc/gateway/backend-ca.pem"), absent: "the system's certificate authorities count",
            "A PEM file with the certificate authorities that alone may vouch for the backend.")
        static let pin = Key.optional(.uplink, "pin", .pins, absent: "any key with a valid certificate counts",
            "The public key that the backend must have besides a valid certificate. Name the next one too before it changes.")
        // What these say is asked anew for each request and each wait.
        static let connectTimeout = span("connect_timeout", .seconds(1) ... .seconds(300), .seconds(30), "How long a connection may take to come up, with name lookup and TLS.")
        static let requestTimeout = span("request_timeout", .seconds(1) ... .seconds(3_600), .seconds(120), "How long a request may take as a whole.")
        static let lowSpeedLimit = StandardKey(.uplink, "low_speed_limit", .size(1...1 << 20, example: 100), standard: 100, effect: .reload,
            "A transfer that moves less than this in a second is slow.")
        static let lowSpeedTime = span("low_speed_time", .seconds(1) ... .seconds(600), .seconds(30), "A transfer that was slow for this long is given up and tried again.")
        static let flushInterval = span("flush_interval", .seconds(1) ... .seconds(86_400), .seconds(120), "How often everything that waits is tried again, whatever it waits for.")
        static let backoff = span("backoff", .milliseconds(100) ... .seconds(3_600), .seconds(30), "The wait after the first failed attempt; it doubles with each further one.")
        static let holdMax = span("hold_max", .seconds(1) ... .seconds(86_400), .seconds(900),
            "The longest wait between two probes while the backend refuses the token or answers with something that is no receipt.")
        static let rows = [base.row, fhirBase.row, caFile.row, pin.row, connectTimeout.row, requestTimeout.row, lowSpeedLimit.row, lowSpeedTime.row,
                           flushInterval.row, backoff.row, holdMax.row]

        private static func span(_ name: String, _ range: ClosedRange<Duration>, _ standard: Duration, _ explanation: String) -> StandardKey<Duration> {
            StandardKey(.uplink, name, .duration(range, example: standard), standard: standard, effect: .reload, explanation)
        }
    }

    enum Outbox {
        static let directory = StandardKey(.outbox, "directory", .absolutePath(example: "/var/lib/gateway"), standard: "/var/lib/gateway",
            "Where the queue is kept: a directory of the gateway's user with mode 0700, on a disk that survives a power cut.")
        static let rows = [directory.row]
    }

    enum Control {
        static let socket = StandardKey(.control, "socket", .absolutePath(upTo: 107, example: "/run/gateway/control.sock"), standard: "/run/gateway/control.sock",
            "The socket on which the daemon takes commands from root and from its own user.")
        static let rows = [socket.row]
    }

    enum Sync {
        static let batchWindows = StandardKey(.sync, "batch_windows", .integer(1...128, example: 128), standard: 128, effect: .reload,
            "How many unread windows (seconds of activity) make a batch: reading starts when a collar holds as many.")
        static let batchAge = StandardKey(.sync, "batch_age", .duration(.milliseconds(100) ... .seconds(3_600), example: .seconds(60)), standard: .seconds(60), effect: .reload,
            "How old the oldest unread window may become before fewer are read.")
        static let rows = [batchWindows.row, batchAge.row]
    }

    enum Time {
        static let synchronised = StandardKey(.time, "synchronised", .clockSource, standard: .marker(path: "/run/systemd/timesync/synchronized"),
            "The file that exists once the clock is set, or `always` on a machine whose clock is always right.")
        static let rows = [synchronised.row]
    }

    enum Log {
        static let level = StandardKey(.log, "level", .choice(example: Configuration.Level.info), standard: .info, effect: .reload, "The least urgent lines that are written.")
        static let readings = StandardKey(.log, "log_readings", .flag, standard: false, effect: .reload,
            "Whether the journal has the values of blood-pressure readings. They are health data, and whoever may read the journal reads them then.")
        static let rows = [level.row, readings.row]
    }

    /// Keys of which a table has one at most. A later file that gives one of them means it instead of another of an earlier file.
    static let alternatives: [[KeyRow]] = [
        [Owner.tokenFile.row, Owner.tokenCredential.row], [Collar.address.row, Collar.socket.row], Collar.pairing.passkeys, Cuff.pairing.passkeys
    ]

    /// The other keys of the one of `alternatives` that has this key.
    static func alternatives(to name: String, in section: Section) -> [String] {
        let group = alternatives.first { $0.contains { $0.section == section && $0.name == name } } ?? []
        return group.map(\.name).filter { $0 != name }
    }

    /// All keys, section by section.
    static let rows: [KeyRow] = Section.allCases.flatMap(rows(of:))

    /// The keys of one section, in the order of the documentation.
    static func rows(of section: Section) -> [KeyRow] {
        switch section {
        case .top: Top.rows
        case .indicators: Indicators.rows
        case .owner: Owner.rows
        case .collar: Collar.rows
        case .cuff: Cuff.rows
        case .cuffUser: CuffUser.rows
        case .cuffModel: CuffModel.rows
        case .radio: Radio.rows
        case .uplink: Uplink.rows
        case .outbox: Outbox.rows
        case .control: Control.rows
        case .sync: Sync.rows
        case .time: Time.rows
        case .log: Log.rows
        }
    }
}
