import CCurl
import Glibc

/// What is one for the whole process.
enum CurlLibrary {
    /// curl_global_init(3), once, whoever asks first.
    static let code: CURLcode = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
}

extension TrustAnchors {
    /// Where Debian and its kin keep the authorities one by one under the hashes of their subjects.
    private static let systemDirectory = "/etc/ssl/certs"

    /// What libcurl is told.
    enum Location: Equatable {
        case file(String)
        case directory(String)
        /// What libcurl was built with.
        case builtIn
    }

    /// A directory with hashed names costs what is looked up in it; the bundle in one file is parsed whole, some megabytes for one authority that is needed.
    var location: Location {
        switch self {
        case .file(let path): .file(path)
        case .directory(let path): .directory(path)
        case .system: Self.isHashed(Self.systemDirectory) ? .directory(Self.systemDirectory) : .builtIn
        }
    }

    /// Whether a directory holds at least one file named `hhhhhhhh.n`, as openssl-rehash(1) makes them.
    static func isHashed(_ path: String) -> Bool {
        guard let directory = opendir(path) else { return false }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { $0.prefix { $0 != 0 }.map { $0 } }
            let hash = name.prefix(8)
            if name.count > 9, name[8] == UInt8(ascii: "."), hash.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
               name[9...].allSatisfy({ (0x30...0x39).contains($0) }) { return true }
        }
        return false
    }
}

extension TransportFailure {
    /// What libcurl's code means here.
    ///
    /// - Parameters:
    ///   - verification: OpenSSL's verdict on the chain (`CURLINFO_SSL_VERIFYRESULT`, x509_vfy.h); 0 when it was not the problem.
    ///   - connected: whether the request was under way (name, connection and handshake done).
    ///   - overall: whether the time for the whole exchange was used up.
    static func kind(_ code: CURLcode, verification: Int, connected: Bool, overall: Bool) -> Kind {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: return .dns
        case CURLE_COULDNT_CONNECT: return .refused
        case CURLE_OPERATION_TIMEDOUT: return connected && !overall ? .lowSpeed : .timeout
        case CURLE_SSL_CONNECT_ERROR: return .tlsHandshake
        case CURLE_PEER_FAILED_VERIFICATION:
            // X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED. A chain that does not end at a trusted authority is found out before its dates are looked at.
            return verification == 9 ? .certificateNotYetValid : verification == 10 ? .certificateExpired : .certificateUntrusted
        case CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CERTPROBLEM: return .certificateUntrusted
        case CURLE_SSL_PINNEDPUBKEYNOTMATCH: return .pinMismatch
        case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE: return .connectionLost
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING: return .notHTTP
        // An answer that is not HTTP/1 is to libcurl a protocol that it does not speak.
        case CURLE_UNSUPPORTED_PROTOCOL: return connected ? .notHTTP : .unusableURL
        case CURLE_URL_MALFORMAT: return .unusableURL
        // CURLE_TOO_LARGE, of libcurl 8.6 and later.
        case CURLcode(rawValue: 100): return .answerTooLarge
        default: return .other
        }
    }
}
