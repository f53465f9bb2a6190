import CCurl
import Platform

/// One exchange: owns libcurl's easy handle and everything that the handle points to.
///
/// Confined to the loop's thread, like the transport that owns it.
final class CurlTransfer {
    let easy: UnsafeMutableRawPointer
    private let settings: CurlSettings
    private var fields: UnsafeMutablePointer<curl_slist>?
    private let errorBuffer: UnsafeMutablePointer<CChar>
    private var continuation: CheckedContinuation<Result<HTTPResponse, TransportFailure>, Never>?

    private var head = ResponseHead()
    private var body: [UInt8] = []
    private var headerBytes = 0
    private var bodyOverflow = false
    private var headerOverflow = false

    /// - Parameter authorityAge: the greatest age in seconds of authorities in memory that may be used; 0 reads them anew.
    /// - Throws: `TransportFailure` when no handle can be made, or libcurl does not take the request.
    init(_ request: HTTPRequest, _ settings: CurlSettings, authorityAge: Int = 0) throws(TransportFailure) {
        guard let easy = curl_easy_init() else { throw TransportFailure(.other, "libcurl gives no handle") }
        self.easy = easy
        self.settings = settings
        errorBuffer = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorBuffer.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        try configure(request, authorityAge)
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(fields)
        errorBuffer.deallocate()
        continuation?.resume(returning: .failure(TransportFailure(.cancelled, "the transfer was dropped")))
    }

    /// Who waits for the answer.
    func await(_ continuation: CheckedContinuation<Result<HTTPResponse, TransportFailure>, Never>) { self.continuation = continuation }

    /// Answers who waits, once.
    func finish(_ result: Result<HTTPResponse, TransportFailure>) {
        continuation?.resume(returning: result)
        continuation = nil
    }

    /// The outcome, once libcurl is done with the handle.
    func result(_ code: CURLcode) -> Result<HTTPResponse, TransportFailure> {
        let complete = code == CURLE_OK
        // An error status is an answer whatever becomes of its content; a success needs its content.
        if head.isComplete, complete || bodyOverflow || head.status >= 300 {
            return .success(HTTPResponse(status: head.status, contentType: head.contentType, retryAfter: head.retryAfter, date: head.date, body: body, isComplete: complete))
        }
        if complete { return .failure(TransportFailure(.notHTTP, "an answer without a header")) }
        if headerOverflow { return .failure(TransportFailure(.answerTooLarge, "the answer's header has more than \(settings.headerLimit) bytes")) }
        var verification = 0
        _ = ccurl_get_long(easy, CURLINFO_SSL_VERIFYRESULT, &verification)
        let kind = TransportFailure.kind(code, verification: verification, connected: microseconds(CURLINFO_PRETRANSFER_TIME_T) > 0,
                                         overall: microseconds(CURLINFO_TOTAL_TIME_T) >= settings.totalTimeout.milliseconds * 1_000)
        return .failure(TransportFailure(kind, words(code)))
    }

    private func microseconds(_ info: CURLINFO) -> Int64 {
        var value: curl_off_t = 0
        _ = ccurl_get_size(easy, info, &value)
        return Int64(value)
    }

    /// libcurl's words and number. Parts of them come from outside, so they are kept short and printable.
    private func words(_ code: CURLcode) -> String {
        var text = String(cString: errorBuffer)
        if text.isEmpty { text = String(cString: curl_easy_strerror(code)) }
        let printable = text.unicodeScalars.prefix(200).map { (0x20...0x7E).contains($0.value) ? Character($0) : "?" }
        return "\(String(printable)) (curl \(code.rawValue))"
    }

    // MARK: Callbacks

