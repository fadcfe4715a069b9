internal import CLinux
internal import CTLS
internal import Glibc

/// The TLS side of one connection, or, of a plain connection, nothing. All calls of libssl for a connection
/// are made here, on its loop's thread.
// Safe although it holds pointers: it owns both, and frees them in the order in which OpenSSL uses them.
@safe
struct TLSSession: ~Copyable {
  /// The outcome of one call of libssl.
  enum Outcome: Hashable {
    /// Bytes read or taken for sending; 0 of a handshake or of an end.
    case done(Int)
    /// Goes on when bytes of the peer are there.
    case needsInput
    /// Goes on when the socket takes bytes again.
    case needsOutput
    /// The peer said that nothing follows.
    case ended
    /// No byte can be read or sent any more.
    case broken
  }

  /// Bytes of content in the largest record.
  static let recordLength = 16_384

  private let handle: OpaquePointer?
  private let socketBIO: UnsafeMutablePointer<TLSSocketBIO>?
  /// After a fatal error, OpenSSL must not be asked to end the session in order.
  private var isBroken = false
  private var isComplete = false
  private(set) var sentEnd = false
  /// Whether ``read(into:upTo:)`` or ``handshake()`` waits for room in the socket.
  private(set) var readNeedsOutput = false
  /// Whether ``write(_:count:hasMore:)`` waits for bytes of the peer.
  private(set) var writeNeedsInput = false
  /// Bytes of content that were refused for want of room: at least as many must come next.
  private(set) var pendingLength = 0
  /// The end is owed until the socket takes it.
  private(set) var owesEnd = false

  /// The session of a plain connection: none.
  init() {
    unsafe handle = nil
    unsafe socketBIO = nil
  }

  /// Nil when there is no memory for it.
  init?(accepting descriptor: Int32, context: OpaquePointer) {
    TLSErrorQueue.clear()
    guard let method = TLSSocketBIO.method, let bio = unsafe BIO_new(method.handle) else { return nil }
    guard let handle = unsafe SSL_new(context) else {
      unsafe BIO_free(bio)
      return nil
    }
    let socketBIO = UnsafeMutablePointer<TLSSocketBIO>.allocate(capacity: 1)
    unsafe socketBIO.initialize(to: TLSSocketBIO(descriptor: descriptor))
    unsafe BIO_set_data(bio, socketBIO)
    unsafe BIO_set_init(bio, 1)
    // One reference for reading and writing.
    unsafe SSL_set_bio(handle, bio, bio)
    unsafe SSL_set_accept_state(handle)
    unsafe self.handle = handle
    unsafe self.socketBIO = socketBIO
  }

  deinit {
    if let handle = unsafe handle { unsafe SSL_free(handle) }
    if let socketBIO = unsafe socketBIO { unsafe socketBIO.deallocate() }
  }

  var isActive: Bool { unsafe handle != nil }

  /// An edge of the socket: it may have bytes, after which, perhaps, nothing comes.
  func noteInput(isLast: Bool) {
    unsafe socketBIO?.pointee.mayReceive = true
    if isLast { unsafe socketBIO?.pointee.readsToEnd = true }
  }

  /// Goes on with the handshake.
  mutating func handshake() -> Outcome {
    guard let handle = unsafe handle, !isBroken else { return .broken }
    TLSErrorQueue.clear()
    readNeedsOutput = false
    let result = unsafe SSL_do_handshake(handle)
    if result == 1 {
      isComplete = true
      return .done(0)
    }
    let outcome = outcome(of: result)
    readNeedsOutput = outcome == .needsOutput
    return outcome
  }

  /// At most one record's content; there may be more until it answers ``Outcome/needsInput``.
  mutating func read(into target: UnsafeMutablePointer<UInt8>, upTo limit: Int) -> Outcome {
    guard let handle = unsafe handle, !isBroken else { return .broken }
    TLSErrorQueue.clear()
    readNeedsOutput = false
    var count = 0
    let result = unsafe SSL_read_ex(handle, target, limit, &count)
    if result == 1 { return .done(count) }
    let outcome = outcome(of: result)
    readNeedsOutput = outcome == .needsOutput
    return outcome
  }

  /// Takes at most one record's content. After ``Outcome/needsOutput`` the same bytes must come again, and
  /// may be followed by more: the record may be made already.
  mutating func write(_ bytes: UnsafePointer<UInt8>, count: Int, hasMore: Bool) -> Outcome {
    guard let handle = unsafe handle, !isBroken else { return .broken }
    TLSErrorQueue.clear()
    writeNeedsInput = false
    let length = min(count, TLSSession.recordLength)
    unsafe socketBIO?.pointee.hasMore = hasMore || length < count
    var taken = 0
    let result = unsafe SSL_write_ex(handle, bytes, length, &taken)
    pendingLength = 0
    if result == 1 { return .done(taken) }
    let outcome = outcome(of: result)
    pendingLength = length
    writeNeedsInput = outcome == .needsInput
    return outcome
  }

  /// Says that nothing follows (close_notify); again after ``Outcome/needsOutput``.
  mutating func end() -> Outcome {
    guard let handle = unsafe handle, !isBroken, isComplete else { return .broken }
    if sentEnd { return .done(0) }
    TLSErrorQueue.clear()
    unsafe socketBIO?.pointee.hasMore = false
    let result = unsafe SSL_shutdown(handle)
    // 0: sent, and the peer's is still to come, which reading will show.
    let outcome = result >= 0 ? .done(0) : outcome(of: result)
    sentEnd = outcome == .done(0)
    owesEnd = outcome == .needsOutput
    return outcome
  }

  /// Ends the session without close_notify, so that the peer does not mistake a truncated response for a
  /// whole one.
  mutating func markBroken() {
    isBroken = true
  }

  private mutating func outcome(of result: Int32) -> Outcome {
    switch unsafe SSL_get_error(handle, result) {
    case SSL_ERROR_WANT_READ: return .needsInput
    case SSL_ERROR_WANT_WRITE: return .needsOutput
    case SSL_ERROR_ZERO_RETURN: return .ended
    // SSL_ERROR_SSL and SSL_ERROR_SYSCALL; the others belong to callbacks that are not installed.
    default:
      isBroken = true
      TLSErrorQueue.clear()
      return .broken
    }
  }
}
