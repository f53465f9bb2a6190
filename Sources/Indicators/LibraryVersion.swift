import CGPIOD

/// The version of the libgpiod that is loaded, e.g. `1.6.3` or `2.2.1`, for `gateway --version`.
public func libraryVersion() -> String {
    String(cString: cgpiod_library_version())
}
