/// The commands that a cuff of the BP2 family may be sent. There are others in its protocol, some of which inflate the cuff, erase its memory or
/// reset it to what it left the factory with: this type has no value for them, and frames are only made from it.
enum BP2Command: UInt8, Sendable, CaseIterable {
    /// What the cuff does, and its battery.
    case state = 0x06
    /// The running measurement.
    case liveData = 0x08
    /// The pressure in the cuff now.
    case livePressure = 0x32
    /// Who the cuff is, and its clock.
    case info = 0xE1
    /// The battery alone.
    case battery = 0xE4
    /// Sets the clock to local time.
    case setTime = 0xEC
    /// Sets the clock to UTC with a zone; models that have it.
    case setZonedTime = 0xC0
    /// The names of the files.
    case fileList = 0xF1
    /// Opens a file and says how long it is.
    case readFileStart = 0xF2
    /// A part of the file that is open.
    case readFileData = 0xF3
    /// Closes the file.
    case readFileEnd = 0xF4
}
