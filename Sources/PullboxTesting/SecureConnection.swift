internal import CLinux
internal import CTLS
internal import Glibc
internal import Synchronization

/// A TLS client over a ``RawConnection``: OpenSSL works on memory, and every byte passes through the test's hands. It trusts
/// any certificate, and shows which one it saw.
public final class SecureConnection: ResponseReader {
  /// The versions, protocols and session that the client offers.
  public struct Options: Sendable {
    /// The highest version offered: `TLS1_1_VERSION` is 0x302, and so on.
    public var maximumVersion: Int32 = 0x304
    /// Names of ALPN.
    public var protocols: [String] = []
    /// A session to resume; nil starts a new one.
    public var session: SecureSession?
    /// Sends the handshake byte by byte.
    public var trickles = false

    /// TLS 1.3, no ALPN, no session.
    public init() {}
  }

  // Safe: it owns the handle, which owns the two memories. Unchecked: it lives behind a lock.
  /// The objects of OpenSSL, and bytes that were put back.
  @safe
  private struct State: ~Copyable, @unchecked Sendable {
    /// The connection, `SSL`.
    nonisolated(unsafe) let handle: OpaquePointer
    /// A memory BIO with what has come from the server and is not decrypted.
    nonisolated(unsafe) let input: OpaquePointer
    /// A memory BIO with what is to be sent. The handle owns both.
    nonisolated(unsafe) let output: OpaquePointer
    /// Decrypted bytes that come before those of the connection.
    var buffer: [UInt8] = []

    deinit {
      // A session without an end in order would not be resumed.
      unsafe SSL_set_shutdown(handle, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN)
      unsafe SSL_free(handle)
    }
  }

  /// The connection below.
  public let plain: RawConnection
  /// Whether bytes of the handshake and all others go one by one.
  private let trickles: Bool
  // OpenSSL's handle is used under the lock alone.
  private let state: Mutex<State>

  /// Sends nothing yet; call ``handshake()``.
  public init(over plain: RawConnection, options: Options = Options()) throws {
    self.plain = plain
    trickles = options.trickles
    guard let context = unsafe SSL_CTX_new(TLS_client_method()) else { throw Self.failure("SSL_CTX_new") }
    defer { unsafe SSL_CTX_free(context) }
    // Old versions are offered only where the signatures they need are allowed at all.
    unsafe SSL_CTX_set_security_level(context, options.maximumVersion < 0x303 ? 0 : 1)
    unsafe ctls_set_minimum_version(context, 0)
    unsafe ctls_set_maximum_version(context, options.maximumVersion)
    guard let handle = unsafe SSL_new(context), let input = unsafe BIO_new(BIO_s_mem()),
      let output = unsafe BIO_new(BIO_s_mem())
    else { throw Self.failure("SSL_new") }
    unsafe SSL_set_bio(handle, input, output)
    unsafe SSL_set_connect_state(handle)
    let names = options.protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    if !names.isEmpty { unsafe SSL_set_alpn_protos(handle, names, UInt32(names.count)) }
    if let session = options.session { unsafe SSL_set_session(handle, session.handle) }
    unsafe state = Mutex(State(handle: handle, input: input, output: output))
  }

  /// Returns when both sides have finished; throws for an alert.
  public func handshake() async throws {
    try await work("SSL_do_handshake") { unsafe SSL_do_handshake($0.handle) }
  }

  /// Encrypts and sends `text` in UTF-8.
  public func send(_ text: String) async throws {
    try await send(Array(text.utf8))
  }

  /// Encrypts and sends `bytes`.
  public func send(_ bytes: [UInt8]) async throws {
    try await work("SSL_write") { unsafe SSL_write($0.handle, bytes, Int32(bytes.count)) }
  }

  /// The encrypted form of `bytes`, for a test that sends it in its own way.
  public func seal(_ bytes: [UInt8]) throws -> [UInt8] {
    try state.withLock { state in
      guard unsafe SSL_write(state.handle, bytes, Int32(bytes.count)) == Int32(bytes.count) else {
        throw Self.failure("SSL_write")
      }
      return Self.drain(state)
    }
  }

  /// The next decrypted bytes, at most `limit`; none after close_notify.
  public func receive(upTo limit: Int) async throws -> [UInt8] {
    let buffered = state.withLock { state in
      let taken = Array(state.buffer.prefix(limit))
      state.buffer.removeFirst(taken.count)
      return taken
    }
    if !buffered.isEmpty { return buffered }
    let bytes = Locked([UInt8](repeating: 0, count: limit))
    let count = try await work("SSL_read") { state in
      bytes.withLock { unsafe SSL_read(state.handle, &$0, Int32(limit)) }
    }
    return Array(bytes.current.prefix(Int(count)))
  }

  /// Makes `bytes` the next ones that are received.
  public func putBack(_ bytes: [UInt8]) {
    state.withLock { $0.buffer = bytes + $0.buffer }
  }

