extension Invocation {
    /// The help for a command, or for the program.
    static func help(for command: Command?) -> String {
        switch command {
        case nil: program
        case .run?: run
        case .checkConfig?: checkConfig
        case .status?: status
        case .flush?: flush
        case .quarantine?: quarantine
        case .purgeSealed?: purgeSealed
        case .discardEvidence?: discardEvidence
        case .audit?: audit
        case .pair?: pair
        case .forget?: forget
        case .scan?: scan
        case .probe?: probe
        }
    }

    private static let program = """
        gateway carries what activity collars measured to a backend.

        Usage:
          gateway run              [--config FILE]
          gateway check-config     [--print] [--config FILE]
          gateway status           [--json] [--config FILE | --socket PATH]
          gateway flush            [--json] [--config FILE | --socket PATH]
          gateway quarantine       [--json] [--config FILE | --socket PATH]
          gateway quarantine       release ID | give ID OWNER --yes | settle ID --yes
          gateway purge-sealed     OWNER --yes
          gateway discard-evidence NUMBER --yes
          gateway audit            [--json] [--config FILE | --socket PATH]
          gateway pair             [DEVICE]
          gateway forget           DEVICE
          gateway scan             [--seconds N]
          gateway probe            DEVICE
          gateway --version
          gateway [COMMAND] --help

        Commands:
          run               Be the daemon, in the foreground, until SIGTERM or SIGINT.
          check-config      Read the configuration, say everything that is wrong with it, and start nothing.
          status            Ask the running daemon how it is.
          flush             Let the running daemon try at once to send everything that waits.
          quarantine        List what is set aside; release an entry into the queue, give readings to an owner, or declare an entry settled.
          purge-sealed      Delete what is kept of an owner who will not come back.
          discard-evidence  Delete windows that the backend rejected and that are kept.
          audit             Show what operators did.
          pair              Open pairing for a device, or for all that have no bond.
          forget            Forget a device's bonds and its learned address.
          scan              List the Bluetooth devices that are heard.
          probe             Look at a device from end to end without changing anything.

        The configuration is read from \(ConfigurationFile.standardPath) unless --config names another file.

        Exit status:
           0  done
          64  the command line is wrong
          69  the daemon does not run or does not answer
          76  the daemon refused the request or answered nonsense
          77  this user may not do that
          78  the configuration has errors

        """

    private static let run = """
        Usage: gateway run [--config FILE]

        Runs the daemon in the foreground until SIGTERM or SIGINT. Nothing is started while the configuration
        has an error; all errors are printed, and the exit status is 78. On SIGHUP it reads the configuration again:
        what may change at work counts at once, the journal says what waits for the next start, and a configuration
        with an error changes nothing.

          --config FILE   the configuration (\(ConfigurationFile.standardPath)), with its drop-ins (gateway.d/*.toml beside it)

        """

    private static let checkConfig = """
        Usage: gateway check-config [--print] [--config FILE]

        Reads the configuration as `gateway run` does, with its drop-ins and the files it names, and prints every error
        and warning as FILE:LINE:COLUMN. Exit status 0 when there is no error, 78 otherwise. It changes nothing. Run it
        as root or as the gateway's user, so that it can see what the daemon will see.

          --print         print every value that counts and where it came from, as a configuration that says the same
          --config FILE   the configuration (\(ConfigurationFile.standardPath)), with its drop-ins (gateway.d/*.toml beside it)

        """

    private static let status = """
        Usage: gateway status [--json] [--config FILE | --socket PATH]

        Asks the running daemon how it is: its queue, each owner's delivery, each collar. It must be run by root or by
        the gateway's user.

          --json          print JSON, for programs; names do not change between releases
          --config FILE   the configuration that names the control socket (\(ConfigurationFile.standardPath))
          --socket PATH   the control socket itself

        """

    private static let flush = """
        Usage: gateway flush [--json] [--config FILE | --socket PATH]

        Lets the running daemon try at once to send everything that waits, for every owner, and read what the collars
        hold. It must be run by root or by the gateway's user. It does not wait for the result: see `gateway status`.

          --json          print JSON, for programs
          --config FILE   the configuration that names the control socket (\(ConfigurationFile.standardPath))
          --socket PATH   the control socket itself

        """

