import Testing

@testable import Radio

@Suite("Reading by type, in parts, and several at once")
struct GATTReadingTests {
    @Test("values of one type are read over all pages, within a service")
    func pages() throws {
        try converse(exchange("""
            > 08 05 00 20 00 19 2A
            < 09 03 06 00 01 08 00 02
            > 08 09 00 20 00 19 2A
            < 09 04 0A 00 03 04
            > 08 0B 00 20 00 19 2A
            < 01 08 0B 00 0A
            """)) { client, _ async throws in
            let values = try await client.read(using: .uuid16(0x2A19), in: GATTService(uuid: .uuid16(0x180F), startHandle: 5, endHandle: 0x20))
            #expect(values == [
                GATTValue(handle: 6, value: [1], isWhole: true), GATTValue(handle: 8, value: [2], isWhole: true), GATTValue(handle: 0x0A, value: [3, 4], isWhole: true),
            ])
        }
    }

    @Test("a value that fills its page may have been cut, and says so")
    func mayBeCut() throws {
        let filling = hexText([UInt8](repeating: 7, count: 19))
        try converse(exchange("> 08 01 00 FF FF 19 2A\n< 09 15 FF FF \(filling)")) { client, _ async throws in
            #expect(try await client.read(using: .uuid16(0x2A19)).map(\.isWhole) == [false])
        }
    }

    @Test("a refusal behind a page that was served is an error")
    func refusedLater() throws {
        try converse(exchange("> 08 01 00 FF FF 19 2A\n< 09 03 06 00 01\n> 08 07 00 FF FF 19 2A\n< 01 08 09 00 02")) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.read(using: .uuid16(0x2A19)) }?.attCode == .readNotPermitted)
        }
    }

    @Test("a value is read from an offset with Read Blob alone")
    func fromOffset() throws {
        let part = hexText([UInt8](repeating: 1, count: 22))
        try converse(exchange("> 0C 03 00 0A 00\n< 0D \(part)\n> 0C 03 00 20 00\n< 0D 02")) { client, _ async throws in
            #expect(try await client.readLong(3, from: 10).count == 23)
        }
    }

    @Test("a value that is served by Read alone is read so, from its beginning or from within")
    func notLong() throws {
        try converse(exchange("""
            > 0C 03 00 00 00
            < 01 0C 03 00 0B
            > 0A 03 00
            < 0B 01 02 03
            > 0C 03 00 01 00
            < 01 0C 03 00 0B
            > 0A 03 00
            < 0B 01 02 03
            > 0C 03 00 04 00
            < 01 0C 03 00 0B
            > 0A 03 00
            < 0B 01 02 03
            """)) { client, _ async throws in
            #expect(try await client.readLong(3) == [1, 2, 3])
            #expect(try await client.readLong(3, from: 1) == [2, 3])
            #expect(await gattFailure { _ = try await client.readLong(3, from: 4) } == GATTError(.att(.invalidOffset, request: .readBlobRequest, handle: 3)))
        }
    }

    @Test("an offset at the end of what can be never reaches beyond 512", arguments: [UInt16(512), 0xFFFF])
    func farOffset(offset: UInt16) throws {
        let low = hexText([UInt8(offset & 0xFF), UInt8(offset >> 8)])
        try converse(exchange("> 0C 03 00 \(low)\n< 0D 01")) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.readLong(3, from: offset) }?.code == "gatt-implausible-response")
        }
    }

    @Test("several values come with their lengths; what had no room is not whole", arguments: [
        ("01 00 0A 02 00 0B 0C 00 00", [true, true, true]), ("01 00 0A 05 00 0B 0C", [true, false, false]), ("01 00 0A", [true, false, false]),
        ("01 00 0A 02", [true, false, false]), ("", [false, false, false]),
    ])
    func variable(octets: String, whole: [Bool]) throws {
        try converse(exchange("> 20 03 00 05 00 07 00\n< 21 \(octets)")) { client, _ async throws in
            let outcome = try? await client.readMultipleVariable([3, 5, 7])
            if octets == "01 00 0A 02" {
                // Half a length is no room for a value, and nothing may be left over.
                #expect(outcome == nil || outcome?.map(\.isWhole) == whole)
            } else {
                #expect(outcome?.map(\.isWhole) == whole)
                #expect(outcome?.map(\.handle) == [3, 5, 7])
            }
        }
    }

    @Test("more than was asked for is no answer")
    func tooMuch() throws {
        try converse(exchange("> 20 03 00 05 00\n< 21 01 00 0A 01 00 0B 01 00 0C")) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.readMultipleVariable([3, 5]) }?.code == "gatt-implausible-response")
        }
    }

    @Test("a refusal of several names the one that the peer names, if it was asked for", arguments: [("05 00", AttributeHandle(rawValue: 5)), ("09 00", 3)])
    func which(named: String, handle: AttributeHandle) throws {
        try converse(exchange("> 0E 03 00 05 00\n< 01 0E \(named) 02")) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.readMultiple([3, 5]) } == GATTError(.att(.readNotPermitted, request: .readMultipleRequest, handle: handle)))
        }
    }

    @Test("fewer than two handles are not sent")
    func tooFew() throws {
        try converse([]) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.readMultiple([3]) } == GATTError(.tooFewHandles(1)))
            #expect(await gattFailure { _ = try await client.readMultipleVariable([]) } == GATTError(.tooFewHandles(0)))
        }
    }

    @Test("included services that cannot be are refused", arguments: [
        ("09 07 02 00 10 00 1F 00 0F", "has an include's declaration of 5 octets"),
        ("09 08 02 00 1F 00 10 00 0F 18", "includes at 0x0002 a service from 0x001F to 0x0010"),
        ("09 08 02 00 00 00 10 00 0F 18", "includes at 0x0002 a service from 0x0000 to 0x0010"),
        ("09 08 00 00 10 00 1F 00 0F 18", "goes back to 0x0000"),
        ("09 08 30 00 10 00 1F 00 0F 18", "names 0x0030, which lies behind the range asked for"),
    ])
    func implausibleIncludes(answer: String, fault: String) throws {
        try converse(exchange("> 08 01 00 20 00 02 28\n< \(answer)")) { client, _ async throws in
            let error = await gattFailure { _ = try await client.discoverIncludedServices(of: .range(1, 0x20)) }
            #expect(error == GATTError(.implausible(.readByTypeResponse, fault)))
        }
    }

    @Test("an included service whose declaration cannot be read is an error that names it", arguments: ["01 0A 10 00 02", "0B 01 02 03"])
    func unreadableInclude(answer: String) throws {
        try converse(exchange("> 08 01 00 20 00 02 28\n< 09 06 02 00 10 00 1F 00\n> 0A 10 00\n< \(answer)")) { client, _ async throws in
            let error = await gattFailure { _ = try await client.discoverIncludedServices(of: .range(1, 0x20)) }
            #expect(error == (answer.hasPrefix("01") ? GATTError(.att(.readNotPermitted, request: .readRequest, handle: 0x10))
                : GATTError(.implausible(.readResponse, "has a service UUID of 3 octets"))))
        }
    }

    @Test("every error code has its name and its meaning")
    func errorCodes() {
        for raw in UInt8(0x01)...0x13 {
            #expect(!"\(ATTErrorCode(rawValue: raw))".contains("reserved"))
            #expect(!ATTErrorCode(rawValue: raw).meaning.contains("reserved"))
        }
        for raw in UInt8(0xFC)...0xFF { #expect(!"\(ATTErrorCode(rawValue: raw))".contains("Common Profile")) }
        for raw in UInt8(0x80)...0x9F { #expect("\(ATTErrorCode(rawValue: raw))".hasPrefix("Application Error")) }
        for raw in UInt8(0xE0)...0xFB { #expect("\(ATTErrorCode(rawValue: raw))".hasPrefix("Common Profile Error")) }
        for raw in [0x00, 0x14, 0x7F, 0xA0, 0xDF] as [UInt8] { #expect("\(ATTErrorCode(rawValue: raw))".hasPrefix("reserved")) }
        #expect(Set((UInt8(0x01)...0x13).map { ATTErrorCode(rawValue: $0).meaning }).count == 19)
    }
}
