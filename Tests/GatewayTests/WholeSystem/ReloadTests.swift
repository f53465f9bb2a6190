import Indicators
import Platform
import Simulation
import Testing
@testable import gateway

@Suite("Another configuration for a hub at work, under virtual time")
struct ReloadTests {
    let recording: Recording

    init() throws { recording = try projectRecording() }

    @Test("other thresholds for reading hold at once, for windows that were announced before too")
    func thresholds() throws {
        let world = try World(.init(seed: 301, backlog: 0), recording: recording)
        try world.loop.run {
            var configuration = world.configuration()
            configuration.sync = .init(batchWindows: 128, batchAge: .seconds(3_600))
            let hub = world.hub(configuration)
            try await hub.start()
            await world.collar.start()
            try await world.loop.sleep(for: .seconds(60))
            let before = await world.backend.windows.count
            configuration.sync = .init(batchWindows: 10, batchAge: .seconds(3_600))
            await hub.adopt(configuration)
            #expect(try await world.wait(.seconds(10)) { await world.backend.windows.count >= before + 40 })
            // No request carries more than the threshold.
            #expect(await hub.status().collars.first?.state != .away)
            await world.checkInvariants()
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("another away time moves the moment at which the radio LED says that a device has been away for long")
    func away() throws {
        let world = try World(.init(seed: 302), recording: recording)
        try world.loop.run {
            var configuration = world.configuration()
            let life = world.life(configuration)
            try await life.hub.start()
            await world.collar.start()
            #expect(try await world.wait(.seconds(60)) { await life.hub.status().collars.first?.state != .away })
            for links in life.links.values { await links.end() }
            await world.collar.dropLink()
            #expect(try await world.wait(.seconds(60)) { await life.hub.status().collars.first?.state == .away })
            try await world.loop.sleep(for: .seconds(100))
            #expect(await life.hub.view().shown.first { $0.led == .radio }?.state == .lookingForDevices)
            configuration.collars[0].awayAfter = .seconds(300)
            await life.hub.adopt(configuration)
            try await world.loop.sleep(for: .seconds(120))
            #expect(await life.hub.view().shown.first { $0.led == .radio }?.state == .lookingForDevices)
            #expect(try await world.wait(.seconds(120)) { await life.hub.view().shown.first { $0.led == .radio }?.state == .deviceAway })
            configuration.collars[0].awayAfter = .seconds(86_400)
            await life.hub.adopt(configuration)
            #expect(try await world.wait(.seconds(2)) { await life.hub.view().shown.first { $0.led == .radio }?.state == .lookingForDevices })
            await life.hub.stop()
            await world.collar.stop()
        }
    }

    @Test("a refused configuration is shown by the status LED until one without error was read, and work goes on")
    func refused() throws {
        let world = try World(.init(seed: 303), recording: recording)
        try world.loop.run {
            let hub = world.hub(world.configuration())
            try await hub.start()
            await hub.refuseConfiguration()
            #expect(try await world.wait(.seconds(2)) { await hub.view().shown.first { $0.led == .status }?.state == .configurationRefused })
            await world.collar.start()
            #expect(try await world.wait(.seconds(300)) { await world.backend.windows.count >= 300 })
            #expect(await hub.view().shown.first { $0.led == .status }?.state == .configurationRefused)
            await hub.adopt(world.configuration())
            #expect(try await world.wait(.seconds(2)) { await hub.view().shown.first { $0.led == .status }?.state == .allWell })
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("a token that was renewed ends a refusal as soon as the configuration is read again")
    func renewedToken() throws {
        let world = try World(.init(seed: 304, backlog: 128), recording: recording)
        try world.loop.run {
            try writeSecret("token-that-expired", to: "\(world.directory)/ann.token")
            let hub = world.hub(world.configuration())
            try await hub.start()
            await world.collar.start()
            await world.collar.stopProducing()
            try await world.loop.sleep(for: .seconds(7_200))
            #expect(await world.backend.windows.isEmpty)
            try writeSecret("token-ann", to: "\(world.directory)/ann.token")
            await hub.adopt(world.configuration())
            #expect(try await world.wait(.seconds(2)) { await world.everythingIsAccountedFor() })
            let owners = Set(await world.backend.windows.values.map(\.owner))
            #expect(owners == ["ann"])
            await hub.stop()
            await world.collar.stop()
        }
    }

    @Test("configurations that change every few seconds, amid faults of collar and backend, lose nothing and put nothing under the wrong person", arguments: 0..<4 as Range<UInt64>)
    func restless(seed: UInt64) throws {
        let world = try World(.init(seed: 310 + seed, backlog: 700, collarFaults: .mild, backendFaults: .many, secondBacklog: 200), recording: recording)
        try world.loop.run {
            var dice = SplitMix64(seed: seed)
            var configuration = world.configuration()
            let hub = world.hub(configuration)
            try await hub.start()
            for collar in world.collars.values { await collar.start() }
            for _ in 0..<80 {
                configuration.sync = .init(batchWindows: Int.random(in: 1...128, using: &dice), batchAge: .seconds(Int64.random(in: 1...120, using: &dice)))
                configuration.uplink.backoff = .seconds(Int64.random(in: 1...60, using: &dice))
                configuration.uplink.holdMax = .seconds(Int64.random(in: 60...900, using: &dice))
                configuration.uplink.flushInterval = .seconds(Int64.random(in: 1...300, using: &dice))
                configuration.collars[0].awayAfter = .seconds(Int64.random(in: 1...600, using: &dice))
                if Bool.random(using: &dice) { await hub.refuseConfiguration() }
                await hub.adopt(configuration)
                try await world.loop.sleep(for: .milliseconds(Int64.random(in: 0...20_000, using: &dice)))
            }
            for collar in world.collars.values { await collar.stopProducing() }
            let done = try await world.wait(.seconds(20_000)) { await world.everythingIsAccountedFor() }
            let explanation = done ? "" : await world.explanation(of: hub)
            #expect(done, "\(explanation)")
            await world.checkInvariants()
            let owners = Set(await world.backend.windows.map { "\($0.key.device) \($0.value.owner)" })
            #expect(owners == ["C-1 ann", "C-2 ben"])
            await hub.stop()
            for collar in world.collars.values { await collar.stop() }
        }
    }

    @Test("requests to read the configuration that come together become two readings, and the loop turns meanwhile")
    func coalesced() throws {
        let world = try World(.init(seed: 305), recording: recording)
        let scratch = try ConfigurationScratch()
        let path = try scratch.write(ConfigurationScratch.good([:]).replacing("DIR", with: scratch.path), to: "gateway.toml", mode: 0o600)
        let configuration = try #require(ConfigurationFile.load(path, checks: .command).configuration)
        try world.loop.run {
            let hub = world.hub(configuration)
            let told = Counter()
            let reloader = ConfigurationReloader(path: path, hub: hub) { _ in told.add() }
            for _ in 0..<5 { await reloader.reload() }
            #expect(try await world.wait(.seconds(10)) { told.count == 2 })
            try await world.loop.sleep(for: .seconds(10))
            #expect(told.count == 2)
        }
        #expect(world.lines.records.map { "\($0.event.name): \($0.message)" } == Array(
            repeating: "configuration-loaded: the configuration was read again: nothing changed", count: 2))
    }

    @Test("what changed is logged, what waits for a restart with a warning, and a flaw with its place; secrets never")
    func lines() throws {
        let world = try World(.init(seed: 306), recording: recording)
        let scratch = try ConfigurationScratch()
        @Sendable func write(_ text: String) throws -> String { try scratch.write(text.replacing("DIR", with: scratch.path), to: "gateway.toml", mode: 0o600) }
        let path = try write(ConfigurationScratch.good([:]))
        let configuration = try #require(ConfigurationFile.load(path, checks: .command).configuration)
        let texts = [
            ConfigurationScratch.good([11: "owner = \"ben\"", 12: "passkey = 739215"], then: ["[sync]", "batch_age = \"5s\"", "[log]", "level = \"debug\""]),
            ConfigurationScratch.good([11: "owner = \"bene\""], then: ["[sync]", "batch_age = 5"]),
            ConfigurationScratch.good([:])
        ]
        try world.loop.run {
            let hub = world.hub(configuration)
            let told = Counter()
            let reloader = ConfigurationReloader(path: path, hub: hub) { _ in told.add() }
            for (index, text) in texts.enumerated() {
                _ = try write(text)
                let before = world.lines.records.count
                await reloader.reload()
                #expect(try await world.wait(.seconds(10)) {
                    world.lines.records.dropFirst(before).contains { ["configuration-loaded", "configuration-refused"].contains($0.event.name) }
                })
                let age = await hub.configuration.sync.batchAge
                #expect(age == (index < 2 ? .seconds(5) : .seconds(60)))
                let state = await hub.status().configuration
                #expect(state.isRefused == (index == 1) && state.restartNeeded.count == (index < 2 ? 3 : 0))
                #expect(await hub.configuration.collars[0].owner == "anna")
            }
        }
        #expect(world.lines.records.map { "\($0.level.rawValue) \($0.event.name): \($0.message.replacing(scratch.path, with: "DIR"))" } == [
            "5 configuration-changed: configuration: [sync].batch_age was \"1min\" and is \"5s\"",
            "5 configuration-changed: configuration: [log].level was \"info\" and is \"debug\"",
            "4 restart-needed: configuration: [collar] \"front\".owner was \"anna\" and is \"ben\": this takes effect at the next start",
            "4 restart-needed: configuration: [collar] \"front\".address was \"C0:FF:EE:12:34:56/random\" and is not set: this takes effect at the next start",
            "4 restart-needed: configuration: [collar] \"front\".passkey is set now: this takes effect at the next start",
            "5 configuration-loaded: the configuration was read again: 2 changes made, 3 at the next start",
            "3 configuration-flaw: DIR/gateway.toml:11:1: error: [collar] \"front\".owner is \"bene\", but no [[owner]] has that key; did you mean \"ben\"?",
            "3 configuration-flaw: DIR/gateway.toml:23:13: error: [sync].batch_age is an integer; allowed: a duration from 100ms to 1h with its unit "
                + "(ms, s, min, h or d), e.g. \"1min\"",
            "3 configuration-refused: the configuration was refused, and the former one stays in force; see: gateway check-config --config DIR/gateway.toml",
            "5 configuration-changed: configuration: [sync].batch_age was \"5s\" and is \"1min\"",
            "5 configuration-changed: configuration: [log].level was \"debug\" and is \"info\"",
            "5 configuration-loaded: the configuration was read again: 2 changes made"
        ])
    }
}
