import Glibc

/// Whether rfkill(8) has switched a controller off. The management API has a status for that and does not use it when power is switched on (seen in Linux 6.12: it
/// says that it failed), so it is looked up where the kernel shows it (Documentation/ABI/stable/sysfs-class-rfkill).
enum RadioBlock {
    /// - Parameters:
    ///   - index: the controller.
    ///   - folder: where controllers are, each in a folder of its name.
    static func holds(_ index: ControllerIndex, in folder: String = "/sys/class/bluetooth") -> Bool {
        let controller = "\(folder)/\(index)"
        guard let directory = opendir(controller) else { return false }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: Int(NAME_MAX) + 1) { String(cString: $0) }
            }
            guard name.hasPrefix("rfkill") else { continue }
            if isSet("\(controller)/\(name)/soft") || isSet("\(controller)/\(name)/hard") { return true }
        }
        return false
    }

    private static func isSet(_ path: String) -> Bool {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        var digit: UInt8 = 0
        return read(file, &digit, 1) == 1 && digit == UInt8(ascii: "1")
    }
}
