import CSQLite
@testable import Outbox
import Platform
import Testing

@Suite("Migrations")
struct MigrationTests {
    private let next = Schema(steps: Schema.present.steps + [
        "CREATE TABLE later (device TEXT PRIMARY KEY, key BLOB NOT NULL) STRICT, WITHOUT ROWID; INSERT INTO later VALUES ('C1', x'00');"
    ])

    private func open(_ directory: Directory, _ schema: Schema, _ disk: Disk? = nil) async throws -> (Outbox, OpeningReport) {
        try await Outbox.open(directory: directory.path, executor: storage, settings: .small(disk), random: SplitMix64(seed: 6), schema: schema)
    }

    @Test("an older file gets the new tables at its first start and keeps what it holds; the older release then leaves it alone")
    func migrates() async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5))
        await outbox.close()
        var report: OpeningReport
        (outbox, report) = try await open(directory, next)
        #expect(report.migratedFrom == Schema.present.version && report.movedAside == nil)
        try await outbox.settle(id)
        await outbox.close()
        (outbox, report) = try await open(directory, next)
        #expect(report.migratedFrom == nil)
        await outbox.close()
        #expect(await failure { try await Outbox.open(directory) } == .newerFile)
    }

    @Test("a power cut while a file is migrated leaves it old or new, never between", arguments: UInt64(1)...3)
    func cut(seed: UInt64) async throws {
        let good = Disk()
        let template = Directory()
        let first = try await Outbox.ready(template)
        let id = try await first.accept(batch(100, 5))
        await first.close()
        var operation = 1
        var ended = false
        while !ended {
            let directory = Directory()
            directory.copy(from: template)
            let disk = Disk()
            disk.cut(at: operation, seed: seed &+ UInt64(operation))
            do {
                let (outbox, _) = try await open(directory, next, disk)
                await outbox.close()
                ended = !disk.isCut
            } catch let error as OutboxError {
                #expect(error.code == .diskFailed)
            }
            let (outbox, report) = try await open(directory, next, good)
            #expect(report.movedAside == nil && (report.migratedFrom == nil || report.migratedFrom == Schema.present.version))
            #expect(try await outbox.load(id).body == batch(100, 5).body)
            await outbox.close()
            operation += 1
        }
        #expect(operation > 10)
    }

    @Test("a step that fails changes nothing")
    func failing() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(100, 5))
        await outbox.close()
        let broken = Schema(steps: next.steps + ["CREATE TABLE later (device TEXT)"])
        #expect(await failure { try await open(directory, broken) } == .inconsistent)
        let again = try await Outbox.open(directory)
        #expect(try await again.snapshot().queued.map(\.id) == [id])
        await again.close()
    }
}
