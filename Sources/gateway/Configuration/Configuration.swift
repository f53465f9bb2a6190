import Indicators
import Platform
import Radio

/// What a configuration file says, checked as a whole: plain values, the defaults filled in.
struct Configuration: Sendable {
    /// A person, as `[[owner]]` names one. The token itself stays in its file until it is used.
    struct Owner: Sendable, Hashable {
        let key: String
        /// The file that the token is read from, also where it is a credential.
        let tokenFile: String
        /// The FHIR reference of the Patient, if readings can be sent for this owner.
        let patient: String?
    }

    /// How a device is reached.
    enum Link: Sendable, Hashable {
        case bluetooth(BluetoothAddress)
        /// The Unix socket of a simulated device.
        case socket(path: String)
        /// Over Bluetooth, at an address that is learned by its serial number when pairing is opened.
        case adoption
    }

    /// Which Bluetooth controller is driven.
    enum Controller: Sendable, Hashable {
        /// The first that is there.
        case any
        case address(BluetoothAddress)
    }

    /// How pairing with a device is answered. It also gives the IO capability: a side that has a passkey to enter has a keyboard, one that has none
    /// has neither keyboard nor display.
    struct Pairing: Sendable, Hashable {
        /// Whether the hub pairs again by itself after the device lost its keys.
        let repair: Bool
        let passkey: PasskeySource
    }

    /// Where the passkey of a device comes from.
    enum PasskeySource: Sendable, Hashable {
        /// There is none (Just Works).
        case none
        case fixed(Passkey)
        /// It is written to a file when the device shows it, or handed to the service in one.
        case file(path: String)
    }

    /// Whose the windows are that a collar holds when its owner changes.
    enum Backlog: String, Sendable, CaseIterable {
        case former, new, skip
    }

    /// What a collar's link must have before its characteristics are used.
    enum Security: String, Sendable, CaseIterable {
        case encrypted, none
    }

    /// A collar, as `[[collar]]` describes one.
    struct Collar: Sendable, Hashable {
        let name: String
        let serial: String
        /// The key of an owner in `owners`.
        let owner: String
        let link: Link
        /// `nil` leaves the decision to the rules for a first pairing and for a change of owner.
        let backlog: Backlog?
        var awayAfter: Duration
        let security: Security
        let pairing: Pairing
        let service: BluetoothUUID
        let heartbeat: BluetoothUUID
        let windows: BluetoothUUID
        let control: BluetoothUUID
    }

    /// The way to the backend. Bases have no slash at their end.
    struct Uplink: Sendable, Hashable {
        let base: String
        let fhirBase: String?
        let caFile: String?
        /// As CURLOPT_PINNEDPUBLICKEY takes it.
        let pin: String?
        var connectTimeout: Duration
        var requestTimeout: Duration
        /// Bytes per second.
        var lowSpeedLimit: Int64
        var lowSpeedTime: Duration
        var flushInterval: Duration
        var backoff: Duration
        var holdMax: Duration
    }

    /// When a pass over a collar starts.
    struct Sync: Sendable, Hashable {
        let batchWindows: Int
        let batchAge: Duration
    }

    /// How the gateway knows that the wall clock is set.
    enum ClockSource: Sendable, Hashable {
        case marker(path: String)
        case always

        /// The file to look for, as `WallClock.system(marker:)` takes it.
        var marker: String? {
            switch self {
            case .marker(let path): path
            case .always: nil
            }
        }
    }

    /// Where the LEDs are shown.
    enum Indicators: Sendable, Hashable {
        case none, terminal
        case hardware(Board)
    }

    /// The one word that stands for a table of LEDs.
    enum IndicatorWord: String, Sendable, CaseIterable {
        case none, terminal
    }

    /// The LEDs and the button as hardware.
    struct Board: Sendable, Hashable {
        /// Of the LEDs that there are. Their places are distinct.
        let leds: [LED: LEDPlace]
        let button: Button?
    }

    /// The pairing button.
    struct Button: Sendable, Hashable {
        let line: GPIOLine
        /// Whether holding it for ten seconds resets the hub's bonds.
        let resets: Bool
    }

    /// The least urgent lines that are written, by their names in syslog(3).
    enum Level: String, Sendable, CaseIterable {
        case error, warning, notice, info, debug

        /// The threshold as `Log` takes it.
        var threshold: LogLevel {
            switch self {
            case .error: .error
            case .warning: .warning
            case .notice: .notice
            case .info: .info
            case .debug: .debug
            }
        }
    }

    /// At least one; keys are distinct.
    let owners: [Owner]
    /// Names, serial numbers and links are distinct, those of cuffs included. There is a collar or a cuff.
    var collars: [Collar]
    var cuffs: [Cuff]
    let controller: Controller
    var uplink: Uplink
    /// The directory of the outbox.
    let outboxDirectory: String
    /// The path of the control socket.
    let controlSocket: String
    var sync: Sync
    let clockSource: ClockSource
    let indicators: Indicators
    var logLevel: Level
    /// Whether the journal may have the values of readings.
    var logReadings: Bool

    /// Every value that counts and where it came from, in the order of the table of keys.
    var settings: [Setting]
}

/// One value that counts.
struct Setting: Sendable, Hashable {
    /// Where a value came from.
    enum Origin: Sendable, Hashable {
        case file(SourcePosition)
        case standard
        /// Nowhere: the key is optional and was left out.
        case absent
    }

    let row: KeyRow
    /// The section as messages name it, e.g. `[collar] "front"` or `[cuff] "arm".user[1]`; empty for what stands before the first table.
    let place: String
    /// The value; `nil` when absent.
    let value: Literal?
    let origin: Origin
    /// Where earlier files gave a value that does not count because of this one, in their order.
    let instead: [SourcePosition]

    var key: String { row.name }
    /// The key as messages name it, e.g. `[collar] "front".address`.
    var path: String { place.isEmpty ? key : "\(place).\(key)" }
    /// The value for the journal; `nil` when it does not go there.
    var loggable: String? { row.disclosure == .everywhere ? literal ?? "not set" : nil }
    /// The value as TOML, of a secret only that there is one; `nil` when absent.
    var literal: String? { value.map { row.disclosure == .never ? tomlString("......") : $0.text } }
}

/// A value as TOML. It can be compared; no way to print it shows it, since it may be a secret.
struct Literal: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    fileprivate let text: String

    init(_ text: String) { self.text = text }

    var description: String { "<value>" }
    var debugDescription: String { description }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
