import Glibc

/// For how long authorities that were read from a file may be used for new connections, so that a whole bundle need not be parsed for each.
///
/// libcurl keeps them in memory and takes a greatest age (`CURLOPT_CA_CACHE_TIMEOUT`). The age given here is the time for which the file has been seen
/// as it is now: what was read before it was replaced is older, and is never used again.
struct AuthorityFile {
    /// What changes when a file is replaced or written to.
    struct Stamp: Equatable {
        let device: UInt64
        let inode: UInt64
        let size: Int64
        let modified: [Int]
        let changed: [Int]

        init(device: UInt64, inode: UInt64, size: Int64, modified: [Int], changed: [Int]) {
            self.device = device
            self.inode = inode
            self.size = size
            self.modified = modified
            self.changed = changed
        }

        /// - Returns: `nil` when there is no such file, or it cannot be looked at.
        init?(path: String) {
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            self.init(device: UInt64(status.st_dev), inode: UInt64(status.st_ino), size: Int64(status.st_size),
                      modified: [status.st_mtim.tv_sec, status.st_mtim.tv_nsec], changed: [status.st_ctim.tv_sec, status.st_ctim.tv_nsec])
        }
    }

    /// In seconds: the clocks of libcurl and of this process need not agree to the second.
    private static let margin: Int64 = 5
    /// In seconds: so that two clocks cannot drift apart by more than the margin.
    private static let limit: Int64 = 3_600

    private var stamp: Stamp?
    private var seen: Int64 = 0

    /// - Parameters:
    ///   - found: the file as it is now, `nil` when it cannot be looked at.
    ///   - now: seconds of a clock that neither jumps nor counts suspended time, as libcurl's (`CLOCK_MONOTONIC`).
    /// - Returns: the greatest age in seconds; 0 when the file must be read.
    mutating func greatestAge(_ found: Stamp?, now: Int64) -> Int {
        if found != stamp {
            stamp = found
            seen = now
        }
        guard found != nil else { return 0 }
        return Int(max(0, min(Self.limit, now - seen - Self.margin)))
    }
}
