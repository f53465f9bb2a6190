/// Cuts a window into the values of notifications.
public enum WindowFragments {
    /// One value of 322 bytes when ATT_MTU is 325 or more; else values of a 16-bit offset and the bytes from there, none of them 322 long.
    public static func values(_ window: [UInt8], mtu: Int) -> [[UInt8]] {
        let room = mtu - 3
        if room >= window.count { return [window] }
        var values: [[UInt8]] = []
        for start in stride(from: 0, to: window.count, by: room - 2) {
            var value: [UInt8] = []
            value.append(littleEndian: UInt16(start))
            values.append(value + window[start..<min(start + room - 2, window.count)])
        }
        return values
    }
}
