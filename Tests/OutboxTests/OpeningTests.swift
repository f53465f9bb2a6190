import CSQLite
import Glibc
@testable import Outbox
import Platform
import Testing

@Suite("Opening")
struct OpeningTests {
    private func open(_ directory: Directory, _ settings: OutboxSettings = .small()) async throws -> (Outbox, OpeningReport) {
        try await Outbox.open(directory: directory.path, executor: storage, settings: settings, random: SplitMix64(seed: 9))
    }

    /// An outbox that was closed with three entries, one of them quarantined, and the stored entries.
    private func filled() async throws -> (Directory, [StoredEntry]) {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        _ = try await outbox.configureOwners(["ada", "bob"])
        try await outbox.settle(try await outbox.accept(batch(100, 5)))
        let ids = [try await outbox.accept(batch(105, 128)), try await outbox.accept(batch(233, 128)), try await outbox.accept(batch(361, 128))]
        try await outbox.accept([.quarantine(ids[1], reason: "refused"), .assign(device: "C1", log: 7, from: 489, owner: "bob")])
        try await outbox.accept([.attemptFailed(ids[0], code: "http-500", exhausted: true)])
        var stored: [StoredEntry] = []
        for id in ids { stored.append(try await outbox.load(id)) }
        await outbox.close()
        return (directory, stored)
    }

    @Test("a new outbox is private, whole, and has no shared-memory file")
    func fresh() async throws {
        let directory = Directory()
        let (outbox, report) = try await open(directory)
        #expect(report.created && report.movedAside == nil && report.unprovisioned == nil)
        #expect(directory.names == ["outbox.db", "outbox.db-wal", "outbox.lock"])
        for name in directory.names {
            var status = stat()
            #expect(stat("\(directory.path)/\(name)", &status) == 0 && status.st_mode & 0o077 == 0)
        }
        await outbox.close()
        #expect(directory.names == ["outbox.db", "outbox.db-wal", "outbox.lock"])
    }

    @Test("a second user of the directory is told so, and the first goes on")
    func inUse() async throws {
        let directory = Directory()
        let outbox = try await Outbox.ready(directory)
        #expect(await failure { try await open(directory) } == .inUse)
        try await outbox.accept(batch(100, 1))
        await outbox.close()
        #expect(await failure { try await outbox.snapshot() } == .closed)
        let (again, _) = try await open(directory)
        #expect(try await again.snapshot().queued.count == 1)
        await again.close()
    }

    @Test("another process finds the directory locked, and free after the close", .enabled(if: access("/usr/bin/flock", X_OK) == 0, "flock(1) is not installed"))
    func otherProcess() async throws {
        let directory = Directory()
        func tryLock() -> CInt {
            var process = pid_t()
            let words = ["/usr/bin/flock", "-n", "\(directory.path)/outbox.lock", "/bin/true"]
            var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
            defer { for argument in arguments { free(argument) } }
            guard posix_spawn(&process, words[0], nil, nil, &arguments, nil) == 0 else { return -1 }
            var status: CInt = 0
            waitpid(process, &status, 0)
            return status >> 8 & 0xFF
        }
        let outbox = try await Outbox.ready(directory)
        #expect(tryLock() == 1)
        await outbox.close()
        #expect(tryLock() == 0)
    }

    @Test("a missing directory is an error to try again from, and is not made")
    func missing() async throws {
        let directory = Directory()
        let path = "\(directory.path)/data"
        #expect(await failure { try await Outbox.open(directory: path, executor: storage) } == .directoryMissing)
        #expect(directory.names.isEmpty)
        #expect(OutboxError(.directoryMissing, "").isRecoverable)
    }

