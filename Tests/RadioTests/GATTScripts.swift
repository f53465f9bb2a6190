@testable import Radio

/// The conversation with a peer that has all that Generic Attribute can have:
/// 0x0001 Generic Attribute (Service Changed 0x0003, Client Supported Features 0x0006, Database Hash 0x0008), 0x0010 Heart Rate (0x0012, configured at 0x0013).
enum GATTScripts {
    /// Read Using Characteristic UUID for the Database Hash.
    static func hashIs(_ hash: String) -> [ScriptStep] { exchange("> 08 01 00 FF FF 2A 2B\n< 09 12 08 00 \(hash)") }

    static let everything = exchange("""
        > 10 01 00 FF FF 00 28
        < 11 06 01 00 09 00 01 18 10 00 14 00 0D 18
        > 10 15 00 FF FF 00 28
        < 01 10 15 00 0A
        > 10 01 00 FF FF 01 28
        < 01 10 01 00 0A
        > 08 01 00 09 00 02 28
        < 01 08 01 00 0A
        > 08 10 00 14 00 02 28
        < 01 08 10 00 0A
        > 08 01 00 09 00 03 28
        < 09 07 02 00 20 03 00 05 2A 05 00 0A 06 00 29 2B 07 00 02 08 00 2A 2B
        > 08 08 00 09 00 03 28
        < 01 08 08 00 0A
        > 04 04 00 04 00
        < 05 01 04 00 02 29
        > 04 09 00 09 00
        < 01 04 09 00 0A
        > 08 10 00 14 00 03 28
        < 09 07 11 00 1A 12 00 37 2A
        > 08 12 00 14 00 03 28
        < 01 08 12 00 0A
        > 04 13 00 14 00
        < 05 01 13 00 02 29
        > 04 14 00 14 00
        < 01 04 14 00 0A
        """)

    /// The subscription of Service Changed, and the features of this side: robust caching and Multiple Handle Value Notifications.
    static let watching = exchange("""
        > 12 04 00 02 00
        < 13
        > 0A 06 00
        < 0B 00
        > 12 06 00 05
        < 13
        """)

    static func opening(_ hash: String) -> [ScriptStep] { hashIs(hash) + everything + watching + hashIs(hash) }

    static let hash = "00 11 22 33 44 55 66 77 88 99 AA BB CC DD EE FF"
    static let newHash = "FF EE DD CC BB AA 99 88 77 66 55 44 33 22 11 00"

    static let database = GATTDatabase(hash: hex(hash), services: [
        GATTDatabase.Service(GATTService(uuid: .uuid16(0x1801), startHandle: 1, endHandle: 9), isPrimary: true, included: [], characteristics: [
            GATTDatabase.Characteristic(GATTCharacteristic(uuid: .serviceChanged, properties: .indicate, declarationHandle: 2, valueHandle: 3, endHandle: 4),
                                        descriptors: [GATTDescriptor(uuid: .clientCharacteristicConfiguration, handle: 4)]),
            GATTDatabase.Characteristic(GATTCharacteristic(uuid: .clientSupportedFeatures, properties: [.read, .write], declarationHandle: 5, valueHandle: 6,
                                                           endHandle: 6), descriptors: []),
            GATTDatabase.Characteristic(GATTCharacteristic(uuid: .databaseHash, properties: .read, declarationHandle: 7, valueHandle: 8, endHandle: 9),
                                        descriptors: []),
        ]),
        GATTDatabase.Service(GATTService(uuid: .uuid16(0x180D), startHandle: 0x10, endHandle: 0x14), isPrimary: true, included: [], characteristics: [
            GATTDatabase.Characteristic(GATTCharacteristic(uuid: .uuid16(0x2A37), properties: [.read, .write, .notify], declarationHandle: 0x11,
                                                           valueHandle: 0x12, endHandle: 0x14),
                                        descriptors: [GATTDescriptor(uuid: .clientCharacteristicConfiguration, handle: 0x13)]),
        ]),
    ])

    /// The second service discovered again, with its value where it is told.
    static func heartRate(valueAt handle: String, configurationAt next: String) -> [ScriptStep] {
        exchange("""
            > 10 10 00 14 00 00 28
            < 11 06 10 00 14 00 0D 18
            > 10 10 00 14 00 01 28
            < 01 10 10 00 0A
            > 08 10 00 14 00 02 28
            < 01 08 10 00 0A
            > 08 10 00 14 00 03 28
            < 09 07 11 00 1A \(handle) 00 37 2A
            > 08 12 00 14 00 03 28
            < 01 08 12 00 0A
            > 04 \(next) 00 14 00
            < 01 04 \(next) 00 0A
            """)
    }
}
