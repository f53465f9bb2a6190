import CCrypto
import CCurl
import CJansson
import CSQLite
import CTOML
import Indicators

/// The versions of the gateway and of what it runs with.
enum Versions {
    /// The gateway's own (semver.org).
    static let gateway = "0.1.0"

    /// The libraries as they are loaded, not as they were compiled against; toml++ says only the latter.
    static var libraries: [(name: String, version: String)] {
        [
            ("libcurl", String(cString: curl_version_info(CURLVERSION_FIRST).pointee.version)),
            ("SQLite", String(cString: sqlite3_libversion())),
            ("libcrypto", String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))),
            ("jansson", String(cString: jansson_version_str())),
            ("libgpiod", Indicators.libraryVersion()),
            ("toml++", String(cString: ctoml_version()))
        ]
    }
}
