import CCurl
import CTLS

/// The process-wide part of libcurl.
enum CurlLibrary {
  // The result of curl_global_init, which runs once; libcurl is never cleaned up before the process ends. Nor is libcrypto, where
  // nothing else has used it by then: it would take away at exit() what clients' threads are still using.
  private static let initialization: CURLcode = {
    guard OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1 else {
      return CURLE_SSL_ENGINE_INITFAILED
    }
    return curl_global_init(Int(CURL_GLOBAL_ALL))
  }()

  /// The lowest version of libcurl that has all options in use: 7.85.0, for protocols by name.
  private static let minimumVersion: UInt32 = 0x07_55_00

  /// Checked once per client, so that a library that lacks something says so at the start instead of in a
  /// transfer.
  static func prepare() throws(HTTPClientError) {
    try CurlCall.check(initialization, of: "curl_global_init")
    guard let information = unsafe curl_version_info(CURLVERSION_FIRST) else {
      throw HTTPClientError(code: .internalFailure, message: "libcurl does not tell its version")
    }
    let version = unsafe information.pointee.version_num
    let features = unsafe Int64(information.pointee.features)
    guard version >= minimumVersion else {
      throw HTTPClientError(
        code: .internalFailure, message: "libcurl is older than 7.85: \(String(version, radix: 16))")
    }
    let needed: [(String, Int64)] = [
      ("TLS", Int64(CURL_VERSION_SSL)), ("Unix sockets", Int64(CURL_VERSION_UNIX_SOCKETS)),
      ("large files", Int64(CURL_VERSION_LARGEFILE)),
      ("asynchronous name lookups", Int64(CURL_VERSION_ASYNCHDNS)),
    ]
    for (name, feature) in needed where features & feature == 0 {
      throw HTTPClientError(code: .internalFailure, message: "libcurl was built without \(name)")
    }
  }
}

/// The one place that reads libcurl's results of calls that are not transfers: handles that are not ours trap
/// (it can only be a defect), everything else is thrown with the call's name.
enum CurlCall {
  static func check(_ result: CURLMcode, of call: StaticString) throws(HTTPClientError) {
    guard result != CURLM_OK else { return }
    precondition(
      result != CURLM_BAD_HANDLE && result != CURLM_BAD_EASY_HANDLE && result != CURLM_RECURSIVE_API_CALL
        && result != CURLM_ADDED_ALREADY,
      "\(call): the handle is not ours to use")
    throw failure(of: call, reason: unsafe String(cString: curl_multi_strerror(result)))
  }

  static func check(_ result: CURLcode, of call: StaticString) throws(HTTPClientError) {
    guard result != CURLE_OK else { return }
    throw failure(of: call, reason: unsafe String(cString: curl_easy_strerror(result)))
  }

  private static func failure(of call: StaticString, reason: String) -> HTTPClientError {
    HTTPClientError(code: .internalFailure, message: "\(call): \(reason)")
  }
}