    @Test("a read-only directory is an error to try again from, and the outbox opens once it can be written",
          .enabled(if: Directory.mayMount, "mounting is not permitted here"))
    func readOnly() async throws {
        let (directory, stored) = try await filled()
        #expect(mount(directory.path, directory.path, nil, UInt(MS_BIND), nil) == 0)
        #expect(mount(nil, directory.path, nil, UInt(MS_BIND | MS_REMOUNT | MS_RDONLY), nil) == 0)
        let code = await failure { try await open(directory) }
        umount2(directory.path, CInt(MNT_DETACH))
        #expect(code == .readOnly)
        let (outbox, report) = try await open(directory)
        #expect(report.movedAside == nil)
        #expect(try await outbox.load(stored[0].head.id) == stored[0])
        await outbox.close()
    }

    @Test("a file of a newer release is refused and not touched")
    func newer() async throws {
        let (directory, _) = try await filled()
        var bytes = directory.read("outbox.db")
        bytes[63] = 99
        directory.write("outbox.db", bytes)
        let log = directory.read("outbox.db-wal")
        #expect(await failure { try await open(directory) } == .newerFile)
        #expect(directory.read("outbox.db") == bytes && directory.read("outbox.db-wal") == log)
        #expect(directory.names == ["outbox.db", "outbox.db-wal", "outbox.lock"])
        #expect(!OutboxError(.newerFile, "").isRecoverable)
    }

    @Test("somebody else's database is refused and not touched")
    func foreign() async throws {
        let directory = Directory()
        var handle: OpaquePointer?
        sqlite3_open("\(directory.path)/outbox.db", &handle)
        sqlite3_exec(handle, "PRAGMA application_id = 77; CREATE TABLE a (b); INSERT INTO a VALUES (1)", nil, nil, nil)
        sqlite3_close(handle)
        let bytes = directory.read("outbox.db")
        #expect(await failure { try await open(directory) } == .foreignFile)
        #expect(directory.read("outbox.db") == bytes)
    }

    @Test("garbage, an empty file or a cut one is moved aside whole, and the hub starts", arguments: ["garbage", "empty", "cut"])
    func broken(how: String) async throws {
        let (directory, _) = try await filled()
        let whole = directory.read("outbox.db")
        var random = SplitMix64(seed: 4)
        let bytes: [UInt8] = switch how {
        case "garbage": (0..<50_000).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        case "empty": []
        default: Array(whole.prefix(whole.count / 2 + 100))
        }
        directory.write("outbox.db", bytes)
        let log = directory.read("outbox.db-wal")
        let (outbox, report) = try await open(directory)
        let aside = try #require(report.movedAside)
        #expect(aside.path == "\(directory.path)/outbox.db.corrupt-1" && report.created && report.unprovisioned == nil)
        #expect(directory.read("outbox.db.corrupt-1") == bytes)
        #expect(directory.read("outbox.db.corrupt-1-wal") == log)
        // The hub works: the device is read again.
        _ = try await outbox.configureOwners(["ada"])
        try await outbox.accept([.beginLog(device: "C1", log: 7, base: 100, formerEnd: nil)])
        if report.assignmentsLost {
            #expect(try await outbox.device("C1")?.assignmentsLost == true)
            try await outbox.accept([.assign(device: "C1", log: 7, from: 100, owner: "ada")])
            #expect(try await outbox.device("C1")?.assignmentsLost == false)
        }
        try await outbox.accept(batch(100, 5))
        await outbox.close()
    }

