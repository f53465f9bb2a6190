/// The media type of an answer (RFC 9110, section 8.3.1).
enum MediaType {
    /// Type and subtype in small letters, without parameters.
    static func essence(of contentType: String?) -> String? {
        guard let essence = contentType?.split(separator: ";", omittingEmptySubsequences: false).first else { return nil }
        let blanks: Set<Character> = [" ", "\t"]
        return String(essence.drop { blanks.contains($0) }.reversed().drop { blanks.contains($0) }.reversed()).lowercased()
    }

    static func isJSON(_ contentType: String?) -> Bool { essence(of: contentType) == "application/json" }
}