    private func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let room = settings.bodyLimit - body.count
        body += bytes.prefix(room)
        bodyOverflow = bytes.count > room
        return !bodyOverflow
    }

    private func takeHeader(_ bytes: UnsafeRawBufferPointer) -> Bool {
        headerBytes += bytes.count
        headerOverflow = headerBytes > settings.headerLimit
        if !headerOverflow { head.take(bytes) }
        return !headerOverflow
    }

    private static func transfer(_ context: UnsafeMutableRawPointer?) -> CurlTransfer? {
        context.map { Unmanaged<CurlTransfer>.fromOpaque($0).takeUnretainedValue() }
    }

    // MARK: Setting up

    private func configure(_ request: HTTPRequest, _ authorityAge: Int) throws(TransportFailure) {
        for field in request.headers {
            guard field.value.utf8.allSatisfy({ $0 == 9 || (0x20...0x7E).contains($0) }), !field.name.isEmpty,
                  let longer = curl_slist_append(fields, "\(field.name): \(field.value)") else {
                throw TransportFailure(.other, "header field \(field.name) cannot be sent")
            }
            fields = longer
        }
        // Without this libcurl waits for "100 Continue" before larger bodies.
        if let longer = curl_slist_append(fields, "Expect:") { fields = longer }

        var codes: [CURLcode] = [
            // Also keeps a slow name server from blocking the loop when a transfer is given up: its thread is left to end by itself.
            ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1),
            ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1),
            ccurl_set_close_on_exec(easy),
            ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorBuffer),
            ccurl_set_string(easy, CURLOPT_URL, request.url),
            ccurl_set_string(easy, CURLOPT_PROTOCOLS_STR, "https"),
            ccurl_set_string(easy, CURLOPT_REDIR_PROTOCOLS_STR, "https"),
            ccurl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0),
            ccurl_set_long(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1),
            // No proxy from the environment.
            ccurl_set_string(easy, CURLOPT_PROXY, ""),
            ccurl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)),
            ccurl_set_string(easy, CURLOPT_USERAGENT, settings.userAgent),
            ccurl_set_list(easy, CURLOPT_HTTPHEADER, fields),
            ccurl_set_long(easy, CURLOPT_POST, 1),
            ccurl_set_string(easy, CURLOPT_CUSTOMREQUEST, request.method == "POST" ? nil : request.method),
            ccurl_set_size(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(request.body.count)),
            request.body.withUnsafeBytes { bytes in
                // Copied by libcurl. An empty body still needs an address.
                withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { empty in
                    ccurl_set_pointer(easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress ?? UnsafeRawPointer(empty.baseAddress)))
                }
            },
            ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, settings.connectTimeout.milliseconds))),
            ccurl_set_long(easy, CURLOPT_TIMEOUT_MS, Int(max(1, settings.totalTimeout.milliseconds))),
            ccurl_set_long(easy, CURLOPT_LOW_SPEED_LIMIT, settings.lowSpeedBytes),
            ccurl_set_long(easy, CURLOPT_LOW_SPEED_TIME, Int(max(1, settings.lowSpeedTime.milliseconds / 1_000))),
        ]
        codes += trust(authorityAge)
        let context = Unmanaged.passUnretained(self).toOpaque()
        codes.append(ccurl_set_pointer(easy, CURLOPT_WRITEDATA, context))
        codes.append(ccurl_set_callback(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, context in
            CurlTransfer.transfer(context)?.takeBody(UnsafeRawBufferPointer(start: bytes, count: size * count)) == true ? size * count : 0
        })
        codes.append(ccurl_set_pointer(easy, CURLOPT_HEADERDATA, context))
        codes.append(ccurl_set_callback(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, context in
            CurlTransfer.transfer(context)?.takeHeader(UnsafeRawBufferPointer(start: bytes, count: size * count)) == true ? size * count : 0
        })
        if let failed = codes.first(where: { $0 != CURLE_OK }) {
            throw TransportFailure(.other, "libcurl does not take the request: \(String(cString: curl_easy_strerror(failed)))")
        }
    }

    /// Verification of the peer and of its name. Both are always on; nothing in the settings reaches them.
    private func trust(_ authorityAge: Int) -> [CURLcode] {
        var codes = [
            ccurl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 1),
            ccurl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 2),
            ccurl_set_long(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2)),
            ccurl_set_long(easy, CURLOPT_CA_CACHE_TIMEOUT, authorityAge),
        ]
        switch settings.trust.location {
        case .file(let path):
            codes.append(ccurl_set_string(easy, CURLOPT_CAINFO, path))
            codes.append(ccurl_set_string(easy, CURLOPT_CAPATH, nil))
        case .directory(let path):
            codes.append(ccurl_set_string(easy, CURLOPT_CAINFO, nil))
            codes.append(ccurl_set_string(easy, CURLOPT_CAPATH, path))
        case .builtIn: break
        }
        if let pin = settings.pinnedPublicKey { codes.append(ccurl_set_string(easy, CURLOPT_PINNEDPUBLICKEY, pin)) }
        return codes
    }
}
