import Glibc
import Platform

/// Sends itself signals and prints what the loop reported, in order; then says whether a second call replaces the first.
func probeSignals() throws {
    let loop = try EpollLoop()
    try loop.watchSignals([SIGUSR1, SIGUSR2, SIGTERM]) { number in
        print("signal \(number)")
        if number == SIGTERM { loop.stop() }
    }
    kill(getpid(), SIGUSR1)
    kill(getpid(), SIGUSR2)
    // A storage thread must not take what is the loop's.
    let storage = try StorageThread()
    kill(getpid(), SIGTERM)
    loop.run()
    storage.stop()

    try loop.watchSignals([SIGHUP]) { number in
        print("second \(number)")
        loop.stop()
    }
    kill(getpid(), SIGHUP)
    loop.run()
    print("ended 0")
}
