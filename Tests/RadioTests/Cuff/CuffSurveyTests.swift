import Platform
import Testing
import struct Simulation.BluetoothUUID
import struct Simulation.GATTTable
@testable import Radio

@Suite("What an installer sees of a cuff")
struct CuffSurveyTests {
    private static func survey(_ table: CuffTable, driver: CuffDriver = .standard) throws -> CuffSurvey {
        try CuffFixture.run(table) { fixture in
            let client = await fixture.connection.client
            try await client.start { _ in }
            let survey = try await CuffSurvey.make(with: client, driver: driver)
            #expect(await fixture.cuff.subscriptions.isEmpty, "a look takes nothing from it")
            #expect(await fixture.cuff.requests.isEmpty)
            return survey
        }
    }

    @Test("a cuff as the standard says has no findings, and is told whole")
    func complete() throws {
        let survey = try Self.survey(CuffTable(optional: true))
        #expect(survey.findings == [])
        #expect(survey.identity.serial == "BP-1")
        #expect(survey.database.services.map(\.service.uuid) == [.uuid16(0x180A), .uuid16(0x1810)])
        #expect(survey.mtu == 100 && !survey.isEncrypted)
    }

    @Test("what a driver needs and does not find is named")
    func missing() throws {
        #expect(try Self.survey(CuffTable(), driver: .bp2).findings == ["there is no service 14839ac4-7d7e-415c-9a42-167340cf2339"])
        var other = CuffTable()
        other.table = GATTTable()
        other.table.addService(BluetoothUUID(0x1810))
        other.table.addCharacteristic(BluetoothUUID(0x2A35), .read, value: [0])
        #expect(try Self.survey(other).findings == ["the service indicates no Blood Pressure Measurement (2A35)"])
    }

    @Test("a connection that is in use is looked at and goes on; one that is over is not")
    func inUse() throws {
        let table = CuffTable()
        let handle = table.measurement
        try CuffFixture.run(table) { fixture in
            _ = try await fixture.connection.open()
            #expect(try await fixture.connection.survey().findings == [])
            await fixture.cuff.indicate(CuffForge.measurement(), of: handle)
            try await fixture.settle()
            #expect(fixture.events.all.contains { if case .measurement = $0 { true } else { false } })
            await fixture.connection.close()
            await #expect(throws: CuffError.self) { _ = try await fixture.connection.survey() }
        }
    }
}
