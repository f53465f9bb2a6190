import Platform
import Testing
import struct Simulation.CollarTable
@testable import Radio

@Suite("What an installer sees of a collar")
struct CollarSurveyTests {
    /// Looks at a scripted collar over a client of its own.
    private static func survey(
        mtu: UInt16 = 517, table: CollarTable = CollarTable(serial: "C-1042", firmware: "2.1"), profile: CollarProfile = CollarProfile(),
        _ prepare: @escaping @Sendable (isolated ScriptedCollar) -> Void = { _ in }
    ) throws -> CollarSurvey {
        try CollarFixture.run(mtu: mtu, table: table, profile: profile) { fixture in
            await fixture.collar.perform(prepare)
            let client = await fixture.connection.client
            try await client.start { _ in }
            let survey = try await CollarSurvey.make(with: client, profile: profile)
            #expect(await fixture.collar.subscriptions.isEmpty, "a look changes nothing")
            #expect(await fixture.collar.pdus.allSatisfy { $0[0] != 0x12 && $0[0] != 0x52 })
            return survey
        }
    }

    /// Gives a characteristic's declaration other properties.
    private static func properties(_ properties: UInt8, of uuid: BluetoothUUID) -> @Sendable ([UInt8]) -> [UInt8] {
        { pdu in
            guard pdu.first == 0x09, pdu.count > 2, pdu[1] == 21 else { return pdu }
            var altered = pdu
            for start in stride(from: 2, to: pdu.count - 20, by: 21) where Array(pdu[(start + 5)..<(start + 21)]) == uuid.littleEndian128 { altered[start + 2] = properties }
            return altered
        }
    }

    @Test("a collar as the profile says has no findings, and is told whole")
    func complete() throws {
        let survey = try Self.survey { $0.set(metrics: Forge.metrics(log: 9, oldest: 3, next: 12, battery: 55)) }
        #expect(survey.findings == [])
        #expect(survey.serial == "C-1042")
        #expect(survey.metrics?.log == 9)
        #expect(survey.metrics?.held == 9)
        #expect(survey.metrics?.battery == 55)
        #expect(survey.mtu == 517)
        #expect(!survey.isEncrypted)
        #expect(survey.database.services.map(\.service.uuid) == [.uuid16(0x1800), .uuid16(0x1801), .uuid16(0x180A), .uuid16(0x180F), CollarProfile().service])
        #expect(survey.database.services.last?.characteristics.count == 3)
    }

    @Test("a connection that is in use is looked at and goes on")
    func inUse() throws {
        try CollarFixture.open(script: { collar, _ in collar.answer(4) }) { fixture in
            let survey = try await fixture.connection.survey()
            #expect(survey.findings == [])
            #expect(try await fixture.connection.setTime(7) == .set)
            await fixture.collar.beat()
            try await fixture.loop.sleep(for: .milliseconds(1))
            #expect(fixture.events.all.contains { if case .heartbeat = $0 { true } else { false } })
            await fixture.connection.close()
            let error = await collarError { _ = try await fixture.connection.survey() }
            #expect(error?.code == .linkClosed)
        }
    }

    @Test("a device without the service is told as that alone")
    func noService() throws {
        let survey = try Self.survey(profile: CollarProfile(service: .uuid16(0x1234)))
        #expect(survey.findings.count == 1)
        #expect(survey.findings.first?.contains("there is no service") == true)
        #expect(survey.metrics == nil)
        #expect(survey.serial == "C-1042")
    }

    @Test("each characteristic that is not there is named")
    func noCharacteristic() throws {
        let other = BluetoothUUID.uuid16(0x1234)
        let cases: [(CollarProfile, String)] = [
            (CollarProfile(heartbeat: other), "Beta Metrics"), (CollarProfile(windows: other), "Raw Windows"), (CollarProfile(control: other), "Control Point"),
        ]
        for (profile, name) in cases {
            let findings = try Self.survey(profile: profile).findings
            #expect(findings.count == 1 && findings[0].contains("no characteristic \(name)"), "\(findings)")
        }
    }

