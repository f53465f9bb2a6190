import Testing
@testable import Radio

@Suite("The table of cuffs")
struct CuffModelTests {
    private static let standard: BluetoothUUID = CuffDriver.standard.service
    private static let bp2: BluetoothUUID = CuffDriver.bp2.service

    @Test("a model is found by its name and the service of its driver, and any other cuff by its service")
    func matching() {
        let cases: [(String?, Set<BluetoothUUID>, String?)] = [
            ("BM85", [Self.standard], "Beurer BM85"), ("BM85 ABC", [Self.standard, .uuid16(0x180F)], "Beurer BM85"),
            ("BP2 0812", [Self.bp2], "Viatom BP2, BP2A, BP2W, LP-BP2W"), ("LP-BP2W", [Self.bp2], "Viatom BP2, BP2A, BP2W, LP-BP2W"),
            ("AHG-427B", [Self.standard], "American Health Gate AHG-427B"), ("Somebody's", [Self.standard], "a cuff of the Blood Pressure Service"),
            (nil, [Self.standard], "a cuff of the Blood Pressure Service"), (nil, [Self.bp2], "a cuff of the BP2 family"), ("BM85", [.uuid16(0x180F)], nil), ("BP2", [], nil)
        ]
        for (name, services, expected) in cases { #expect(CuffModel.matching(name: name, services: services)?.name == expected) }
    }

    @Test("a name with the service of another driver is not that model")
    func impostor() {
        #expect(CuffModel.matching(name: "BM85", services: [Self.bp2])?.quirks == [])
        #expect(CuffModel.matching(name: "BP2", services: [Self.standard])?.driver == .standard)
    }

    @Test("quirks are those of the table alone")
    func quirks() throws {
        let octets = CuffForge.measurement(pulse: UInt16(72).byteSwapped)
        let model = try #require(CuffModel.matching(name: "BM85", services: [Self.standard]))
        #expect(try CuffMeasurement(bloodPressureMeasurement: octets, quirks: model.quirks).pulse?.number?.coefficient == 72)
        #expect(CuffModel.table.filter { !$0.quirks.isEmpty }.map(\.name) == ["Beurer BM85"])
        #expect(CuffModel.table.filter(\.replaysMemory).allSatisfy { $0.driver == .bp2 })
        #expect(CuffDriver.allCases.allSatisfy { driver in CuffModel.table.contains { $0.driver == driver && $0.namePrefixes.isEmpty } })
    }
}
