import CoreTypes
internal import Synchronization

/// One request on its way between a loop and the task of its handler. Both sides touch it, under its lock and
/// never for long. What changes for the loop is reported to the ``ExchangeObserver``.
final class Exchange: Sendable {
  /// Which connection of the loop it belongs to.
  let tag: ConnectionTag
  private let observer: any ExchangeObserver
  /// Bytes of a long body that may wait for its reader: with each look it finds as many as are worth the way to another thread.
  static let longBodyLimit = 1_048_576
  private let bodyLimit: Int
  private let streamLimit: Int
  /// RFC 9110 §15.2: no interim responses to HTTP/1.0.
  private let allowsInterim: Bool
  private let state = Mutex(ExchangeState())

  init(
    tag: ConnectionTag, observer: any ExchangeObserver, bodyLimit: Int, streamLimit: Int,
    allowsInterim: Bool = true
  ) {
    self.tag = tag
    self.observer = observer
    self.bodyLimit = bodyLimit
    self.streamLimit = streamLimit
    self.allowsInterim = allowsInterim
  }

  // MARK: The loop's side

  /// Adds content; false when so much waits now that the socket should rest. The reader of a long body is not woken by it but by
  /// ``announceBody()``, so that it finds all that has come.
  func appendBody(_ bytes: Span<UInt8>, isLong: Bool) -> Bool {
    let (hasRoom, waiter) = state.locked { state in
      let isLong = isLong && !state.isBodyCollected
      if isLong, !state.body.isEmpty, state.body.capacity < state.body.count + bytes.count {
        state.body.reserveCapacity(Self.longBodyLimit + bytes.count)
      }
      unsafe bytes.withUnsafeBufferPointer { unsafe state.body.append(contentsOf: $0) }
      let limit = isLong ? max(bodyLimit, Self.longBodyLimit) : bodyLimit
      return (state.body.count < limit, isLong ? nil : state[.body].take())
    }
    waiter?.resume()
    return hasRoom
  }

  /// Wakes the reader, which there may be none of now.
  func announceBody() {
    state.locked { $0[.body].take() }?.resume()
  }

  /// No more content follows: nil, it is complete.
  func endBody(_ error: RequestBodyError?) {
    let waiter = state.locked { state in
      if state.bodyEnd == nil { state.bodyEnd = error.map { .failed($0) } ?? .complete }
      return state[.body].take()
    }
    waiter?.resume()
  }

  /// The peer may not want the answer any more: cancels the handler's task. An answer it still gives is sent.
  func cancel() {
    let (task, postponement) = state.locked { state in
      state.isCancelled = true
      return (state.task, state.postponement)
    }
    task?.cancel()
    postponement?.cancel()
  }

  /// The connection is gone, or done with this request: whatever waits is woken, the handler's task is
  /// cancelled.
  func abandon() {
    let (reader, writer, task, postponement) = state.locked { state in
      state.isAbandoned = true
      state.isCancelled = true
      if state.bodyEnd == nil { state.bodyEnd = .failed(RequestBodyError(.connectionClosed)) }
      return (state[.body].take(), state[.write].take(), state.task, state.postponement)
    }
    reader?.resume()
    writer?.resume()
    task?.cancel()
    postponement?.cancel()
  }

  /// The handler is about to be asked, for the first time or again; answers the number of that run.
  func beginRun() -> Int {
    state.locked { state in
      state.postponement = nil
      state.runs += 1
      return state.runs
    }
  }

  /// The task of that run: cancelled with the exchange, even where that came first. A client that did not want to wait any longer may
  /// still want the answer, which is given then: a run that follows is cancelled only where the client has gone.
  func belongs(to task: Task<Void, Never>, inRun run: Int) {
    let isCancelled = state.locked { state in
      guard state.runs == run else { return false }
      // One that has ended already is not kept.
      if state.postponement == nil { state.task = task }
      return run == 1 ? state.isCancelled : state.isAbandoned
    }
    if isCancelled { task.cancel() }
  }

  /// Returns the changes since the last call.
  func collectUpdate() -> ExchangeUpdate {
    state.locked { state in
      state.isPosted = false
      let update = ExchangeUpdate(
        wantsBody: state.wantsBody, interim: state.interim, response: state.response.take(),
        hasStreamed: state.streamed.isEmpty == false,
        streamEnd: state.streamEnd)
      state.wantsBody = false
      state.interim = []
      return update
    }
  }

  /// The bytes a streaming handler has written since the last call; its writer goes on.
  func collectStreamedBytes() -> [UInt8] {
    let (bytes, waiter) = state.locked { state in
      let bytes = state.streamed
      state.streamed = []
      return (bytes, state[.write].take())
    }
    waiter?.resume()
    return bytes
  }