    @Test("a property that a characteristic lacks is named")
    func noProperty() throws {
        let profile = CollarProfile()
        let cases: [(UInt8, BluetoothUUID, String)] = [
            (0x10, profile.heartbeat, "Beta Metrics lacks: read"), (0x02, profile.windows, "Raw Windows lacks: notify"),
            (0x20, profile.control, "Control Point lacks: write"), (0x00, profile.control, "Control Point lacks: write, indicate"),
        ]
        for (properties, uuid, words) in cases {
            let alter = Self.properties(properties, of: uuid)
            let survey = try Self.survey { $0.alter(alter) }
            #expect(survey.findings == [words])
            #expect((survey.metrics == nil) == (uuid == profile.heartbeat), "what may not be read is not read")
        }
    }

    @Test("a characteristic that cannot be subscribed is named")
    func noConfiguration() throws {
        let table = CollarTable(serial: "C-1042", firmware: "2.1")
        let handle = table.rawWindows
        let survey = try Self.survey(table: table) { collar in
            collar.alter { pdu in
                // Find Information Response, 16-bit UUIDs: its descriptors are another two.
                guard pdu.first == 0x05, pdu.count > 6, UInt16(pdu[2]) | UInt16(pdu[3]) << 8 == handle + 1 else { return pdu }
                var altered = pdu
                for start in stride(from: 2, to: pdu.count - 3, by: 4) where pdu[start + 2] == 0x02 && pdu[start + 3] == 0x29 { altered[start + 2] = 0x04 }
                return altered
            }
        }
        #expect(survey.findings == ["Raw Windows has no Client Characteristic Configuration (0x2902)"])
    }

    @Test("a serial number that is not there, is no text, or is refused, is a finding")
    func serial() throws {
        let text = try Self.survey(table: CollarTable(serial: "\u{7}", firmware: "1"))
        #expect(text.serial == nil)
        #expect(text.findings == ["the serial number is no printable text of 1 to 64 octets"])
        let absent = try Self.survey { collar in
            collar.alter { pdu in
                guard pdu.first == 0x09, pdu.count > 8, pdu[1] == 7, pdu[7] == 0x25, pdu[8] == 0x2A else { return pdu }
                var altered = pdu
                altered[7] = 0x24
                return altered
            }
        }
        #expect(absent.serial == nil)
        #expect(absent.findings.count == 1 && absent.findings[0].contains("no Serial Number String"), "\(absent.findings)")
        let refused = try Self.survey { collar in
            // The value behind the first declaration of Device Information.
            collar.intercept { $0 == [0x0A, 0x12, 0x00] ? [0x01, 0x0A, 0x12, 0x00, 0x08] : nil }
        }
        #expect(refused.serial == nil)
        #expect(refused.findings.count == 1 && refused.findings[0].contains("cannot be read"), "\(refused.findings)")
    }

    @Test("Beta Metrics that cannot be read are a finding, and so is the smallest ATT_MTU")
    func metrics() throws {
        let survey = try Self.survey(mtu: 23) { $0.set(metrics: Forge.metrics(version: 2)) }
        #expect(survey.metrics == nil)
        #expect(survey.findings.count == 2)
        #expect(survey.findings.contains { $0.contains("ATT MTU is 23") })
        #expect(survey.findings.contains { $0.contains("version 2") })
    }

    @Test("a link that breaks is no finding")
    func broken() throws {
        try CollarFixture.run { fixture in
            let client = await fixture.connection.client
            try await client.start { _ in }
            await fixture.collar.intercept { pdu in pdu[0] == 0x08 ? [0xFF, 0xFF] : nil }
            fixture.loop.spawn {
                try? await fixture.loop.sleep(for: .seconds(1))
                await fixture.collar.hangUp()
            }
            let failed: Bool
            do {
                _ = try await CollarSurvey.make(with: client, profile: CollarProfile())
                failed = false
            } catch { failed = true }
            #expect(failed)
        }
    }
}
