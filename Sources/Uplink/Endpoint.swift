/// Where deliveries go: each kind of content has an endpoint of its own, and what one of them answers says nothing about the other.
public enum Endpoint: String, Sendable, Hashable, CaseIterable {
    /// `{base}/v1/raw-windows`: what collars measured.
    case rawWindows = "raw-windows"
    /// The FHIR base, or `{base}/v1/readings`: what cuffs measured.
    case readings
}

/// What is to be sent as one request.
public enum Shipment: Sendable, Hashable {
    case windows(Delivery)
    /// The patient is the uplink's to fill in.
    case readings(ReadingsDelivery)
}
