internal import CLinux
internal import CoreTypes
internal import Glibc

extension EventLoop {
  mutating func wake(_ index: Int, events: UInt32) {
    if events & EPOLLERR.rawValue != 0 { return abandon(index) }
    // Both sides have ended, or a Unix peer is gone. In the first case the response may still be on its way,
    // and closing with bytes unread would reset it: they are read to their end first.
    if events & EPOLLHUP.rawValue != 0, !table[index].machine.isLingering { return abandon(index) }
    if events & EPOLLRDHUP.rawValue != 0 { table[index].readsToEnd = true }
    if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 { table[index].mayReceive = true }
    if table[index].tls.isActive, !wakeSecure(index, events: events) { return }
    if events & EPOLLOUT.rawValue != 0, table[index].machine.wait == .socket { continueOutput(index) }
    takeTurn(index)
  }

  /// Goes on with a request at once, with content after the requests of this turn.
  mutating func takeTurn(_ index: Int) {
    guard !table[index].machine.isClosed else { return }
    if table[index].machine.takesContent { makeReady(index) } else { continueInput(index) }
  }

  /// Parses what can be parsed, what is buffered and then what the socket has, until its turn is over.
  mutating func continueInput(_ index: Int) {
    repeat {
      guard !table[index].machine.isClosed else { return }
      if !table[index].input.isEmpty, table[index].machine.acceptsInput {
        feedBuffered(index)
        if table[index].machine.isClosed { return }
        // What is left is parsed before more is received.
        if services.isTurnOver { break }
      }
      let acceptsInput = table[index].machine.acceptsInput
      // While a handler works, one look ahead shows whether its peer is still there.
      guard acceptsInput || (table[index].input.isEmpty && table[index].machine.watchesPeer) else { return }
      guard table[index].mayReceive else { return }
      let limit = receiveLimit(index, acceptsInput: acceptsInput)
      let place = table.place(index)
      switch place.connection.receive(through: place.connection.line, upTo: limit, with: &services) {
      case .bytes(let count):
        feedReceived(index, count: count)
        // Nothing is left to be done now: that is so after nearly every request.
        if table[index].input.isEmpty, !table[index].mayReceive { return }
      case .nothing: return
      case .handshakeEnded: endHandshake(index)
      case .ended:
        let actions = table[index].machine.handle(.peerEnded)
        if perform(actions, on: index) { continue }
        return
      case .broken: return abandon(index)
      case .refused: _ = perform(table[index].machine.handle(.handshakeFailed), on: index)
      }
    } while !services.isTurnOver
    if !table[index].machine.isClosed { makeReady(index) }
  }

  /// What comes of a body waits in memory until there is room for it: long parts are for long bodies alone, of which few have
  /// come so far that nothing holds them up.
  private mutating func receiveLimit(_ index: Int, acceptsInput: Bool) -> Int {
    guard acceptsInput else { return limits.headLength }
    let isLong =
      table[index].machine.input == .body
      && table[index].received - table[index].bodyBegan >= EventLoop.longBody
    return isLong
      ? services.receiveScratch.capacity : min(services.receiveScratch.capacity, EventLoop.shortReception)
  }

  private mutating func feedReceived(_ index: Int, count: Int) {
    let received = unsafe UnsafeBufferPointer(start: services.receiveScratch.base, count: count)
    if table[index].input.isEmpty {
      var used = 0
      if table[index].machine.acceptsInput {
        used = feed(index, bytes: unsafe Span(_unsafeElements: received))
      }
      if used < count, !table[index].machine.isClosed {
        unsafe table[index].input.append(contentsOf: received[used...])
      }
    } else {
      unsafe table[index].input.append(contentsOf: received)
    }
  }

  private mutating func feedBuffered(_ index: Int) {
    let buffered = table[index].input
    table[index].input = []
    let used = feed(index, bytes: buffered.span)
    guard used < buffered.count, !table[index].machine.isClosed else { return }
    table[index].input = used == 0 ? buffered : Array(buffered[used...])
  }

