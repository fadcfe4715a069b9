internal import CTLS
internal import CoreTypes

/// A certificate with its key, and the rules of every connection that is accepted with it. Loops share one;
/// connections keep theirs when another takes its place.
// Unchecked: it is complete before a second thread sees it, and OpenSSL counts references to it with atomics.
// Safe: it owns the handle.
@safe
final class TLSContext: @unchecked Sendable {
  /// Forward secrecy and authenticated encryption only; the order is the server's preference (ChaCha20 first
  /// for clients that put it first, because they lack AES instructions).
  private static let ciphersOfTLS12 = """
    ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:\
    ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305
    """
  private static let ciphersOfTLS13 =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
  private static let groups = "X25519:P-256:P-384"
  /// Seconds for which a ticket resumes a session.
  private static let sessionLifetime = 7200

  private nonisolated(unsafe) let handle: OpaquePointer

  /// Reads the files. Blocks. Throws ``HTTPServerError/Code/certificateInvalid``.
  init(_ configuration: TLSConfiguration) throws(HTTPServerError) {
    TLSErrorQueue.clear()
    guard let handle = unsafe SSL_CTX_new(TLS_server_method()) else {
      throw HTTPServerError(.systemFailure, "no memory for TLS: \(TLSErrorQueue.drain())")
    }
    unsafe self.handle = handle
    try setRules()
    try load(configuration)
  }

  deinit {
    unsafe SSL_CTX_free(handle)
  }

  /// For a connection that has just been accepted on `descriptor`.
  func makeSession(descriptor: Int32) -> TLSSession? {
    unsafe TLSSession(accepting: descriptor, context: handle)
  }

  /// When the first of its certificates ends; nil where one has no end that can be read.
  var expiry: Timestamp? {
    var seconds: Int64 = 0
    guard unsafe ctls_first_certificate_end(handle, &seconds) == 1 else { return nil }
    return Timestamp(millisecondsSinceEpoch: 0) + .seconds(seconds)
  }

  private func setRules() throws(HTTPServerError) {
    unsafe ctls_prepare_server(handle)
    unsafe SSL_CTX_set_timeout(handle, TLSContext.sessionLifetime)
    unsafe SSL_CTX_set_default_passwd_cb(handle, refusePassphrase)
    unsafe SSL_CTX_set_alpn_select_cb(handle, selectProtocol, nil)
    let name: [UInt8] = Array("pullbox".utf8)
    let accepted =
      unsafe ctls_set_minimum_version(handle, TLS1_2_VERSION) == 1
      && SSL_CTX_set_cipher_list(handle, TLSContext.ciphersOfTLS12) == 1
      && SSL_CTX_set_ciphersuites(handle, TLSContext.ciphersOfTLS13) == 1
      && ctls_set_groups(handle, TLSContext.groups) == 1
      && SSL_CTX_set_session_id_context(handle, name, UInt32(name.count)) == 1
    guard accepted else {
      throw HTTPServerError(.systemFailure, "TLS cannot be set up: \(TLSErrorQueue.drain())")
    }
  }

  private func load(_ configuration: TLSConfiguration) throws(HTTPServerError) {
    let certificates = configuration.certificateFile
    let key = configuration.keyFile
    guard unsafe SSL_CTX_use_certificate_chain_file(handle, certificates) == 1 else {
      throw invalid("the certificate file \(certificates) cannot be used")
    }
    guard unsafe SSL_CTX_use_PrivateKey_file(handle, key, SSL_FILETYPE_PEM) == 1 else {
      throw invalid("the key file \(key) cannot be used")
    }
    guard unsafe SSL_CTX_check_private_key(handle) == 1 else {
      throw invalid("the key in \(key) is not that of the first certificate in \(certificates)")
    }
  }

  private func invalid(_ sentence: String) -> HTTPServerError {
    HTTPServerError(.certificateInvalid, "\(sentence): \(TLSErrorQueue.drain())")
  }
}

/// A server has no terminal to ask at: a key with a passphrase cannot be used.
private func refusePassphrase(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int32, _ isWriting: Int32,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  -1
}

/// RFC 7301: `http/1.1` where the client offers it; a client that offers only others is refused.
private func selectProtocol(
  _ session: OpaquePointer?, _ chosen: UnsafeMutablePointer<UnsafePointer<UInt8>?>?,
  _ chosenLength: UnsafeMutablePointer<UInt8>?, _ offered: UnsafePointer<UInt8>?, _ length: UInt32,
  _ context: UnsafeMutableRawPointer?
) -> Int32 {
  let wanted: StaticString = "http/1.1"
  guard let offered = unsafe offered else { return SSL_TLSEXT_ERR_ALERT_FATAL }
  var position = 0
  while position < Int(length) {
    let count = unsafe Int(offered[position])
    let name = unsafe offered + position + 1
    guard position + 1 + count <= Int(length) else { break }
    if count == wanted.utf8CodeUnitCount, unsafe memcmp(name, wanted.utf8Start, count) == 0 {
      unsafe chosen?.pointee = name
      unsafe chosenLength?.pointee = UInt8(count)
      return SSL_TLSEXT_ERR_OK
    }
    position += 1 + count
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL
}

/// OpenSSL's error queue of the calling thread. Empty outside the calls that this folder makes.
enum TLSErrorQueue {
  /// Forgets what is there: a call that answers by the queue must find it empty.
  static func clear() {
    ERR_clear_error()
  }

  /// Takes everything, the oldest (the root) first, in words.
  static func drain() -> String {
    var sentences: [String] = []
    while true {
      let code = ERR_get_error()
      if code == 0 { break }
      if let reason = unsafe ERR_reason_error_string(code) {
        sentences.append(unsafe String(cString: reason))
      } else if let reason = unsafe strerror(ctls_error_reason(code)) {
        // The reason of a system error is its number.
        sentences.append(unsafe String(cString: reason))
      }
    }
    return sentences.isEmpty ? "no reason given" : sentences.joined(separator: ", ")
  }
}
