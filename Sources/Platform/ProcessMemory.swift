import CLinux

/// The memory of the whole process.
public enum ProcessMemory {
    /// Settings of malloc for a small process. Call it first of all, before any other thread exists.
    public static func prepare() { clinux_tune_malloc() }

    /// Gives back what is held and not needed at rest: malloc's free blocks, and the pages of code that were touched once, at the start or in a
    /// catch-up. They stay in the kernel's page cache for as long as nobody needs the memory more, so that going on costs some soft page faults.
    /// Takes about a millisecond; may be called from any thread, at any time.
    public static func release() { clinux_release_memory() }
}
