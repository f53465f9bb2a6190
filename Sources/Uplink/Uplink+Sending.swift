import Platform

/// One attempt, from the token to the answer.
extension Uplink {
    /// One request: read the token, load, send, and put the answer into its class.
    ///
    /// The token comes first: what is loaded to be sent takes no further readings, and must not be for an attempt that cannot be made.
    func deliver(_ key: LaneKey, _ id: String, _ part: Int?) async -> RetryMachine.AttemptResult {
        let token: String
        let patient: String
        do throws(DeliveryError) {
            token = try readToken(key.owner)
            patient = key.endpoint == .readings ? try self.patient(key.owner) : ""
        } catch {
            return .tokenUnavailable(error)
        }
        let shipment: Shipment
        do {
            guard let loaded = try await queue.load(id, part: part) else { return .gone }
            shipment = loaded
        } catch UplinkError.unsendableReading(let place, let words) {
            let error = UplinkError.unsendableReading(place: place, words)
            return .unsendableReading(place: place, DeliveryError(code: error.code, words: words), sent: count(id, part, key), names: [])
        } catch let error as UplinkError {
            return .unsendable(DeliveryError(code: error.code, words: error.words))
        } catch {
            return .storageFailed(DeliveryError(code: "queue-unreadable", words: "\(error)"))
        }
        switch (shipment, key.endpoint) {
        case (.windows(let delivery), .rawWindows): return await deliver(delivery, key, token)
        case (.readings(var delivery), .readings):
            delivery.patient = patient
            return await deliver(delivery, key, token, isPart: part != nil)
        case (.windows, .readings), (.readings, .rawWindows):
            return .unsendable(DeliveryError(code: "entry-endpoint-mismatch", words: "queued for \(key.endpoint.rawValue), but stored as something else"))
        }
    }

    private func deliver(_ delivery: Delivery, _ key: LaneKey, _ token: String) async -> RetryMachine.AttemptResult {
        if let mismatch = mismatch(delivery.owner, key) { return mismatch }
        let request: RawWindowsRequest
        do throws(UplinkError) {
            request = try RawWindowsRequest(delivery)
        } catch {
            return .unsendable(DeliveryError(code: error.code, words: error.words))
        }
        do throws(TransportFailure) {
            let response = try await transport.send(request.request(base: settings.base, token: token, sent: wallClock.read().seconds))
            return .answered(Answer(response, to: delivery, digest: request.digest))
        } catch {
            return .answered(Answer(error, clockSynchronised: wallClock.read().synchronised))
        }
    }

    private func deliver(_ delivery: ReadingsDelivery, _ key: LaneKey, _ token: String, isPart: Bool) async -> RetryMachine.AttemptResult {
        if let mismatch = mismatch(delivery.owner, key) { return mismatch }
        let sent = SentReadings(key: delivery.key, names: delivery.readings.map(\.id))
        if !isPart, let limit = lanesByKey[key]?.machine.learnedLimit, sent.names.count > limit { return .overLimit(sent: sent.names.count) }
        let request: ReadingsRequest
        do throws(UplinkError) {
            request = try ReadingsRequest(delivery)
        } catch {
            return Self.unsendable(delivery, error)
        }
        do throws(TransportFailure) {
            let url = settings.url(of: .readings)
            let response = try await transport.send(request.request(url: url, token: token, sent: wallClock.read().seconds))
            return .answered(Answer(response, to: request, sent))
        } catch {
            var answer = Answer(error, clockSynchronised: wallClock.read().synchronised)
            answer.readings = sent
            return .answered(answer)
        }
    }

    /// No request can be made of these readings: of which of them not?
    private static func unsendable(_ delivery: ReadingsDelivery, _ error: UplinkError) -> RetryMachine.AttemptResult {
        for (place, reading) in delivery.readings.enumerated() {
            var alone = delivery
            alone.readings = [reading]
            do throws(UplinkError) {
                _ = try ReadingsRequest(alone)
            } catch {
                let cause = UplinkError.unsendableReading(place: place, error.words)
                return .unsendableReading(place: place, DeliveryError(code: cause.code, words: cause.words), sent: delivery.readings.count, names: delivery.readings.map(\.id))
            }
        }
        return .unsendable(DeliveryError(code: error.code, words: error.words))
    }

    private func mismatch(_ owner: String, _ key: LaneKey) -> RetryMachine.AttemptResult? {
        owner == key.owner ? nil
            : .unsendable(DeliveryError(code: "entry-owner-mismatch", words: "queued for \(key.owner), but stored for another owner"))
    }

    /// The number of readings of an entry, or of its part, as the machine knows it.
    private func count(_ id: String, _ part: Int?, _ key: LaneKey) -> Int {
        guard let entry = lanesByKey[key]?.machine.entries[id]?.queued else { return 1 }
        return part.flatMap { part in entry.parts.first { $0.index == part }?.count } ?? entry.count
    }

    private func readToken(_ owner: String) throws(DeliveryError) -> String {
        guard let file = settings.tokenFiles[owner] else {
            throw DeliveryError(code: "owner-without-token", words: "no token file is configured for \(owner)")
        }
        do throws(SecretFileError) {
            return try SecretFile.read(file)
        } catch {
            throw DeliveryError(code: "token-unreadable", words: "\(error)")
        }
    }

    /// Whom an owner's readings are about.
    private func patient(_ owner: String) throws(DeliveryError) -> String {
        guard let patient = settings.patients[owner] else {
            throw DeliveryError(code: "owner-without-patient", words: "no patient is configured for \(owner), and readings are sent for one")
        }
        guard ReadingsRequest.isReference(patient) else {
            throw DeliveryError(code: "patient-unusable", words: "the patient of \(owner) is no reference: write it like Patient/123")
        }
        return patient
    }
}
