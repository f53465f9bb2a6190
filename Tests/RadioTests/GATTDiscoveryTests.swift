import Platform
import Testing

@testable import Radio

@Suite("Discovery")
struct GATTDiscoveryTests {
    private static let collar = BluetoothUUID("6f1e0001-2c4b-4d1e-9f3a-8a5b7c9d1e20")!
    private static let collarOctets = "20 1E 9D 7C 5B 8A 3A 9F 1E 4D 4B 2C 01 00 1E 6F"

    @Test("all primary services are found over several pages, up to Attribute Not Found")
    func services() throws {
        try converse([
            .expects("10 01 00 FF FF 00 28"), .sends("11 06 01 00 05 00 00 18 06 00 09 00 01 18"),
            .expects("10 0A 00 FF FF 00 28"), .sends("11 14 0A 00 20 00 " + Self.collarOctets),
            .expects("10 21 00 FF FF 00 28"), .sends("01 10 21 00 0A"),
        ]) { client, _ async throws in
            #expect(try await client.discoverPrimaryServices() == [
                GATTService(uuid: .uuid16(0x1800), startHandle: 1, endHandle: 5),
                GATTService(uuid: .uuid16(0x1801), startHandle: 6, endHandle: 9),
                GATTService(uuid: Self.collar, startHandle: 0x0A, endHandle: 0x20),
            ])
        }
    }

    @Test("a service that ends with the last handle ends the discovery")
    func lastHandle() throws {
        try converse([.expects("10 01 00 FF FF 00 28"), .sends("11 06 01 00 FF FF 00 18")]) { client, _ async throws in
            #expect(try await client.discoverPrimaryServices().count == 1)
        }
    }

    @Test("a peer without services has an empty list")
    func noServices() throws {
        try converse([.expects("10 01 00 FF FF 00 28"), .sends("01 10 01 00 0A")]) { client, _ async throws in
            #expect(try await client.discoverPrimaryServices().isEmpty)
        }
    }

    @Test("services of one UUID are found, by 2 or 16 octets")
    func servicesByUUID() throws {
        try converse([
            .expects("06 01 00 FF FF 00 28 0F 18"), .sends("07 06 00 09 00"), .expects("06 0A 00 FF FF 00 28 0F 18"), .sends("01 06 0A 00 0A"),
            .expects("06 01 00 FF FF 00 28 " + Self.collarOctets), .sends("07 0A 00 20 00 30 00 FF FF"),
        ]) { client, _ async throws in
            #expect(try await client.discoverPrimaryServices(.uuid16(0x180F)) == [GATTService(uuid: .uuid16(0x180F), startHandle: 6, endHandle: 9)])
            #expect(try await client.discoverPrimaryServices(Self.collar).map(\.endHandle) == [0x20, 0xFFFF])
        }
    }

    @Test("characteristics end before the next declaration, the last one with its service")
    func characteristics() throws {
        try converse([
            .expects("08 01 00 20 00 03 28"), .sends("09 07 02 00 12 03 00 19 2A 06 00 20 07 00 05 2A"),
            .expects("08 07 00 20 00 03 28"), .sends("09 15 09 00 08 0A 00 " + Self.collarOctets),
            .expects("08 0A 00 20 00 03 28"), .sends("01 08 0A 00 0A"),
        ]) { client, _ async throws in
            let found = try await client.discoverCharacteristics(of: GATTService(uuid: Self.collar, startHandle: 1, endHandle: 0x20))
            #expect(found == [
                GATTCharacteristic(uuid: .uuid16(0x2A19), properties: [.read, .notify], declarationHandle: 2, valueHandle: 3, endHandle: 5),
                GATTCharacteristic(uuid: .uuid16(0x2A05), properties: .indicate, declarationHandle: 6, valueHandle: 7, endHandle: 8),
                GATTCharacteristic(uuid: Self.collar, properties: .write, declarationHandle: 9, valueHandle: 0x0A, endHandle: 0x20),
            ])
        }
    }

    @Test("descriptors are found within the characteristic, and where there is no room nothing is asked")
    func descriptors() throws {
        try converse([
            .expects("04 04 00 06 00"), .sends("05 01 04 00 01 29 05 00 02 29"), .expects("04 06 00 06 00"), .sends("01 04 06 00 0A"),
        ]) { client, _ async throws in
            func characteristic(_ value: AttributeHandle, _ end: AttributeHandle) -> GATTCharacteristic {
                GATTCharacteristic(uuid: Self.collar, properties: .notify, declarationHandle: 2, valueHandle: value, endHandle: end)
            }
            #expect(try await client.discoverDescriptors(of: characteristic(3, 6)) == [
                GATTDescriptor(uuid: .uuid16(0x2901), handle: 4), GATTDescriptor(uuid: .uuid16(0x2902), handle: 5),
            ])
            #expect(try await client.discoverDescriptors(of: characteristic(3, 3)).isEmpty)
            #expect(try await client.discoverDescriptors(of: characteristic(0xFFFF, 0xFFFF)).isEmpty)
        }
    }

    @Test("another refusal than Attribute Not Found is an error that names request and handle")
    func refused() throws {
        try converse([.expects("10 01 00 FF FF 00 28"), .sends("01 10 01 00 05"), .expects("10 01 00 FF FF 00 28"), .sends("01 10 00 00 06")]) { client, _ async throws in
            let error = await gattFailure { _ = try await client.discoverPrimaryServices() }
            #expect(error == GATTError(.att(.insufficientAuthentication, request: .readByGroupTypeRequest, handle: 1)))
            #expect(error?.code == "att-error")
            #expect(await gattFailure { _ = try await client.discoverPrimaryServices() }?.attCode == .requestNotSupported)
        }
    }

    @Test("a discovery that is not answered times out and closes the bearer")
    func timeout() throws {
        try converse([.expects("10 01 00 FF FF 00 28"), .sends("11 06 01 00 05 00 00 18"), .expects("10 06 00 FF FF 00 28")]) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.discoverPrimaryServices() } == GATTError(.timeout(.readByGroupTypeRequest)))
            #expect(await client.closure == .transactionTimeout(.readByGroupTypeRequest))
        }
    }

    @Test("services that cannot be are refused, and the bearer stays open", arguments: [
        ("11 06 00 00 05 00 00 18", "goes back to 0x0000"),
        ("11 06 05 00 04 00 00 18", "has a range that ends at 0x0004 before it begins at 0x0005"),
        ("11 06 01 00 05 00 00 18 05 00 09 00 01 18", "goes back to 0x0005"),
        ("11 06 06 00 09 00 01 18 01 00 05 00 00 18", "goes back to 0x0001"),
        ("11 06 01 00 FF FF 00 18 02 00 05 00 00 18", "goes back to 0x0002"),
        ("11 08 01 00 05 00 00 18 00 00", "has a service UUID of 4 octets"),
        ("11 04 01 00 05 00", "has a service UUID of 0 octets"),
    ])
    func implausibleServices(answer: String, fault: String) throws {
        try converse([.expects("10 01 00 FF FF 00 28"), .sends(answer), .expects("0A 03 00"), .sends("0B 01")]) { client, _ async throws in
            let error = await gattFailure { _ = try await client.discoverPrimaryServices() }
            #expect(error == GATTError(.implausible(.readByGroupTypeResponse, fault)))
            #expect(try await client.read(3) == [1])
        }
    }

    @Test("a page that begins before the range asked for is refused: the peer repeats itself")
    func loop() throws {
        let page = "11 06 01 00 05 00 00 18"
        try converse([.expects("10 01 00 FF FF 00 28"), .sends(page), .expects("10 06 00 FF FF 00 28"), .sends(page)]) { client, _ async throws in
            let error = await gattFailure { _ = try await client.discoverPrimaryServices() }
            #expect(error == GATTError(.implausible(.readByGroupTypeResponse, "goes back to 0x0001")))
        }
    }

    @Test("characteristics that cannot be are refused", arguments: [
        ("09 07 02 00 12 02 00 19 2A", "declares at 0x0002 a value at 0x0002, outside the characteristic"),
        ("09 07 02 00 12 00 00 19 2A", "declares at 0x0002 a value at 0x0000, outside the characteristic"),
        ("09 07 02 00 12 21 00 19 2A", "declares at 0x0002 a value at 0x0021, outside the characteristic"),
        ("09 07 02 00 12 05 00 19 2A 04 00 12 06 00 19 2A", "goes back to 0x0004"),
        ("09 07 00 00 12 03 00 19 2A", "goes back to 0x0000"),
        ("09 09 02 00 12 03 00 19 2A 00 00", "has a characteristic's declaration of 7 octets"),
        ("09 02 02 00", "has a characteristic's declaration of 0 octets"),
    ])
    func implausibleCharacteristics(answer: String, fault: String) throws {
        try converse([.expects("08 01 00 20 00 03 28"), .sends(answer)]) { client, _ async throws in
            let error = await gattFailure { _ = try await client.discoverCharacteristics(of: GATTService(uuid: Self.collar, startHandle: 1, endHandle: 0x20)) }
            #expect(error == GATTError(.implausible(.readByTypeResponse, fault)))
        }
    }

    @Test("descriptors that cannot be are refused", arguments: [
        ("05 01 03 00 02 29", "goes back to 0x0003"),
        ("05 01 00 00 02 29", "goes back to 0x0000"),
        ("05 01 04 00 01 29 04 00 02 29", "goes back to 0x0004"),
        ("05 01 06 00 02 29", "names 0x0006, which lies behind the range asked for"),
    ])
    func implausibleDescriptors(answer: String, fault: String) throws {
        try converse([.expects("04 04 00 05 00"), .sends(answer)]) { client, _ async throws in
            #expect(await gattFailure { _ = try await client.discoverDescriptors(of: .sample) } == GATTError(.implausible(.findInformationResponse, fault)))
        }
    }

    @Test("a peer that goes on for ever is stopped at a limit")
    func endless() throws {
        var discovery = Discovery(DescriptorsPage(), in: ATTHandleRange(start: 1, end: 0xFFFF))
        var pages = 0
        var refusal: GATTError?
        while refusal == nil, case .request(.findInformationRequest(let range)) = discovery.step {
            pages += 1
            do {
                try discovery.receive(.findInformationResponse([ATTInformation(handle: range.start, type: .uuid16(0x2901))]))
            } catch {
                refusal = error
            }
        }
        #expect(pages == 1025)
        #expect(refusal == GATTError(.implausible(.findInformationResponse, "goes on beyond 1024 entries")))
    }
}