    @Test("what a broken file still holds whole is saved, under the same keys, and settles nothing that was not read again")
    func salvage() async throws {
        let (directory, stored) = try await filled()
        let (outbox, report) = try await breakAndOpen(directory)
        #expect(report.salvaged == 3 && report.unsalvaged == 0 && !report.assignmentsLost)
        let snapshot = try await outbox.snapshot()
        #expect(snapshot.queued.map(\.id) == [stored[0].head.id, stored[2].head.id])
        #expect(snapshot.quarantined.map(\.id) == [stored[1].head.id])
        let first = try await outbox.load(stored[0].head.id)
        #expect(first.body == stored[0].body && first.digest == stored[0].digest)
        #expect(first.head.exhausted && first.head.attempts == 1 && first.head.idempotencyKey == stored[0].head.idempotencyKey)
        // The boundary between owners is known, so that nothing is read under the wrong name.
        let record = try #require(try await outbox.device("C1"))
        #expect(record.current == nil && record.owner(of: 488, log: 7) == "ada" && record.owner(of: 489, log: 7) == "bob" && record.nearby(7) == 489)
        try await outbox.accept([.beginLog(device: "C1", log: 7, base: 105, formerEnd: nil)])
        try await outbox.settle(stored[0].head.id)
        #expect(try await outbox.device("C1")?.pendingClear == nil)
        #expect(try await outbox.device("C1")?.current?.next == 105)
        await outbox.close()
    }

    @Test("a move aside that a crash interrupted is ended by the next start, and the salvage made up for")
    func interruptedMove() async throws {
        let (directory, stored) = try await filled()
        rename("\(directory.path)/outbox.db", "\(directory.path)/outbox.db.broken")
        directory.write("outbox.db.new", [1, 2, 3])
        let log = directory.read("outbox.db-wal")
        let (outbox, report) = try await open(directory)
        #expect(report.created && report.salvaged == 3)
        #expect(report.movedAside?.path == "\(directory.path)/outbox.db.corrupt-1")
        #expect(directory.read("outbox.db.corrupt-1-wal") == log)
        #expect(try await outbox.load(stored[0].head.id).body == stored[0].body)
        await outbox.close()
        #expect(!directory.names.contains("outbox.db.new"))
    }

    @Test("a crash between the successor's name and the broken file's number leaves the successor alone")
    func interruptedArchive() async throws {
        let (directory, stored) = try await filled()
        directory.write("outbox.db.broken", [1])
        directory.write("outbox.db.corrupt-1-wal", [2])
        let (outbox, report) = try await open(directory)
        #expect(!report.created && report.salvaged == 0)
        #expect(directory.read("outbox.db.corrupt-1") == [1] && directory.read("outbox.db.corrupt-1-wal") == [2])
        #expect(try await outbox.load(stored[0].head.id) == stored[0])
        await outbox.close()
    }

    @Test("a broken file that had a successor is never asked again, as its boundaries between owners may be out of date")
    func noResurrection() async throws {
        let (directory, _) = try await filled()
        let (first, report) = try await breakAndOpen(directory)
        #expect(report.salvaged == 3)
        await first.close()
        unlink("\(directory.path)/outbox.db")
        let (outbox, again) = try await open(directory)
        #expect(again.created && again.salvaged == 0)
        #expect(try await outbox.snapshot().queued.isEmpty)
        #expect(try await outbox.device("C1") == nil)
        await outbox.close()
    }