  /// Parses requests and content as long as the connection accepts them; returns the number of bytes
  /// consumed.
  private mutating func feed(_ index: Int, bytes: Span<UInt8>) -> Int {
    defer { beginDeferred() }
    var used = 0
    let first = table[index].requests
    while used < bytes.count, !table[index].machine.isClosed, table[index].machine.acceptsInput,
      // One request is always answered, and nearly every connection has one at a time.
      table[index].requests == first || !services.isTurnOver
    {
      let rest = bytes.extracting(used...)
      switch table[index].machine.input {
      case .idle, .head:
        resumeParser(index)
        if parser.isUntouched { _ = table[index].machine.handle(.bytesBeforeHead) }
        switch parser.parse(rest, limits: limits) {
        case .needsMore:
          suspendParser(index)
          return used
        case .invalid(let status):
          refuse(index, with: status)
          return bytes.count
        case .complete: used += headEnded(index, bytes: rest)
        }
      case .body, .discarding: used += feedBody(index, bytes: rest)
      // No bytes come before the handshake's end.
      case .handshake, .ended: return bytes.count
      case .complete: return used
      }
    }
    return used
  }

  /// Its handler finds what has come of the content so far, and need not ask the loop for it.
  private mutating func beginDeferred() {
    if let pending = deferred.take() { services.context.requests.begin(pending) }
  }

  /// Makes the loop's parser this connection's: where it stopped, or at the start of a request.
  private mutating func resumeParser(_ index: Int) {
    if let partial = table[index].partial.take() {
      parser = partial.parser.take() ?? RequestParser()
    } else {
      parser.reset()
    }
  }

  /// Puts the loop's parser aside until more of the head arrives.
  private mutating func suspendParser(_ index: Int) {
    var kept = RequestParser()
    swap(&kept, &parser)
    table[index].partial = SuspendedParser(kept)
  }

  /// Offers a complete request to the handlers; returns the length of its head.
  private mutating func headEnded(_ index: Int, bytes: Span<UInt8>) -> Int {
    let length = parser.head.length
    let content = parser.head.content
    table.place(index).connection.beginRecord(of: parser.head, bytes: bytes, with: &services)
    if case .length(let count) = content, count > services.context.configuration.maximumBodyLength.rawValue {
      refuse(index, with: .contentTooLarge)
      return bytes.count
    }
    table[index].isTouched = true
    table[index].requests += 1
    table[index].bodyBegan = table[index].received
    let isLast =
      table[index].requests >= services.context.configuration.maximumRequestsPerConnection || isDraining
    table[index].isLastRequest = !parser.head.keepsAlive
    let actions = table[index].machine.handle(
      .headEnded(
        hasContent: content != .none, keepsAlive: parser.head.keepsAlive && !isLast,
        expectsContinue: parser.head.expectsContinue))
    guard actions.contains(.offer) else { return bytes.count }
    if content == .none, answerInline(index, bytes: bytes) { return length }
    deferToAsyncHandler(index, bytes: bytes, content: content)
    return length
  }

  private mutating func feedBody(_ index: Int, bytes: Span<UInt8>) -> Int {
    table[index].isTouched = true
    _ = table[index].machine.handle(.bodyArrived)
    if table[index].isChunked { return feedChunks(index, bytes: bytes) }
    let count = Int(min(table[index].bodyCount, Int64(bytes.count)))
    table[index].bodyCount -= Int64(count)
    table[index].received += UInt64(count)
    table[index].recordReceived(count, with: services)
    appendBody(index, bytes: bytes.extracting(0..<count))
    if table[index].bodyCount == 0 { endBody(index) }
    return count
  }

  private mutating func feedChunks(_ index: Int, bytes: Span<UInt8>) -> Int {
    var position = 0
    while table[index].machine.acceptsInput {
      switch table[index].chunks.next(bytes, from: &position) {
      case .needsMore: return position
      case .bytes(let range):
        table[index].bodyCount += Int64(range.count)
        table[index].received += UInt64(range.count)
        table[index].recordReceived(range.count, with: services)
        guard table[index].bodyCount <= services.context.configuration.maximumBodyLength.rawValue else {
          failBody(index, because: .tooLarge)
          return bytes.count
        }
        appendBody(index, bytes: bytes.extracting(range))
      case .end:
        endBody(index)
        return position
      case .invalid:
        failBody(index, because: .malformedChunk)
        return bytes.count
      }
    }
    return position
  }

  private mutating func appendBody(_ index: Int, bytes: Span<UInt8>) {
    guard table[index].machine.input == .body, let exchange = table[index].exchange else { return }
    if !exchange.appendBody(bytes) { _ = table[index].machine.handle(.bodyBufferFilled) }
  }

  private mutating func endBody(_ index: Int) {
    // The caller's loop parses what follows in the buffer.
    _ = perform(table[index].machine.handle(.bodyEnded), on: index)
  }

  private mutating func failBody(_ index: Int, because code: RequestBodyError.Code) {
    _ = perform(table[index].machine.handle(.bodyMalformed), on: index, bodyError: code)
  }
}
