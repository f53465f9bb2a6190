import Glibc
import Platform

// Runs one part of the Platform in a process that has nothing else in it, and prints what was seen, one `name value` a line.
// `loop-probe threads` and `loop-probe signals`; PlatformTests reads the answers.

switch CommandLine.arguments.dropFirst().first {
case "threads": try probeThreads()
case "signals": try probeSignals()
default:
    print("usage: loop-probe threads|signals")
    exit(64)
}
