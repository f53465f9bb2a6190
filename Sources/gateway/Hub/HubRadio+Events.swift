import Platform
import Radio

/// What the radio tells, for the log and the LEDs. One line for each change; a device that comes and goes is the agent's to tell.
extension HubRadio {
    func heard(_ event: RadioEvent) {
        switch event {
        case .controllerReady(let index, let information):
            controller = .ready(information.publicAddress)
            log(.notice, .controllerReady, "\(index) is in use: \(information)")
            onReady()
        case .controllerAbsent(let absence):
            switch absence {
            case .reset, .recovering: controller = .recovering("\(absence)")
            case .none, .notFound, .removed, .blocked, .notPermitted: controller = .absent("\(absence)")
            }
            log(.warning, .controllerAbsent, "\(absence); devices are linked when it works")
        case .device(let event):
            heard(event)
        case .passkeyToShow(let device, let address, let passkey):
            // The digits are good for this one pairing, and somebody has to type them.
            log(.notice, .pairingStep, "\(device.map(name) ?? "\(address)") asks for these digits: \(sixDigits(passkey))", fields(device))
        case .passkeyMissing(let device, let error):
            log(.error, .pairingFailed, "\(name(device)) cannot be paired: \(error)", fields(device))
            fail(device, error.code, "\(error)")
        case .bondsUnreadable(let why):
            log(.error, .bondsUnreadable, "the stored bonds cannot be read, and nothing is linked before they can: \(why)")
        case .oddity(let words):
            log(.info, .radioOddity, words)
        case .exit(let trouble):
            log(.error, .controllerAbsent, "the controller cannot be brought back from here: \(trouble)", LogField("CODE", trouble.code))
            onEnd("\(trouble)")
        case .channelClosed(let error):
            log(.error, .controllerAbsent, "\(error)", LogField("CODE", error.code))
            onEnd("\(error)")
        }
        onChange()
    }

    private func heard(_ event: ConnectorEvent) {
        switch event {
        case .stateChanged(let device, let state):
            links[device] = state
            if state == .working { worked(device) }
        case .stale(let device, let failures):
            log(.notice, .deviceLookedFor, "\(name(device)) is looked for under other addresses too, after \(counted(failures, "failed link", "failed links"))", fields(device))
        case .heardInVain(let device):
            log(.warning, .controllerAbsent, "\(name(device)) is heard and the kernel does not link it: the controller is switched off and on", fields(device))
        case .silent(let device):
            log(.info, .controllerAbsent, "\(name(device)) is not heard: the controller is switched off and on once, in case it holds a lost link", fields(device))
        case .adopted(let device, let address):
            log(.notice, .deviceAdopted, "\(name(device)) is known at \(address) from now on", fields(device))
            worked(device, adopted: true)
        case .ambiguous(let ids, let addresses):
            let who = ids.map { name($0) }.joined(separator: ", ")
            let words = "none of \(addresses.map { "\($0)" }.joined(separator: ", ")) is adopted for \(who): it could be another one; leave only one of them switched on"
            log(.warning, .pairingFailed, words)
            for device in ids { fail(device, "ambiguous", words) }
        case .unknown(let address, let claims):
            let words = claims.isEmpty ? "a device of a kind that is configured, and none of ours, is at \(address)"
                : "\(address) says that it is \(claims.map(name).joined(separator: " or ")); to adopt it: gateway pair"
            log(.info, .deviceUnknown, words)
        case .spoofed(let device, let address, let serial):
            let words = "\(address) says that it is \(name(device)) and has serial number \(serial.map { shown($0, upTo: 64) } ?? "none"); it is not adopted"
            log(.error, .deviceRefused, words, fields(device))
            fail(device, "spoofed", words)
        case .candidateFailed(let device, let address, let failure):
            let words = "\(address), which may be \(name(device)), is not adopted: \(failure.words)"
            log(.notice, .pairingFailed, words, fields(device), LogField("CODE", failure.rawValue))
            fail(device, failure.rawValue, words)
        case .bondLost(let device):
            log(.error, .bondLost, "the keys of \(name(device)) are lost or wrong; to pair it again: gateway pair \(name(device))", fields(device))
        case .pairingFailed(let device):
            log(.warning, .pairingFailed, "the pairing with \(name(device)) failed", fields(device))
            fail(device, "pairing-failed", "the pairing failed; check that the device is ready to be paired, and its passkey if it has one")
        case .bonded(let device):
            log(.notice, .deviceBonded, "\(name(device)) is paired", fields(device))
            worked(device)
        case .notStored(let device):
            log(.error, .bondsUnreadable, "the keys or the address of \(name(device)) could not be stored; it is not used before they are", fields(device))
            fail(device, "not-stored", "its keys could not be stored")
        case .forgotten(let device):
            log(.notice, .deviceForgotten, "the keys and the learned address of \(name(device)) are forgotten", fields(device))
            for continuation in forgetting.removeValue(forKey: device) ?? [] { continuation.resume() }
        case .flapping(let device, let times, let pause):
            log(.notice, .deviceFault, "\(name(device)) was linked and lost \(times) times in a row and is left alone for \(span(pause.milliseconds / 1_000))", fields(device))
        case .pairingOpened(let device, let duration):
            log(.notice, .pairingStep, "pairing is open for \(span(duration.milliseconds / 1_000))\(device.map { ", for \(name($0))" } ?? "")")
        case .pairingClosed:
            log(.notice, .pairingStep, "pairing is closed")
            for watch in pairings.values { watch.end() }
        }
    }

    /// A device as the configuration calls it.
    func name(_ device: String) -> String { devices[device]?.name ?? device }

    private func fields(_ device: String?) -> LogField { LogField("DEVICE", device ?? "") }

    private func worked(_ device: String, adopted: Bool = false) {
        for watch in pairings.values { watch.worked(device, adopted: adopted) }
    }

    private func fail(_ device: String, _ code: String, _ words: String) {
        for watch in pairings.values { watch.failed(device, code, words) }
    }

    private func sixDigits(_ number: UInt32) -> String {
        let digits = "\(number)"
        return String(repeating: "0", count: max(0, 6 - digits.utf8.count)) + digits
    }
}

extension TrialFailure {
    fileprivate var words: String {
        switch self {
        case .unreachable: "it could not be connected"
        case .busy: "another connection was pending"
        case .notPaired: "it could not be paired"
        case .notEncrypted: "the link could not be encrypted, or its keys did not come"
        case .noSerial: "it gave no serial number"
        case .notStored: "it could not be stored"
        case .timeout: "it took too long"
        }
    }
}

extension LogEvent {
    static let radioUnusable = LogEvent("radio-unusable", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0020")
    static let controllerReady = LogEvent("controller-ready", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0021")
    static let controllerAbsent = LogEvent("controller-absent", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0022")
    static let pairingStep = LogEvent("pairing", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0023")
    static let pairingFailed = LogEvent("pairing-failed", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0024")
    static let bondsUnreadable = LogEvent("bonds-unusable", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0025")
    static let radioOddity = LogEvent("radio-oddity", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0026")
    static let deviceLookedFor = LogEvent("device-looked-for", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0027")
    static let deviceAdopted = LogEvent("device-adopted", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0028")
    static let deviceUnknown = LogEvent("device-unknown", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e0029")
    static let bondLost = LogEvent("bond-lost", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e002a")
    static let deviceBonded = LogEvent("device-bonded", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e002b")
    static let deviceForgotten = LogEvent("device-forgotten", id: "0d5c7c1e5d5b4f6f9f6c1d1b2a6e002c")
}
