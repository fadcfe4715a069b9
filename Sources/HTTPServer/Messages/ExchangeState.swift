/// The state that an ``Exchange`` guards by its lock.
struct ExchangeState {
  /// The end of the content, once it has one.
  enum BodyEnd {
    /// All of it arrived.
    case complete
    /// The rest of it never comes.
    case failed(RequestBodyError)
  }

  /// The end of a streamed response.
  enum StreamEnd: Hashable {
    /// The handler has made all of it.
    case complete
    /// The handler gave up; the connection is closed, so that the client can tell.
    case failed
  }

  /// The next thing that a reader of the content gets.
  enum BodyStep {
    /// Bytes that have arrived.
    case bytes([UInt8])
    /// Nothing: it was read to its end.
    case end
    /// The reason for which it ends early.
    case failed(RequestBodyError)
    /// Nothing yet: the reader is to be woken.
    case wait
  }

  enum Waiter: Sendable {
    /// The reader of the body.
    case body
    /// The writer of a stream.
    case write
  }

  /// The answer to a handler that writes.
  enum WriteVerdict {
    /// Nothing is sent any more.
    case gone
    /// More bytes than the response has announced; none of them are sent.
    case tooMany
    /// The flag: whether the loop has to be told.
    case accepted(Bool)
  }

  var body: [UInt8] = []
  var bodyEnd: BodyEnd?
  var wantsBody = false
  /// Its reader keeps the whole body in memory, and may have to wait for room.
  var isBodyCollected = false
  var interim: [UInt8] = []
  var hasAnswered = false
  var response: HTTPResponse?
  var streamed: [UInt8] = []
  /// Bytes a stream of known length still has to write.
  var streamRemaining: Int64?
  var streamEnd: StreamEnd?
  var isCancelled = false
  var isAbandoned = false
  /// Runs the handler.
  var task: Task<Void, Never>?
  /// How often the handler was asked.
  var runs = 0
  /// In place of the task, while the handler waits to be asked again.
  var postponement: (any ResponsePostponement)?
  /// A note about this exchange lies in the loop's mailbox.
  var isPosted = false
  private var reader: CheckedContinuation<Void, Never>?
  private var writer: CheckedContinuation<Void, Never>?

  /// The continuation of a task that sleeps until the loop wakes it; nil for none.
  subscript(waiter: Waiter) -> CheckedContinuation<Void, Never>? {
    get {
      switch waiter {
      case .body: reader
      case .write: writer
      }
    }
    set {
      switch waiter {
      case .body: reader = newValue
      case .write: writer = newValue
      }
    }
  }

  /// True when the caller has to post the exchange.
  mutating func postOnce() -> Bool {
    if isPosted || isAbandoned { return false }
    isPosted = true
    return true
  }

  /// The flag: whether the loop has to be told that content is wanted.
  mutating func nextBody() -> (BodyStep, Bool) {
    if !body.isEmpty {
      let bytes = body
      body = []
      guard bodyEnd == nil else { return (.bytes(bytes), false) }
      wantsBody = true
      return (.bytes(bytes), postOnce())
    }
    switch bodyEnd {
    case .complete: return (.end, false)
    case .failed(let error): return (.failed(error), false)
    case nil:
      guard reader == nil else { return (.failed(RequestBodyError(.readTwice)), false) }
      wantsBody = true
      return (.wait, postOnce())
    }
  }

  /// The flag: whether the loop has to be told.
  mutating func acceptInterim(_ bytes: [UInt8], limit: Int) -> Bool {
    guard !hasAnswered, !isAbandoned, interim.count + bytes.count <= limit else { return false }
    interim += bytes
    return postOnce()
  }

  mutating func accept(_ bytes: [UInt8]) -> WriteVerdict {
    if isAbandoned { return .gone }
    if let remaining = streamRemaining {
      guard Int64(bytes.count) <= remaining else { return .tooMany }
      streamRemaining = remaining - Int64(bytes.count)
    }
    streamed.append(contentsOf: bytes)
    return .accepted(postOnce())
  }
}

/// The changes of an ``Exchange`` that its loop collects.
struct ExchangeUpdate {
  let wantsBody: Bool
  /// Whole interim responses, to be sent before anything else.
  let interim: [UInt8]
  /// Once, when the handler has answered.
  let response: HTTPResponse?
  let hasStreamed: Bool
  let streamEnd: ExchangeState.StreamEnd?
}
