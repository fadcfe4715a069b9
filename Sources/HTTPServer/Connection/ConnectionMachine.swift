/// The life of one connection as a value: events in, actions out, no I/O. The loop passes each event to
/// ``handle(_:)`` and performs the actions it returns, in the order in which ``ConnectionActions`` declares
/// them; an event without meaning in a state changes nothing.
struct ConnectionMachine: Hashable, Sendable {
  /// The part of a request that is being read.
  enum Input: Hashable, Sendable {
    /// Neither side can say anything before the TLS handshake.
    case handshake
    /// Nothing of a next request has arrived.
    case idle
    /// A head has begun and is not complete.
    case head
    /// Content that a handler may want.
    case body
    /// Content of a request that was answered without it; read only to keep the connection.
    case discarding
    /// The request is complete (or as complete as it will get); the next one waits for its response.
    case complete
    /// No request follows; what arrives is thrown away.
    case ended
  }

  /// The state of the response that is being written.
  enum Output: Hashable, Sendable {
    /// No request asks for a response.
    case nothing
    /// A handler was asked and has not answered.
    case handling
    /// A response whose bytes are all there.
    case sending
    /// A response that its handler is still making.
    case streaming
  }

  /// The event that the output waits for.
  enum Wait: Hashable, Sendable {
    /// The output goes on by itself, or there is none.
    case nothing
    /// The socket takes no more bytes for now: until the client's deadline for sending.
    case socket
    /// A device has to read content first: until the storage deadline.
    case pages
    /// Other connections of the loop, which ends their turns itself.
    case turn
    /// A handler that makes the bytes at its own pace. It has its own rule for how long it may take.
    case handler
  }

  /// Which of the configured deadlines runs.
  enum Deadline: Hashable, Sendable {
    /// None runs: what is waited for has a rule of its own.
    case none
    /// From the connection to the end of its handshake: ``HTTPServerConfiguration/headDeadline``.
    case handshake
    /// Between requests: ``HTTPServerConfiguration/idleDeadline``.
    case idle
    /// From the first byte of a head to its last: ``HTTPServerConfiguration/headDeadline``.
    case head
    /// The window of ``HTTPServerConfiguration/minimumReceiveRate``.
    case body
    /// The window of ``HTTPServerConfiguration/minimumSendRate``.
    case send
    /// A device brings what is sent next: ``HTTPServerConfiguration/storageDeadline``.
    case storage
    /// The client closes behind its last response: ``HTTPServerConfiguration/lingerDeadline``.
    case linger
    /// The peer has ended its side: how long a handler goes on that gives nothing.
    case departure

    /// A rate is measured, over a window that activity does not begin anew.
    var isRate: Bool { self == .body || self == .send }
  }

  private(set) var input: Input
  private(set) var output = Output.nothing
  /// The connection ends after the response in progress.
  private(set) var closes = false
  /// The client waits for `100 Continue` before it sends content.
  private(set) var owesContinue = false
  /// The handler has asked for content it has not got.
  private(set) var wantsBody = false
  /// Content has piled up; the socket is not read.
  private(set) var isPaused = false
  /// The peer has closed its sending half.
  private(set) var peerHasEnded = false
  /// Its handler was told that no client may want the answer any more.
  private(set) var isHandlerCancelled = false
  /// Only while there is an output.
  private(set) var wait = Wait.nothing
  private(set) var isLingering = false
  private(set) var isClosed = false
  /// No request has begun yet.
  private(set) var isFresh = true

  /// `input` is where the connection begins: ``Input/handshake`` or ``Input/idle``.
  init(input: Input = .idle) {
    self.input = input
  }

  mutating func handle(_ event: ConnectionEvent) -> ConnectionActions {
    guard !isClosed else { return [] }
    switch event {
    case .handshakeEnded: return endHandshake()
    case .handshakeFailed: return failHandshake()
    case .bytesBeforeHead: return beginHead()
    case .headEnded(let hasContent, let keepsAlive, let expectsContinue):
      return endHead(hasContent: hasContent, keepsAlive: keepsAlive, expectsContinue: expectsContinue)
    case .headRefused: return refuse()
    case .bodyArrived: return bodyArrived()
    case .bodyBufferFilled: return pause()
    case .bodyWanted: return wantBody()
    case .bodyEnded: return endBody()
    case .bodyMalformed: return malformedBody()
    case .responseBegan(let closes, let streams, let canDiscard):
      return beginResponse(closes: closes, streams: streams, canDiscard: canDiscard)
    case .streamEnded:
      if output == .streaming { output = .sending }
      return []
    case .responseSent(let isInputRead): return endResponse(isInputRead: isInputRead)
    case .outputWaits(let wait):
      // What is out of an interim response leaves the output to the handler.
      if output != .nothing { self.wait = output == .handling && wait == .nothing ? .handler : wait }
      return []
    case .peerEnded: return endPeer()
    case .abandoned: return abandon()
    case .deadlinePassed: return deadlinePassed()
    case .drainBegan: return beginDrain()
    }
  }

  var deadline: Deadline {
    if isClosed { return .none }
    if isLingering { return .linger }
    switch wait {
    case .socket: return .send
    case .pages: return .storage
    case .nothing, .turn, .handler: break
    }
    if peerHasEnded, hasHandler, !isHandlerCancelled { return .departure }
    switch input {
    case .handshake: return .handshake
    case .idle: return output == .nothing ? (closes ? .linger : .idle) : .none
    case .head: return .head
    case .body: return wantsBody && !isPaused ? .body : .none
    case .discarding: return output == .nothing ? .body : .none
    case .complete, .ended: return .none
    }
  }

