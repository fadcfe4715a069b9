public import CoreTypes

/// The content of a request, as it arrives. Read it once; while it is not read, the server stops reading the
/// socket after ``HTTPServerConfiguration/bodyBufferLength`` bytes, so that a slow handler slows its client
/// down.
///
/// Reading throws ``RequestBodyError``. Leaving it unread is fine: the server reads what little remains, or
/// closes.
public struct RequestBody: AsyncSequence, Sendable {
  /// Bytes as they arrived: at least one.
  public typealias Element = [UInt8]

  fileprivate enum Source: Sendable {
    case bytes([UInt8])
    case exchange(Exchange)
  }

  private let source: Source
  /// The length the client announced; nil for a chunked body.
  public let expectedLength: ByteCount?
  /// The reservation that ``collect(upTo:)`` asks for room before it keeps bytes; nil keeps them without
  /// asking.
  public var reservation: (any BodyReservation)?

  /// A body without bytes.
  public static let empty = RequestBody([])

  /// A body that is already here, as tests of handlers want it.
  public init(_ bytes: [UInt8]) {
    source = .bytes(bytes)
    expectedLength = ByteCount(bytes.count)
  }

  init(_ exchange: Exchange, expectedLength: ByteCount?) {
    source = .exchange(exchange)
    self.expectedLength = expectedLength
  }

  /// Reads the body; one iterator, on one task at a time.
  public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
    fileprivate var source: Source?

    /// The bytes that have arrived since the last call, at least one; nil at the end.
    public mutating func next() async throws(RequestBodyError) -> [UInt8]? {
      switch source {
      case nil: return nil
      case .bytes(let bytes):
        source = nil
        return bytes.isEmpty ? nil : bytes
      case .exchange(let exchange):
        return try await exchange.nextBodyBytes()
      }
    }

    /// The same as ``next()``, for callers that are isolated to an actor.
    public mutating func next(
      isolation actor: isolated (any Actor)?
    ) async throws(RequestBodyError) -> [UInt8]? {
      try await next()
    }
  }

  /// Begins to read. The server asks the client for content with the first call of `next()`.
  public func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(source: source)
  }

  /// The whole body. Throws ``RequestBodyError/Code/tooLarge`` as soon as it is known to be longer than
  /// `limit`, and what the ``reservation`` throws.
  public func collect(upTo limit: ByteCount) async throws(RequestBodyError) -> [UInt8] {
    if let expectedLength, expectedLength > limit { throw RequestBodyError(.tooLarge) }
    let longest = Int(clamping: (expectedLength ?? limit).rawValue)
    guard longest > 0 else { return [] }
    defer { reservation?.didEnd() }
    var collected: [UInt8] = []
    // The client is not asked for content before there is room for its beginning.
    var room = Swift.min(Self.firstRoom, longest)
    if let reservation {
      if case .exchange(let exchange) = source { exchange.collectBody() }
      try await reservation.reserve(room)
      collected.reserveCapacity(room)
    }
    var iterator = makeAsyncIterator()
    while let bytes = try await iterator.next() {
      let count = collected.count + bytes.count
      guard count <= limit.rawValue else { throw RequestBodyError(.tooLarge) }
      if let reservation {
        if count > room {
          room = Swift.max(count, Swift.min(room * 2, longest))
          try await reservation.reserve(room)
          collected.reserveCapacity(room)
        }
        reservation.didReceive(bytes.count)
      }
      collected.append(contentsOf: bytes)
    }
    try await reservation?.didArrive()
    return collected
  }

  /// The room that is asked for first, in bytes; then it doubles.
  private static let firstRoom = 16_384

  /// Lets the reading fail with `error` after the bytes that have arrived. Does nothing to a body that has arrived
  /// whole, or that no connection brings.
  public func end(with error: RequestBodyError) {
    if case .exchange(let exchange) = source { exchange.endBody(error) }
  }
}

/// Says how many bytes of a body may be kept in memory; see ``RequestBody/reservation``.
public protocol BodyReservation: AnyObject, Sendable {
  /// Returns once the body may have `count` bytes in memory, those of earlier calls included. Throws
  /// ``RequestBodyError/Code/noRoom`` when it may not.
  func reserve(_ count: Int) async throws(RequestBodyError)

  /// So many more bytes have arrived.
  func didReceive(_ count: Int)

  /// The body has arrived whole; its reader has it once this returns. Throws ``RequestBodyError/Code/noRoom`` when the request
  /// may not go on now. ``didEnd()`` follows.
  func didArrive() async throws(RequestBodyError)

  /// The body has arrived whole, or is not read any more. What it holds stays in memory for its reader.
  func didEnd()
}

/// Why a request body could not be read to its end.
public struct RequestBodyError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a failure.
  public struct Code: Hashable, Sendable {
    fileprivate enum Name: Hashable {
      case connectionClosed
      case malformedChunk
      case timedOut
      case tooLarge
      case cancelled
      case noRoom
      case readTwice
    }

    fileprivate let name: Name

    /// The peer closed, or the server closed the connection, before the body was complete.
    public static let connectionClosed = Code(name: .connectionClosed)
    /// The chunked coding was broken; the connection is closed after the response.
    public static let malformedChunk = Code(name: .malformedChunk)
    /// The peer sent less than the lowest rate over a body deadline.
    public static let timedOut = Code(name: .timedOut)
    /// More than the bound given to ``RequestBody/collect(upTo:)``.
    public static let tooLarge = Code(name: .tooLarge)
    /// The task that reads was canceled.
    public static let cancelled = Code(name: .cancelled)
    /// The process holds as many bytes of bodies as it may; see ``RequestBody/reservation``.
    public static let noRoom = Code(name: .noRoom)
    /// Another task waits for the body's next bytes already.
    public static let readTwice = Code(name: .readTwice)
  }

  /// Why, for code.
  public let code: Code

  /// An error as reading throws it; public for tests of callers.
  public init(_ code: Code) {
    self.code = code
  }

  /// The code as a sentence for people, without a full stop.
  public var message: String {
    switch code.name {
    case .connectionClosed: "the connection was closed before the request body was complete"
    case .malformedChunk: "the chunked request body is malformed"
    case .timedOut: "the request body did not arrive in time"
    case .tooLarge: "the request body is larger than allowed"
    case .cancelled: "the request was abandoned"
    case .noRoom: "too many request bodies are in memory"
    case .readTwice: "two tasks read the request body at once"
    }
  }

  /// The message.
  public var description: String { message }
}
