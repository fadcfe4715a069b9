import CCurl
import CTLS

/// Owns one `CURL`, the buffer for its error text and the list of its request's fields. Belongs to the loop's
/// thread.
@safe
final class EasyHandle {
  // Owned here alone, freed in deinit alone; valid as long as this object.
  nonisolated(unsafe) let pointer: UnsafeMutableRawPointer
  // libcurl writes its error text here; on the heap, since the address has to stay.
  nonisolated(unsafe) private let errorText: UnsafeMutablePointer<CChar>
  // libcurl reads the list during the whole transfer.
  nonisolated(unsafe) private var fields: UnsafeMutablePointer<curl_slist>?

  init() throws(HTTPClientError) {
    guard let pointer = unsafe curl_easy_init() else {
      throw HTTPClientError(code: .internalFailure, message: "libcurl could not make an easy handle")
    }
    unsafe self.pointer = unsafe pointer
    unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
    unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
  }

  deinit {
    unsafe curl_easy_cleanup(pointer)
    unsafe curl_slist_free_all(fields)
    unsafe errorText.deallocate()
  }

  /// The key under which a completed transfer is found.
  var address: UInt { unsafe UInt(bitPattern: pointer) }

  /// The message of libcurl about the failed transfer; empty where it gives none.
  var errorMessage: String { unsafe String(cString: errorText) }

  /// Forgets all options; connections are kept.
  func reset() throws(HTTPClientError) {
    unsafe curl_easy_reset(pointer)
    unsafe curl_slist_free_all(fields)
    unsafe fields = nil
    unsafe errorText.pointee = 0
    try unsafe set(CURLOPT_ERRORBUFFER, pointer: errorText)
  }

  func set(_ option: CURLoption, to value: Int) throws(HTTPClientError) {
    try CurlCall.check(unsafe ccurl_easy_setopt_long(pointer, option, value), of: "curl_easy_setopt")
  }

  func set(_ option: CURLoption, offset: Int64) throws(HTTPClientError) {
    try CurlCall.check(
      unsafe ccurl_easy_setopt_offset(pointer, option, curl_off_t(offset)), of: "curl_easy_setopt")
  }

  /// libcurl copies the text.
  func set(_ option: CURLoption, to value: String) throws(HTTPClientError) {
    try CurlCall.check(unsafe ccurl_easy_setopt_string(pointer, option, value), of: "curl_easy_setopt")
  }

  /// Takes a text option back to nothing.
  func unset(_ option: CURLoption) throws(HTTPClientError) {
    try CurlCall.check(unsafe ccurl_easy_setopt_string(pointer, option, nil), of: "curl_easy_setopt")
  }

  /// Sets a pointer option. The memory that it points at has to outlive the transfer.
  @unsafe
  func set(_ option: CURLoption, pointer value: UnsafeMutableRawPointer) throws(HTTPClientError) {
    try CurlCall.check(unsafe ccurl_easy_setopt_pointer(pointer, option, value), of: "curl_easy_setopt")
  }

  @unsafe
  func set(_ option: CURLoption, callback: ccurl_data_callback) throws(HTTPClientError) {
    try CurlCall.check(
      unsafe ccurl_easy_setopt_data_callback(pointer, option, callback), of: "curl_easy_setopt")
  }

  @unsafe
  func setSeek(callback: curl_seek_callback) throws(HTTPClientError) {
    try CurlCall.check(unsafe ccurl_easy_setopt_seek_callback(pointer, callback), of: "curl_easy_setopt")
  }

  /// `lines` as libcurl takes them: `Name: value`, `Name;` for an empty value, `Name:` to leave its own field
  /// out.
  func setFields(_ lines: [String]) throws(HTTPClientError) {
    for line in lines {
      guard let list = unsafe curl_slist_append(fields, line) else {
        throw HTTPClientError(code: .internalFailure, message: "curl_slist_append: out of memory")
      }
      unsafe fields = unsafe list
    }
    guard let list = unsafe fields else { return }
    try unsafe set(CURLOPT_HTTPHEADER, pointer: list)
  }

  /// The whole body, which libcurl copies.
  func setBody(_ bytes: [UInt8]) throws(HTTPClientError) {
    try set(CURLOPT_POSTFIELDSIZE_LARGE, offset: Int64(bytes.count))
    // An empty body has to have a place, too.
    let result = unsafe (bytes.isEmpty ? [0] : bytes).withUnsafeBytes { bytes in
      unsafe ccurl_easy_setopt_pointer(
        pointer, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }
    try CurlCall.check(result, of: "curl_easy_setopt")
  }

  /// Bytes of the request's body that were sent.
  var bytesSent: Int64 {
    var count: curl_off_t = 0
    // Zero where this build does not know it, like ``number(_:)``.
    _ = unsafe ccurl_easy_getinfo_offset(pointer, CURLINFO_SIZE_UPLOAD_T, &count)
    return Int64(count)
  }

  func number(_ information: CURLINFO) -> Int {
    var value = 0
    // A fact this build of libcurl does not know stays zero; only the summary is poorer for it.
    _ = unsafe ccurl_easy_getinfo_long(pointer, information, &value)
    return value
  }

  func duration(_ information: CURLINFO) -> Duration {
    var microseconds: curl_off_t = 0
    // Zero where this build does not know it, like ``number(_:)``.
    _ = unsafe ccurl_easy_getinfo_offset(pointer, information, &microseconds)
    return .microseconds(Int64(microseconds))
  }

  /// Empty where this build does not know it.
  func text(_ information: CURLINFO) -> String {
    var value: UnsafePointer<CChar>?
    guard unsafe ccurl_easy_getinfo_text(pointer, information, &value) == CURLE_OK, let text = unsafe value
    else { return "" }
    return unsafe String(cString: text)
  }

  /// Such as `TLSv1.3`; nil without TLS, and where libcurl has another library for it than OpenSSL. To be asked while the transfer has
  /// its connection.
  func tlsVersion() -> String? {
    var found: UnsafeMutableRawPointer?
    guard unsafe ccurl_easy_getinfo_pointer(pointer, CURLINFO_TLS_SSL_PTR, &found) == CURLE_OK,
      let session = unsafe found?.assumingMemoryBound(to: curl_tlssessioninfo.self).pointee,
      unsafe session.backend == CURLSSLBACKEND_OPENSSL, let connection = unsafe session.internals,
      let version = unsafe SSL_get_version(OpaquePointer(connection))
    else { return nil }
    return unsafe String(cString: version)
  }

  /// The lines `name:value` by which libcurl describes the peer's own certificate; empty unless it was asked to.
  func certificateLines() -> [String] {
    var chain: UnsafeMutablePointer<curl_certinfo>?
    guard unsafe ccurl_easy_getinfo_certificates(pointer, &chain) == CURLE_OK, let found = unsafe chain,
      unsafe found.pointee.num_of_certs > 0
    else { return [] }
    var lines: [String] = []
    // The first is the peer's; the list is libcurl's, and stays while the handle does.
    var line = unsafe found.pointee.certinfo?[0]
    while let present = unsafe line {
      if let text = unsafe present.pointee.data { unsafe lines.append(String(cString: text)) }
      unsafe line = unsafe present.pointee.next
    }
    return lines
  }

  /// Resuming may call the transfer's callbacks before this returns; what is returned then is their verdict.
  func pause(_ directions: Int32) -> CURLcode {
    unsafe curl_easy_pause(pointer, directions)
  }
}
