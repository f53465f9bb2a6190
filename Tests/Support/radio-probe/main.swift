import Glibc
import Platform
import Radio

// radio-probe [--hold] ADDRESS ADDRESS ADDRESS: runs the controller and the listener for these static random addresses, checks step by step that links
// come, come again, pair, are dialled and outlast a power cycle, and prints what it saw. Exit status 0 when all was seen. With --hold it keeps
// the links until it is killed.
do {
    let loop = try EpollLoop()
    let addresses = CommandLine.arguments.dropFirst().compactMap { BluetoothAddress($0, kind: .random) }
    let holds = CommandLine.arguments.contains("--hold")
    guard addresses.count == 3 else {
        print("usage: radio-probe [--hold] ADDRESS ADDRESS ADDRESS")
        exit(64)
    }
    let probe = Probe(loop: loop, addresses: Array(addresses), holds: holds)
    let passed = try loop.run { try await probe.run() }
    exit(passed ? 0 : 1)
} catch {
    print("failed: \(error)")
    exit(1)
}
