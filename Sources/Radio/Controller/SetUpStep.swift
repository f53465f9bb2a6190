/// One step of what is done with a controller. `SetUpStep.all` gives the set-up's order; later changes are steps too.
public enum SetUpStep: Sendable, Hashable, CustomStringConvertible {
    case powerOff
    case lowEnergyOn
    case brEDROff
    case advertisingOff
    case discoverableOff
    case connectableOff
    case secureConnections
    case bondable
    case ioCapability
    case longTermKeys
    case identityResolvingKeys
    case systemConfiguration
    case forgetDevices
    case powerOn
    case connections
    case connectionParameters(BluetoothAddress)
    case addDevice(BluetoothAddress)
    /// Before a removal: the kernel begins no connection of its own to it any more, and the one that it may have begun is over when it answers. A removal in
    /// the middle of that leaves a connection in the kernel (seen in 6.12) that is neither made nor dropped, and no other is begun to that device.
    case holdDevice(BluetoothAddress)
    case removeDevice(BluetoothAddress)
    case disconnect(BluetoothAddress)
    case startScan
    case stopScan
    /// Reads the controller's settings, for what no event told.
    case audit

    /// The set-up of a controller, in its order:
    ///
    /// 1. power off, on a controller that is on: when it is inherited, and when BR/EDR has to be turned off (the kernel refuses that otherwise);
    /// 2. LE on, then BR/EDR off (at least one must be on), then advertising, discoverable and connectable off: nothing links to us;
    /// 3. Secure Connections (after BR/EDR, on which it would depend), bondable, IO capability;
    /// 4. Long Term Keys and Identity Resolving Keys, each list replacing the kernel's, before any link can come;
    /// 5. default system configuration, which counts from the next power on;
    /// 6. the devices of a former run forgotten, so that none is linked which is configured no more; on a controller that stays on ours are held before;
    /// 7. power on;
    /// 8. the links that are up: those without a channel of ours are ended, as no accept will follow for them;
    /// 9. for each device its connection parameters and *then* Add Device: the kernel throws parameters away that belong to
    ///    no added device when the next are loaded.
    ///
    /// What is already as it should be is left out.
    ///
    /// A controller is *inherited* that this process has not set up before. The process before it may have been killed at any moment, and a connection that it had begun
    /// may be queued, under way or about to be cancelled. When the list is emptied just then, Linux 6.12 either keeps a connection that it neither makes nor drops, or
    /// forgets one that the controller makes meanwhile (LE Create Connection Cancel is refused as Command Disallowed, Core Vol 4 Part E 7.8.13, and the link stays
    /// in the controller alone): its device is linked for its part, advertises no more, and is never heard again. No command lists either of them or ends it. Power ends both: the kernel
    /// lets go of every connection, and resets the controller.
    static func all(
        information: ControllerInformation, policy: ControllerPolicy, devices: [BluetoothAddress], configurable: Bool, isInherited: Bool
    ) -> [SetUpStep] {
        let current = information.current
        let staysOn = current.contains(.powered) && !current.contains(.brEDR) && !isInherited
        var steps: [SetUpStep] = []
        if current.contains(.powered), !staysOn { steps.append(.powerOff) }
        if !current.contains(.lowEnergy) { steps.append(.lowEnergyOn) }
        if current.contains(.brEDR) { steps.append(.brEDROff) }
        if current.contains(.advertising) { steps.append(.advertisingOff) }
        if current.contains(.discoverable) { steps.append(.discoverableOff) }
        if current.contains(.connectable) { steps.append(.connectableOff) }
        if information.supported.contains(.secureConnections) { steps.append(.secureConnections) }
        steps += [.bondable, .ioCapability, .longTermKeys, .identityResolvingKeys]
        if configurable, !policy.systemConfiguration.isEmpty { steps.append(.systemConfiguration) }
        if staysOn { steps += devices.map { .holdDevice($0) } }
        return steps + [.forgetDevices, .powerOn, .connections] + devices.flatMap { [.connectionParameters($0), .addDevice($0)] }
    }

    /// What a failure of the step means, once trying again has not helped.
    enum Weight {
        /// Without it the controller is of no use.
        case required
        /// The hub does without.
        case optional
        /// It costs the device that it is about, until the next check.
        case device(BluetoothAddress)
    }

    var weight: Weight {
        switch self {
        case .lowEnergyOn, .brEDROff, .bondable, .ioCapability, .longTermKeys, .identityResolvingKeys, .forgetDevices, .powerOn,
             .powerOff, .connections:
            .required
        case .advertisingOff, .discoverableOff, .connectableOff, .secureConnections, .systemConfiguration, .startScan, .stopScan, .audit,
             .connectionParameters, .holdDevice, .disconnect:
            .optional
        case .addDevice(let address), .removeDevice(let address): .device(address)
        }
    }

    public var description: String {
        switch self {
        case .powerOff: "power off"
        case .lowEnergyOn: "LE on"
        case .brEDROff: "BR/EDR off"
        case .advertisingOff: "advertising off"
        case .discoverableOff: "discoverable off"
        case .connectableOff: "connectable off"
        case .secureConnections: "Secure Connections"
        case .bondable: "bondable"
        case .ioCapability: "IO capability"
        case .longTermKeys: "long term keys"
        case .identityResolvingKeys: "identity resolving keys"
        case .systemConfiguration: "default system configuration"
        case .forgetDevices: "devices of a former run"
        case .powerOn: "power on"
        case .connections: "links that are up"
        case .connectionParameters(let address): "connection parameters of \(address)"
        case .addDevice(let address): "device \(address)"
        case .holdDevice(let address): "hold of device \(address)"
        case .removeDevice(let address): "removal of device \(address)"
        case .disconnect(let address): "disconnection of \(address)"
        case .startScan: "start of a scan"
        case .stopScan: "end of a scan"
        case .audit: "check of the settings"
        }
    }
}