    private static let quarantine = """
        Usage: gateway quarantine [--json] [--config FILE | --socket PATH]
               gateway quarantine release ID [--json] [--config FILE | --socket PATH]
               gateway quarantine give ID OWNER --yes [--json] [--config FILE | --socket PATH]
               gateway quarantine settle ID --yes [--json] [--config FILE | --socket PATH]

        Lists what is set aside: entries in quarantine, entries sealed because their owner is not configured, and
        windows that the backend rejected. It shows no window and no value of a reading. It must be run by root or by the
        gateway's user.

        release ID puts an entry back into the queue, to be sent once more; do it when the cause is gone.
        give ID OWNER makes the readings of an entry those of a configured owner, whosever they were taken for before, and puts
        them into the queue; do it when you know whose they are. Readings that cannot be read are not given.
        settle ID declares an entry settled without delivery: its windows are deleted here, and the collar may forget them; its
        readings are deleted here, and a cuff that sends them again sends nothing new.
        Who did it stays in the audit.

          --yes           give: yes, they are this owner's; settle: yes, delete them
          --json          print JSON, for programs; names do not change between releases
          --config FILE   the configuration that names the control socket (\(ConfigurationFile.standardPath))
          --socket PATH   the control socket itself

        """

    private static let purgeSealed = """
        Usage: gateway purge-sealed OWNER --yes [--json] [--config FILE | --socket PATH]

        Deletes everything that is sealed for an owner who is not configured and will not come back. It counts as settled:
        the collars may forget it. With their owner configured again, sealed entries are delivered instead. Who did it stays
        in the audit. It must be run by root or by the gateway's user.

          --yes           yes, delete it
          --json          print JSON, for programs
          --config FILE   the configuration that names the control socket (\(ConfigurationFile.standardPath))
          --socket PATH   the control socket itself

        """

    private static let discardEvidence = """
        Usage: gateway discard-evidence NUMBER --yes [--json] [--config FILE | --socket PATH]

        Deletes the windows that the backend rejected, up to and including NUMBER as `gateway quarantine` lists them. While
        there is no room for them, receipts with rejections wait. Who did it stays in the audit. It must be run by root or
        by the gateway's user.

          --yes           yes, delete them
          --json          print JSON, for programs
          --config FILE   the configuration that names the control socket (\(ConfigurationFile.standardPath))
          --socket PATH   the control socket itself

        """

    private static let audit = """
        Usage: gateway audit [--json] [--config FILE | --socket PATH]

        Shows what operators did with entries and windows that were set aside: when, who (by user number), what. It must be
        run by root or by the gateway's user.

          --json          print JSON, for programs; names do not change between releases
          --config FILE   the configuration that names the control socket (\(ConfigurationFile.standardPath))
          --socket PATH   the control socket itself

        """

    private static let pair = """
        Usage: gateway pair [DEVICE] [--json] [--config FILE | --socket PATH]

        Opens pairing for the configured DEVICE, or without one for every configured device that has no bond, for two minutes. A
        device without an address is looked for by its serial number, and its address is remembered. It must be run by root or
        by the gateway's user.

          --json          print JSON, for programs; names do not change between releases
          --config FILE   the configuration that names the control socket (\(ConfigurationFile.standardPath))
          --socket PATH   the control socket itself

        """

    private static let forget = """
        Usage: gateway forget DEVICE [--json] [--config FILE | --socket PATH]

        Forgets how the configured DEVICE is reached: its bonds, what was discovered of it, and the address that was learned.
        What was read from it stays and is delivered. It must be run by root or by the gateway's user.

          --json          print JSON, for programs; names do not change between releases
          --config FILE   the configuration that names the control socket (\(ConfigurationFile.standardPath))
          --socket PATH   the control socket itself

        """

    private static let scan = """
        Usage: gateway scan [--seconds N] [--json] [--config FILE | --socket PATH]

        Lists every Bluetooth device that is heard, the strongest first: address and its type, strength, the configured device
        that it is, the name that it gives itself, the services that it advertises. It links none of them. It must be run by
        root or by the gateway's user.

          --seconds N     how long to listen, \(RadioRequest.scanRange.lowerBound) to \(RadioRequest.scanRange.upperBound) (\(RadioRequest.scanStandard))
          --json          print JSON, for programs; names do not change between releases
          --config FILE   the configuration that names the control socket (\(ConfigurationFile.standardPath))
          --socket PATH   the control socket itself

        """

    private static let probe = """
        Usage: gateway probe DEVICE [--json] [--config FILE | --socket PATH]

        Looks at the configured DEVICE from end to end: services and characteristics, a collar's heartbeat and status, and what
        in it is not as the profile of its kind says. It changes nothing on the device and takes no window and no reading. A cuff
        that is away is looked at when it comes within a minute: switch it on, or measure. It must be run by root or by the
        gateway's user.

          --json          print JSON, for programs; names do not change between releases
          --config FILE   the configuration that names the control socket (\(ConfigurationFile.standardPath))
          --socket PATH   the control socket itself

        """
}
