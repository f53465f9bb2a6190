import CLinux
import Glibc
import Platform

/// The right of one process to a directory (flock(2)).
///
/// A child that is being started shares the open file until it executes its program; closing the descriptor would leave the lock with it for that moment.
/// So it is given up in so many words.
struct DirectoryLock: ~Copyable {
    private let descriptor: Descriptor

    /// Takes the lock; it does not wait.
    ///
    /// - Returns: `nil` when somebody else has it.
    /// - Throws: `SystemError` of flock(2).
    init?(_ descriptor: consuming Descriptor) throws(SystemError) {
        let raw = descriptor.raw
        self.descriptor = descriptor
        guard flock(raw, LOCK_EX | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw .last("flock") }
            return nil
        }
    }

    deinit { flock(descriptor.raw, LOCK_UN) }
}
