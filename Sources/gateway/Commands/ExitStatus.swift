/// What the program's exit status says (sysexits(3head) where it has a number for it).
enum ExitStatus {
    /// All is done.
    static let done: CInt = 0
    /// The command line is wrong (EX_USAGE).
    static let usage: CInt = 64
    /// The daemon does not run, or does not answer (EX_UNAVAILABLE).
    static let unavailable: CInt = 69
    /// The daemon answered something that is no answer, or refused the request (EX_PROTOCOL).
    static let protocolError: CInt = 76
    /// This user may not (EX_NOPERM).
    static let notAllowed: CInt = 77
    /// The configuration has errors (EX_CONFIG).
    static let configuration: CInt = 78
}
