import Glibc
import Platform

// Runs one part of the Platform in a process that has nothing else in it, and prints what was seen, one `name value` a line.
// `loop-probe threads`, `loop-probe signals` and `loop-probe memory`; PlatformTests reads the answers.

switch CommandLine.arguments.dropFirst().first {
case "threads": try probeThreads()
case "signals": try probeSignals()
case "memory": try probeMemory()
default:
    print("usage: loop-probe threads|signals|memory")
    exit(64)
}
