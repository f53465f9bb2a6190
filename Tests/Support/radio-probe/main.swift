import Glibc
import Platform
import Radio

// radio-probe MODE ADDRESS...: runs the controller and the listener for these static random addresses, checks step by step that links
// come, come again, pair, are dialled and outlast a power cycle, and prints what it saw. Exit status 0 when all was seen.
do {
    let loop = try EpollLoop()
    let addresses = CommandLine.arguments.dropFirst().compactMap { BluetoothAddress($0, kind: .random) }
    let mode = CommandLine.arguments.dropFirst().first.flatMap { Mode(rawValue: $0) }
    guard let mode, addresses.count == (mode == .passkey || mode == .privacy ? 1 : 3) else {
        print("usage: radio-probe scenes|hold|replacement ADDRESS ADDRESS ADDRESS, or passkey|privacy ADDRESS")
        exit(64)
    }
    let probe = Probe(loop: loop, addresses: Array(addresses), mode: mode)
    let passed = try loop.run { try await probe.run() }
    exit(passed ? 0 : 1)
} catch {
    print("failed: \(error)")
    exit(1)
}
