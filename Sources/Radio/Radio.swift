// # Radio
//
// Everything between the air and the hub: addresses, the Attribute Protocol, GATT, and the drivers of the devices above them.
//
//     driver (collar, cuff)        what a device's profile says
//        │  GATTClient             procedures: discover, read, write, subscribe (Core Vol 3 Part G)
//        │  ATTBearer              one transaction at a time, MTU, violations (Core Vol 3 Part F); a value, no I/O
//        │  ATTPDU                 bytes ⇄ typed PDUs; no bytes trap
//        └─ Descriptor             a connected SOCK_SEQPACKET socket: L2CAP CID 4 from the kernel, or a Unix socket
//
// Beneath the links, on a kernel with Bluetooth and without bluetoothd:
//
//     RadioController              links for each device's driver, encrypted and paired as its policy says; bonds through a BondStore
//        │  ConnectorMachine       who is waited for, looked for, paired, adopted; a value, no I/O
//        │  L2CAPListener, L2CAPDialer, ChannelSecurity   links on CID 4, and their encryption
//     BluetoothController          events up, wishes down: set-up, devices, keys, scans, pairings, recoveries
//        │  ControllerMachine      the policy; a value, no I/O. The order of the set-up is at SetUpStep.all
//        │  ManagementClient       the control socket; ManagementMachine keeps one command with the kernel
//
// The module knows neither disk nor network. What it hands up are plain values; what fails is a `GATTError` or a `BearerClosure`
// with a stable code.