  /// Whether bytes that arrive can be put to use now.
  var acceptsInput: Bool {
    switch input {
    case .idle, .head: output == .nothing
    case .body: !isPaused
    case .handshake, .discarding, .ended: true
    case .complete: false
    }
  }

  /// Whether what arrives belongs to content, or to nothing, and asks for no answer.
  var takesContent: Bool {
    switch input {
    case .body, .discarding, .ended: true
    case .handshake, .idle, .head, .complete: false
    }
  }

  /// Whether the end of the peer, if it came now, would matter to a handler.
  var watchesPeer: Bool { input == .complete && output != .nothing && !peerHasEnded }

  private var hasHandler: Bool { output == .handling || output == .streaming }

  private mutating func endHandshake() -> ConnectionActions {
    if input == .handshake { input = .idle }
    return []
  }

  /// The alert that says why must arrive: what else the peer sends is thrown away until it closes.
  private mutating func failHandshake() -> ConnectionActions {
    guard input == .handshake else { return [] }
    closes = true
    return finishExchange()
  }

  private mutating func beginHead() -> ConnectionActions {
    if input == .idle, output == .nothing {
      input = .head
      isFresh = false
    }
    return []
  }

  private mutating func endHead(
    hasContent: Bool, keepsAlive: Bool, expectsContinue: Bool
  ) -> ConnectionActions {
    guard input == .head, output == .nothing else { return [] }
    input = hasContent ? .body : .complete
    output = .handling
    wait = .handler
    owesContinue = hasContent && expectsContinue
    wantsBody = false
    isPaused = false
    if !keepsAlive { closes = true }
    return [.offer]
  }

  private mutating func refuse() -> ConnectionActions {
    guard output == .nothing, input == .head || input == .idle else { return [] }
    input = .ended
    output = .sending
    closes = true
    return [.sendRefusal]
  }

  private mutating func bodyArrived() -> ConnectionActions {
    // RFC 9110 §10.1.1: content on its way makes the interim response superfluous.
    if input == .body { owesContinue = false }
    return []
  }

  private mutating func pause() -> ConnectionActions {
    if input == .body { isPaused = true }
    return []
  }

  private mutating func wantBody() -> ConnectionActions {
    guard input == .body else { return [] }
    wantsBody = true
    isPaused = false
    guard owesContinue, output == .handling else { return [.read] }
    owesContinue = false
    return [.sendContinue, .read]
  }

  private mutating func endBody() -> ConnectionActions {
    switch input {
    case .body:
      input = .complete
      owesContinue = false
      return [.endBody]
    case .discarding:
      input = .complete
      return output == .nothing ? finishExchange() : []
    default: return []
    }
  }

  private mutating func malformedBody() -> ConnectionActions {
    guard input == .body || input == .discarding else { return [] }
    closes = true
    let wasWanted = input == .body
    input = .ended
    if output == .nothing { return finishExchange() }
    return wasWanted ? [.failBody] : []
  }

  private mutating func beginResponse(closes: Bool, streams: Bool, canDiscard: Bool) -> ConnectionActions {
    guard output == .handling else { return [] }
    output = streams ? .streaming : .sending
    wait = .nothing
    if closes { self.closes = true }
    // A client that still waits for permission may send its content or not: the next request could not be
    // told from it.
    if input == .body, owesContinue || !canDiscard { self.closes = true }
    owesContinue = false
    return []
  }

  private mutating func endResponse(isInputRead: Bool) -> ConnectionActions {
    guard output == .sending else { return [] }
    output = .nothing
    wait = .nothing
    // Closing with bytes unread would reset the connection, and the response with it.
    if closes, isInputRead, input == .complete { return close() }
    if closes { return finishExchange() }
    switch input {
    case .body:
      input = .discarding
      isPaused = false
      return [.failBody, .read]
    case .discarding: return []
    default: return finishExchange()
    }
  }

  /// The response is out and the request is read, or will not be.
  private mutating func finishExchange() -> ConnectionActions {
    if closes {
      let body: ConnectionActions = input == .body ? [.failBody] : []
      if peerHasEnded { return body.union(close()) }
      input = .ended
      isLingering = true
      return body.union([.linger])
    }
    input = .idle
    return [.read]
  }

  private mutating func endPeer() -> ConnectionActions {
    guard !peerHasEnded else { return [] }
    peerHasEnded = true
    if output == .nothing { return close() }
    closes = true
    let isRequestComplete = input != .body
    input = .ended
    // It may have said all that it had to say, and want the answer.
    return isRequestComplete ? [] : cancelHandler().union(.failBody)
  }

  private mutating func cancelHandler() -> ConnectionActions {
    guard hasHandler, !isHandlerCancelled else { return [] }
    isHandlerCancelled = true
    return [.cancelHandler]
  }

  private mutating func abandon() -> ConnectionActions {
    var actions: ConnectionActions = []
    if input == .body { actions.insert(.failBody) }
    if hasHandler { actions.insert(.cancelHandler) }
    return actions.union(close())
  }

  private mutating func deadlinePassed() -> ConnectionActions {
    switch deadline {
    case .none: return []
    case .handshake, .idle, .linger: return close()
    case .head: return refuse()
    case .send, .storage: return abandon()
    case .departure: return cancelHandler()
    case .body:
      if input == .discarding { return close() }
      input = .ended
      closes = true
      return [.failBody]
    }
  }

  private mutating func beginDrain() -> ConnectionActions {
    closes = true
    guard output == .nothing else { return [] }
    switch input {
    // A client that has connected and not had an answer yet is still to get one.
    case .idle: return isFresh ? [] : close()
    case .discarding: return finishExchange()
    default: return []
    }
  }

  private mutating func close() -> ConnectionActions {
    isClosed = true
    isLingering = false
    wait = .nothing
    output = .nothing
    input = .ended
    return [.close]
  }
}