    @Test("a power cut at any moment of a salvage costs none of what was saved", arguments: UInt64(0)...3)
    func cutSalvage(seed: UInt64) async throws {
        let (template, stored) = try await filled()
        try ruin(template)
        let good = Disk()
        var operation = 1 + Int(seed)
        var ended = false
        while !ended {
            let directory = Directory()
            directory.copy(from: template)
            let disk = Disk()
            disk.cut(at: operation, seed: seed &* 31 &+ UInt64(operation))
            do {
                let (outbox, _) = try await open(directory, .small(disk))
                await outbox.close()
                ended = !disk.isCut
            } catch let error as OutboxError {
                #expect(error.code == .diskFailed, "\(error)")
            }
            let (outbox, report) = try await open(directory, .small(good))
            #expect(report.salvaged == (directory.names.contains("outbox.db.corrupt-1") && report.created ? 3 : 0))
            for entry in stored { #expect(try await outbox.load(entry.head.id).body == entry.body, "operation \(operation)") }
            await outbox.close()
            operation += operation < 200 ? 4 : 61
        }
        #expect(operation > 300)
    }

    @Test("only so many broken files are kept, the newest ones")
    func asides() async throws {
        let (directory, _) = try await filled()
        for round in 1...4 {
            directory.write("outbox.db", [UInt8(round)])
            let (outbox, _) = try await open(directory)
            await outbox.close()
        }
        #expect(directory.names.filter { $0.contains("corrupt") && !$0.hasSuffix("-wal") } == ["outbox.db.corrupt-3", "outbox.db.corrupt-4"])
    }

    @Test("a flipped byte anywhere costs at most what it hit: the hub starts, and nothing altered is ever loaded", arguments: UInt64(1)...4)
    func flips(seed: UInt64) async throws {
        let (template, stored) = try await filled()
        let sound = Dictionary(uniqueKeysWithValues: stored.map { ($0.head.id, $0) })
        let whole = template.read("outbox.db")
        let good = Disk()
        var random = SplitMix64(seed: seed)
        // Pages in use lie at the front, so half of the flips go there.
        for round in 0..<40 {
            let directory = Directory()
            directory.copy(from: template)
            var bytes = whole
            let range = round % 2 == 0 ? 0..<60 * 4_096 : 0..<bytes.count
            for _ in 0..<Int.random(in: 1...3, using: &random) { bytes[Int.random(in: range, using: &random)] ^= UInt8.random(in: 1...255, using: &random) }
            directory.write("outbox.db", bytes)
            // The log holds copies of pages that would heal the flip.
            directory.write("outbox.db-wal", [])
            do {
                let (outbox, report) = try await open(directory, .small(good))
                for head in try await outbox.snapshot().queued {
                    guard let loaded = try? await outbox.load(head.id) else { continue }
                    let original = try #require(sound[head.id])
                    #expect(loaded.body == original.body && loaded.head.owner == original.head.owner && loaded.head.device == original.head.device)
                    #expect(loaded.head.first == original.head.first && loaded.gaps == original.gaps && loaded.head.log == original.head.log)
                }
                if let clear = try await outbox.device("C1")?.pendingClear { #expect(clear.through <= 104 && clear.log == 7) }
                if report.movedAside != nil { #expect(directory.read("outbox.db.corrupt-1") == bytes) }
                await outbox.close()
            } catch let error as OutboxError {
                // Four bytes each say whose file it is and of which version; then it is left alone.
                #expect(error.code == .foreignFile || error.code == .newerFile, "\(error)")
                #expect(directory.read("outbox.db") == bytes)
            }
        }
    }

    @Test("a flipped byte in a stored window is reported at the start; the entry is not loaded, settles nothing and can be set aside")
    func damagedEntry() async throws {
        let (directory, stored) = try await filled()
        var bytes = directory.read("outbox.db")
        let part = Array(stored[0].body[20_000..<20_032])
        let offset = try #require((0..<bytes.count - 32).first { bytes[$0] == part[0] && Array(bytes[$0..<$0 + 32]) == part })
        bytes[offset + 7] ^= 0x40
        directory.write("outbox.db", bytes)
        directory.write("outbox.db-wal", [])
        let (outbox, report) = try await open(directory)
        #expect(report.movedAside == nil && report.damaged == [stored[0].head.id])
        #expect(await failure { try await outbox.load(stored[0].head.id) } == .damagedEntry)
        try await outbox.accept([.quarantine(stored[0].head.id, reason: "damaged")])
        #expect(try await outbox.snapshot().quarantined.count == 2)
        await outbox.close()
    }

    @Test("an entry whose owner or range was altered on the disk cannot be settled", arguments: [
        "UPDATE entry SET owner = 'bob'", "UPDATE entry SET first = first - 50", "UPDATE entry SET count = 129", "UPDATE gap SET count = count + 1",
        "UPDATE entry SET line = line + 1", "UPDATE entry SET device = 'C9'", "UPDATE gap SET reason = 'lost'"
    ])
    func alteredHead(sql: String) async throws {
        let directory = Directory()
        var outbox = try await Outbox.ready(directory)
        let id = try await outbox.accept(batch(105, 5, gaps: [gap(100, 5)]))
        await outbox.close()
        try alter(directory, sql)
        outbox = try await Outbox.open(directory)
        #expect(try await outbox.refusal(.settle(id, ReceiptRecord(receipt: "r", key: id.text))) == .damaged)
        #expect(await failure { try await outbox.load(id) } == .damagedEntry)
        // An operator can be rid of it, but what it says is settled by nobody.
        try await outbox.accept([.quarantine(id, reason: "damaged-entry")])
        guard case .audited(let line) = try await outbox.accept([.settleQuarantined(id, by: "uid 0", at: 1)])[0] else { return #expect(Bool(false)) }
        #expect(line.act.hasPrefix("deleted damaged quarantined entry \(id), which settles nothing: "))
        #expect(try await outbox.snapshot().quarantined.isEmpty)
        #expect(try await outbox.device("C1")?.pendingClear == nil)
        await outbox.close()
    }

    @Test("books that were altered on the disk are not believed", arguments: [
        "UPDATE settled SET end = end + 10", "UPDATE line SET next = next + 10", "UPDATE line SET base = base - 1", "UPDATE pending_clear SET through = through + 1",
        "UPDATE assignment SET owner = 'eve'", "DELETE FROM assignment", "UPDATE line SET current = 0"
    ])
    func alteredBooks(sql: String) async throws {
        let (directory, stored) = try await filled()
        try alter(directory, sql)
        let (outbox, report) = try await open(directory)
        #expect(report.movedAside != nil && report.salvaged == 3)
        #expect(report.assignmentsLost == sql.contains("assignment"))
        #expect(try await outbox.device("C1")?.current == nil)
        #expect(try await outbox.load(stored[0].head.id).body == stored[0].body)
        await outbox.close()
    }

    @Test("a table whose definition was altered on the disk is not worked with: the file is moved aside, and its entries are saved", arguments: [
        "ALTER TABLE meta RENAME COLUMN value TO valuf", "ALTER TABLE audit RENAME TO audiu", "DROP TABLE filler", "DROP INDEX line_current",
        "CREATE TRIGGER t AFTER INSERT ON audit BEGIN DELETE FROM settled; END"
    ])
    func alteredTables(sql: String) async throws {
        let (directory, stored) = try await filled()
        try alter(directory, sql)
        let (outbox, report) = try await open(directory)
        #expect(report.movedAside?.cause.hasSuffix("outbox.db: its tables are not those of version \(Schema.present.version)") == true)
        #expect(report.salvaged == 3)
        #expect(try await outbox.load(stored[0].head.id).body == stored[0].body)
        await outbox.close()
    }

    /// Changes the file as another program would, with the library alone.
    private func alter(_ directory: Directory, _ sql: String) throws {
        var handle: OpaquePointer?
        sqlite3_open("\(directory.path)/outbox.db", &handle)
        #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
        sqlite3_close(handle)
    }

    /// Breaks a page of an index that no entry lies on, so that the check finds it.
    private func breakAndOpen(_ directory: Directory) async throws -> (Outbox, OpeningReport) {
        try ruin(directory)
        return try await open(directory)
    }

    private func ruin(_ directory: Directory) throws {
        var handle: OpaquePointer?
        sqlite3_open("\(directory.path)/outbox.db", &handle)
        var statement: OpaquePointer?
        sqlite3_prepare_v2(handle, "SELECT rootpage FROM sqlite_schema WHERE name = 'audit'", -1, &statement, nil)
        sqlite3_step(statement)
        let page = Int(sqlite3_column_int(statement, 0))
        sqlite3_finalize(statement)
        sqlite3_close(handle)
        var bytes = directory.read("outbox.db")
        for offset in 0..<4_096 { bytes[(page - 1) * 4_096 + offset] = 0xA5 }
        directory.write("outbox.db", bytes)
    }
}