  // MARK: The handler's side

  /// The body is to be kept in memory, within a bound that its reader waits for: no more of it waits here than of a short one.
  func collectBody() {
    state.locked { $0.isBodyCollected = true }
  }

  func nextBodyBytes() async throws(RequestBodyError) -> [UInt8]? {
    while true {
      // Asked first: a body that broke off cancels the task after its error was put down, and the error goes
      // first.
      let isCancelled = Task.isCancelled
      switch readBody() {
      case .bytes(let bytes): return bytes
      case .end: return nil
      case .failed(let error): throw error
      case .wait:
        if isCancelled { throw RequestBodyError(.cancelled) }
        await waitForBody()
      }
    }
  }

  /// Returns the content that has come since the last call, or why there is none. Does not wait.
  func readBody() -> ExchangeState.BodyStep {
    let (step, posts) = state.locked { $0.nextBody() }
    if posts { observer.exchangeDidChange(self) }
    return step
  }

  func sendInterim(_ bytes: [UInt8]) {
    guard allowsInterim else { return }
    if state.locked({ $0.acceptInterim(bytes, limit: streamLimit) }) { observer.exchangeDidChange(self) }
  }

  func write(_ bytes: [UInt8]) async throws(ResponseWriterError) {
    guard !bytes.isEmpty else { return }
    try append(bytes)
    while true {
      let (isGone, isFull) = state.locked { ($0.isAbandoned, $0.streamed.count >= streamLimit) }
      if isGone { throw ResponseWriterError(.peerGone) }
      if Task.isCancelled { throw ResponseWriterError(.cancelled) }
      guard isFull else { return }
      await wait(.write) { $0.isAbandoned || $0.streamed.count < self.streamLimit }
    }
  }

  /// Hands over bytes of a stream; does not wait for room.
  func append(_ bytes: [UInt8]) throws(ResponseWriterError) {
    let verdict = state.locked { $0.accept(bytes) }
    switch verdict {
    case .gone: throw ResponseWriterError(.peerGone)
    case .tooMany: throw ResponseWriterError(.tooManyBytes)
    case .accepted(let posts):
      if posts { observer.exchangeDidChange(self) }
    }
  }

  /// Hands over the response; a stream's bytes follow.
  func answer(_ response: HTTPResponse) {
    var length: Int64?
    if case .stream(let contentLength, _) = response.body { length = contentLength }
    let posts = state.locked { state in
      state.response = response
      state.hasAnswered = true
      state.streamRemaining = length
      return state.postOnce()
    }
    if posts { observer.exchangeDidChange(self) }
  }

  /// No more bytes of the stream follow.
  func endStream(_ end: ExchangeState.StreamEnd) {
    let posts = state.locked { state in
      // One that ends short of its announced length is as broken as one whose producer throws.
      state.streamEnd = (state.streamRemaining ?? 0) > 0 ? .failed : end
      return state.postOnce()
    }
    if posts { observer.exchangeDidChange(self) }
  }

  /// Runs `respond`, the handler, to the end of its response. Answers what is to be waited for before it is asked again, where it
  /// has postponed that.
  func run(
    _ request: HTTPRequest, respond: @Sendable (HTTPRequest) async -> HTTPResponse
  ) async -> (any ResponsePostponement)? {
    let response = await respond(request)
    if let postponement = response.postponement {
      let isCancelled = state.locked { state in
        (state.task, state.postponement) = (nil, postponement)
        return state.isCancelled
      }
      if isCancelled { postponement.cancel() }
      return postponement
    }
    answer(response)
    guard case .stream(_, let produce) = response.body, request.method != .head,
      !response.status.forbidsContent
    else { return nil }
    do {
      try await produce(ResponseWriter(self))
      endStream(.complete)
    } catch {
      endStream(.failed)
    }
    return nil
  }

  private func waitForBody() async {
    await wait(.body) { !$0.body.isEmpty || $0.bodyEnd != nil }
  }

  /// Sleeps until the continuation at `place` is resumed, or not at all when `condition` holds already.
  /// Cancelling the task resumes it.
  private func wait(
    _ place: ExchangeState.Waiter,
    unless condition: @escaping @Sendable (borrowing ExchangeState) -> Bool
  ) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let resumesNow = state.locked { state in
          if condition(state) || Task.isCancelled || state[place] != nil { return true }
          state[place] = continuation
          return false
        }
        if resumesNow { continuation.resume() }
      }
    } onCancel: {
      state.locked { $0[place].take() }?.resume()
    }
  }
}

/// Is told, on any thread, when an exchange has something for its loop: once until the loop has collected it.
protocol ExchangeObserver: AnyObject, Sendable {
  func exchangeDidChange(_ exchange: Exchange)
}
