import Testing
@testable import Radio

@Suite("The table of cuffs")
struct CuffModelTests {
    @Test("a model is told by what the cuff calls itself and by its driver, and any other cuff is one of its driver")
    func identified() {
        let cases: [([String], CuffDriver, String)] = [
            (["BM85"], .standard, "Beurer BM85"), (["BM85 ABC"], .standard, "Beurer BM85"), (["a cuff", "BM85"], .standard, "Beurer BM85"),
            (["AHG-427B"], .standard, "American Health Gate AHG-427B"), (["X2 Smart+"], .standard, "Omron X2 Smart+"),
            (["Somebody's"], .standard, "Blood Pressure Service"), ([], .standard, "Blood Pressure Service"), (["My BM85"], .standard, "Blood Pressure Service"),
            (["BP2 0812"], .bp2, "Viatom BP2"), (["BP2A 1"], .bp2, "Viatom BP2A"), (["BP2W 1"], .bp2, "Viatom BP2W"), (["LP-BP2W"], .bp2, "Viatom LP-BP2W"),
            (["LP-BP2"], .bp2, "Viatom BP2"), ([], .bp2, "BP2 family")
        ]
        for (names, driver, expected) in cases { #expect(CuffModel.identified(by: names, driver: driver).name == expected, "\(names)") }
    }

    @Test("a name with the service of another driver is not that model")
    func impostor() {
        #expect(CuffModel.identified(by: ["BM85"], driver: .bp2).quirks == [])
        #expect(CuffModel.identified(by: ["BP2"], driver: .standard).name == "Blood Pressure Service")
    }

    @Test("a custom model that stands before the table counts before it, and one without a prefix is found by nobody")
    func custom() {
        let mine = CuffModel(name: "mine", namePrefixes: ["BM8"], driver: .standard), chosen = CuffModel(name: "chosen", driver: .standard)
        let table = [chosen, mine] + CuffModel.table
        #expect(CuffModel.identified(by: ["BM85"], driver: .standard, in: table).name == "mine")
        #expect(CuffModel.identified(by: ["anything"], driver: .standard, in: table).name == "Blood Pressure Service")
    }

    @Test("names of models are distinct, no prefix hides a longer one behind it, and everything is said of each")
    func table() {
        let table = CuffModel.table
        #expect(Set(table.map(\.name)).count == table.count)
        for (index, model) in table.enumerated() {
            for prefix in model.namePrefixes {
                #expect(CuffModel.identified(by: [prefix], driver: model.driver) == model, "\(prefix)")
                #expect(!table[..<index].contains { $0.driver == model.driver && $0.namePrefixes.contains { prefix.hasPrefix($0) } }, "\(prefix)")
            }
            #expect(!model.pairing.isEmpty && !model.memory.isEmpty && !model.knowledge.isEmpty, "\(model.name)")
        }
        for driver in CuffDriver.allCases { #expect(table.suffix(CuffDriver.allCases.count).contains(.general(driver))) }
    }

    @Test("quirks are those of the table alone, and standard cuffs are paired first unless they say otherwise")
    func quirks() throws {
        let octets = CuffForge.measurement(pulse: UInt16(72).byteSwapped)
        let model = CuffModel.identified(by: ["BM85"], driver: .standard)
        #expect(try CuffMeasurement(bloodPressureMeasurement: octets, quirks: model.quirks).pulse?.number?.coefficient == 72)
        #expect(CuffModel.table.filter { !$0.quirks.isEmpty }.map(\.name) == ["Beurer BM85"])
        #expect(CuffModel.table.filter(\.replaysMemory).allSatisfy { $0.driver == .bp2 })
        #expect(CuffModel.table.allSatisfy { $0.security == ($0.driver == .standard ? .encrypted : .none) })
        #expect(MeasurementQuirks([.bigEndianPulseAndStatus]) == .bigEndianPulseAndStatus && MeasurementQuirks([] as [MeasurementQuirks.Name]) == [])
    }
}