  /// Sends close_notify.
  public func end() async throws {
    let bytes = state.withLock { state in
      unsafe SSL_shutdown(state.handle)
      return Self.drain(state)
    }
    try await plain.send(bytes)
  }

  /// Asks for new keys in both directions (TLS 1.3), with the next bytes sent.
  public func updateKeys() {
    state.withLock { _ = unsafe SSL_key_update($0.handle, SSL_KEY_UPDATE_REQUESTED) }
  }

  /// The server's close_notify has arrived.
  public var hasReceivedEnd: Bool {
    state.withLock { unsafe SSL_get_shutdown($0.handle) & SSL_RECEIVED_SHUTDOWN != 0 }
  }

  /// Whether the handshake resumed a session.
  public var wasResumed: Bool { state.withLock { unsafe SSL_session_reused($0.handle) == 1 } }
  /// `TLSv1.3`.
  public var version: String { state.withLock { unsafe String(cString: SSL_get_version($0.handle)) } }
  /// The cipher suite's name in OpenSSL.
  public var cipher: String {
    state.withLock { unsafe String(cString: SSL_CIPHER_get_name(SSL_get_current_cipher($0.handle))) }
  }

  /// The protocol that ALPN settled on; empty for none.
  public var chosenProtocol: String {
    state.withLock { state in
      var name: UnsafePointer<UInt8>?
      var length: UInt32 = 0
      unsafe SSL_get0_alpn_selected(state.handle, &name, &length)
      return unsafe String(
        decoding: UnsafeBufferPointer(start: name, count: Int(length)), as: UTF8.self)
    }
  }

  /// The subject of the server's certificate, as `/CN=name`.
  public var certificateName: String {
    state.withLock { state in
      guard let certificate = unsafe SSL_get1_peer_certificate(state.handle) else { return "" }
      defer { unsafe X509_free(certificate) }
      guard let text = unsafe X509_NAME_oneline(X509_get_subject_name(certificate), nil, 0) else { return "" }
      defer { unsafe CRYPTO_free(text, "", 0) }
      return unsafe String(cString: text)
    }
  }

  /// The session for ``Options/session`` of a later connection; with TLS 1.3 only once something was received.
  public func takeSession() -> SecureSession? {
    state.withLock { unsafe SSL_get1_session($0.handle).map { unsafe SecureSession($0) } }
  }

  /// Calls until it has what it wants: sends what OpenSSL made, feeds it what came. 0 at the end of the stream.
  @discardableResult
  private func work(
    _ call: String, _ body: @escaping @Sendable (borrowing State) -> Int32
  ) async throws -> Int32 {
    while true {
      let (result, error, bytes) = state.withLock { state in
        ERR_clear_error()
        let result = body(state)
        let error = unsafe SSL_get_error(state.handle, result)
        return (result, error, Self.drain(state))
      }
      if trickles {
        for byte in bytes { try await plain.send([byte]) }
      } else if !bytes.isEmpty {
        try await plain.send(bytes)
      }
      switch error {
      case SSL_ERROR_NONE: return result
      case SSL_ERROR_ZERO_RETURN: return 0
      case SSL_ERROR_WANT_READ:
        let received = try await plain.receive()
        if received.isEmpty {
          if call == "SSL_read" { return 0 }
          throw RawConnection.Failure(description: "\(call): the server closed the connection")
        }
        state.withLock { _ = unsafe BIO_write($0.input, received, Int32(received.count)) }
      default: throw Self.failure(call)
      }
    }
  }

  /// Takes out what OpenSSL has made for the server.
  private static func drain(_ state: borrowing State) -> [UInt8] {
    var all: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 16_384)
    while true {
      let count = unsafe BIO_read(state.output, &piece, Int32(piece.count))
      guard count > 0 else { return all }
      all += piece.prefix(Int(count))
    }
  }

  /// The error of a call with the reason that OpenSSL has for it; its queue of errors is empty afterwards.
  private static func failure(_ call: String) -> RawConnection.Failure {
    let reason = unsafe ERR_reason_error_string(ERR_peek_error()).map { unsafe String(cString: $0) }
    ERR_clear_error()
    return RawConnection.Failure(description: "\(call): \(reason ?? "no reason")")
  }
}

// Unchecked: OpenSSL counts references to it with atomics, and nothing changes it. Safe: it owns the handle.
/// A session that a later ``SecureConnection`` may resume.
@safe
public final class SecureSession: @unchecked Sendable {
  /// The session, `SSL_SESSION`, with one reference of this object's own.
  fileprivate nonisolated(unsafe) let handle: OpaquePointer

  /// Takes over a reference.
  fileprivate init(_ handle: OpaquePointer) {
    unsafe self.handle = handle
  }

  deinit {
    unsafe SSL_SESSION_free(handle)
  }
}
