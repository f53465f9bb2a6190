import Platform

/// Names within a Bundle, all of them functions of what they name: a second attempt is the same body.
enum BundleIdentity {
    /// A temporary `fullUrl` (FHIR R4, "Resolving references in Bundles") made from a name: a UUID of version 8 (RFC 9562, section 5.8).
    static func fullURL(_ name: String) -> String {
        var octets = Array(SHA256.digest(Array(name.utf8)).prefix(16))
        octets[6] = octets[6] & 0x0F | 0x80
        octets[8] = octets[8] & 0x3F | 0x80
        let digits = Array(octets.hexadecimal)
        return "urn:uuid:" + [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
    }

    /// A device's identifier: its serial number as far as it is letters and digits, and a digest of maker and serial number, as two makers may use one
    /// serial number.
    static func device(_ cuff: BloodPressureReading.Cuff) -> String {
        // No text has this octet in UTF-8, so that the two cannot run into one another.
        let octets = Array((cuff.manufacturer ?? "").utf8) + [0xFF] + Array(cuff.serial.utf8)
        let serial = String(cuff.serial.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(32))
        return [serial, Array(SHA256.digest(octets).prefix(8)).hexadecimal].filter { !$0.isEmpty }.joined(separator: "-")
    }

    /// Whether a name can stand in a search URL as it is, and in a FHIR string.
    static func isPlain(_ name: String) -> Bool {
        (1...200).contains(name.utf8.count) && name.utf8.allSatisfy { octet in
            (0x30...0x39).contains(octet) || (0x41...0x5A).contains(octet) || (0x61...0x7A).contains(octet) || octet == 0x2D
        }
    }
}
