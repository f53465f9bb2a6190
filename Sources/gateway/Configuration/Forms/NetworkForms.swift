extension ValueForm where Value == String {
    /// The beginning of the URLs of an endpoint (RFC 3986): https, a host, perhaps a port and a path; no slash at the end.
    ///
    /// Messages do not repeat it, since a URL may carry a password.
    static let httpsBase = ValueForm(
        allowed: "an https URL without user, query and fragment", example: "https://backend.example/hub", echoes: false,
        parse: { text in
            let scheme = "https://"
            guard text.utf8.count <= 2_048, text.lowercased().hasPrefix(scheme), text.utf8.allSatisfy({ urlBytes.contains($0) }) else { return nil }
            let rest = text.dropFirst(scheme.count)
            let authority = rest.prefix { $0 != "/" }
            guard isAuthority(authority) else { return nil }
            var base = scheme + rest
            while base.hasSuffix("/") { base.removeLast() }
            return base
        }, print: { $0 })

    /// Pins as libcurl takes them (CURLOPT_PINNEDPUBLICKEY): SHA-256 digests of public keys, several for a change of key.
    static let pins = ValueForm(
        allowed: "sha256// and 44 characters of Base64, several separated by semicolons",
        example: "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        parse: { text in
            let pins = text.split(separator: ";", omittingEmptySubsequences: false)
            let fits = pins.allSatisfy { pin in
                guard pin.hasPrefix("sha256//") else { return false }
                let digest = Array(pin.utf8.dropFirst(8))
                // 32 bytes: 43 characters, of which the last carries four bits, and one of padding.
                return digest.count == 44 && digest[43] == UInt8(ascii: "=") && digest.prefix(43).allSatisfy { base64Bytes.contains($0) }
                    && lastDigitsOfDigest.contains(digest[42])
            }
            return fits && pins.count <= 8 ? text : nil
        }, print: { $0 })
}

private let base64Bytes = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
/// The characters whose two lowest bits are 0.
private let lastDigitsOfDigest = Set("AEIMQUYcgkosw048".utf8)
/// What may stand in scheme, authority and path; `?`, `#` and `@` would begin what is not allowed.
private let urlBytes = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~!$&'()*+,;=:/%[]".utf8)

/// A host, or an IPv6 address in brackets, and perhaps a port.
private func isAuthority(_ text: Substring) -> Bool {
    let host: Substring, port: Substring
    if text.hasPrefix("[") {
        guard let end = text.firstIndex(of: "]") else { return false }
        host = text[text.index(after: text.startIndex)..<end]
        port = text[text.index(after: end)...]
        guard host.contains(":"), host.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else { return false }
    } else {
        host = text.prefix { $0 != ":" }
        port = text.dropFirst(host.count)
        guard !host.isEmpty, host.utf8.count <= 253, host.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "-" || $0 == "." }) else { return false }
    }
    if port.isEmpty { return true }
    guard port.hasPrefix(":"), port.dropFirst().allSatisfy({ $0.isNumber }), let number = Int(port.dropFirst()) else { return false }
    return (1...65_535).contains(number)
}
