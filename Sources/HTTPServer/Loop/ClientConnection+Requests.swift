internal import CoreTypes
import HTTPParsing

/// Input within a turn: what has come is parsed, requests are offered to the handlers, content goes to theirs.
extension ClientConnection {
  /// Bytes that one receive may bring of a head, or of a body of which less than ``longBody`` has come.
  private static let shortReception = 16_384
  /// Bytes of a body.
  private static let longBody: UInt64 = 262_144

  /// The directions in which the socket is ready.
  struct Readiness: OptionSet {
    let rawValue: UInt8

    static let input = Readiness(rawValue: 1)
    static let output = Readiness(rawValue: 2)
    /// The peer has closed its sending half.
    static let lastInput = Readiness(rawValue: 4)
  }

  /// Goes on with what is possible now.
  mutating func wake(
    _ readiness: Readiness, through line: some ConnectionLine, with services: inout LoopServices
  ) {
    if readiness.contains(.lastInput) { readsToEnd = true }
    if !readiness.isDisjoint(with: [.input, .lastInput]) { mayReceive = true }
    if tls.isActive, !wakeSecure(readiness, through: line, with: &services) { return }
    if readiness.contains(.output), machine.wait == .socket { continueOutput(through: line, with: &services) }
    takeTurn(through: line, with: &services)
  }

  /// Goes on with a request at once, with content after the requests of this turn.
  mutating func takeTurn(through line: some ConnectionLine, with services: inout LoopServices) {
    guard !machine.isClosed else { return }
    if machine.takesContent { wantsTurn = true } else { continueInput(through: line, with: &services) }
  }

  /// Goes on where the last turn ended.
  mutating func resume(through line: some ConnectionLine, with services: inout LoopServices) {
    if machine.output != .nothing { continueOutput(through: line, with: &services) }
    if !machine.isClosed { continueInput(through: line, with: &services) }
  }

  /// Parses what can be parsed, what is buffered and then what the socket has, until its turn is over. What has come of a long
  /// body is its reader's then.
  mutating func continueInput(through line: some ConnectionLine, with services: inout LoopServices) {
    parseInput(through: line, with: &services)
    if holdsBodyBack {
      holdsBodyBack = false
      exchange?.announceBody()
    }
  }

  private mutating func parseInput(through line: some ConnectionLine, with services: inout LoopServices) {
    repeat {
      guard !machine.isClosed else { return }
      if !input.isEmpty, machine.acceptsInput {
        feedBuffered(through: line, with: &services)
        if machine.isClosed { return }
        // What is left is parsed before more is received.
        if services.isTurnOver { break }
      }
      let acceptsInput = machine.acceptsInput
      // While a handler works, one look ahead shows whether its peer is still there.
      guard acceptsInput || (input.isEmpty && machine.watchesPeer) else { return }
      guard mayReceive else { return }
      let limit = receiveLimit(acceptsInput: acceptsInput, with: services)
      switch receive(through: line, upTo: limit, with: &services) {
      case .bytes(let count):
        feedReceived(count: count, through: line, with: &services)
        // Nothing is left to be done now: that is so after nearly every request.
        if input.isEmpty, !mayReceive { return }
      case .nothing: return
      case .handshakeEnded: endHandshake(through: line, with: &services)
      case .ended:
        if perform(machine.handle(.peerEnded), through: line, with: &services) { continue }
        return
      case .broken: return abandon(through: line, with: &services)
      case .refused: _ = perform(machine.handle(.handshakeFailed), through: line, with: &services)
      }
    } while !services.isTurnOver
    if !machine.isClosed { wantsTurn = true }
  }

  /// Returns the largest number of bytes that one receive may bring. The received part of a body waits in
  /// memory until there is room for it. Long parts are therefore for long bodies alone, of which few have
  /// come so far that nothing holds them up.
  private mutating func receiveLimit(acceptsInput: Bool, with services: borrowing LoopServices) -> Int {
    guard acceptsInput else { return services.limits.headLength }
    let capacity = services.receiveScratch.capacity
    let isLong = machine.input == .body && received - bodyBegan >= Self.longBody
    return isLong ? capacity : min(capacity, Self.shortReception)
  }

  private mutating func feedReceived(
    count: Int, through line: some ConnectionLine, with services: inout LoopServices
  ) {
    let received = unsafe UnsafeBufferPointer(start: services.receiveScratch.base, count: count)
    if input.isEmpty {
      var used = 0
      if machine.acceptsInput {
        used = feed(unsafe Span(_unsafeElements: received), through: line, with: &services)
      }
      if used < count, !machine.isClosed {
        unsafe input.append(contentsOf: received[used...])
      }
    } else {
      unsafe input.append(contentsOf: received)
    }
  }

  private mutating func feedBuffered(through line: some ConnectionLine, with services: inout LoopServices) {
    let buffered = input
    input = []
    let used = feed(buffered.span, through: line, with: &services)
    guard used < buffered.count, !machine.isClosed else { return }
    input = used == 0 ? buffered : Array(buffered[used...])
  }

  /// Parses requests and content as long as the connection accepts them; returns the number of bytes
  /// consumed.
  private mutating func feed(
    _ bytes: Span<UInt8>, through line: some ConnectionLine, with services: inout LoopServices
  ) -> Int {
    defer { services.beginDeferred() }
    var used = 0
    let first = requests
    while used < bytes.count, !machine.isClosed, machine.acceptsInput,
      // One request is always answered, and nearly every connection has one at a time.
      requests == first || !services.isTurnOver
    {
      let rest = bytes.extracting(used...)
      switch machine.input {
      case .idle, .head:
        resumeParser(with: &services)
        if services.parser.isUntouched { _ = machine.handle(.bytesBeforeHead) }
        switch services.parser.parse(rest, limits: services.limits) {
        case .needsMore:
          suspendParser(with: &services)
          return used
        case .invalid(let refusal):
          refuse(with: HTTPStatus(refusal), through: line, with: &services)
          return bytes.count
        case .complete: used += endHead(rest, through: line, with: &services)
        }
      case .body, .discarding: used += feedBody(rest, through: line, with: &services)
      // No bytes come before the handshake's end.
      case .handshake, .ended: return bytes.count
      case .complete: return used
      }
    }
    return used
  }

  /// Makes the loop's parser this connection's: where it stopped, or at the start of a request.
  private mutating func resumeParser(with services: inout LoopServices) {
    if let partial = partial.take() {
      services.parser = partial.parser.take() ?? RequestParser()
    } else {
      services.parser.reset()
    }
  }

  /// Puts the loop's parser aside until more of the head arrives.
  private mutating func suspendParser(with services: inout LoopServices) {
    var kept = RequestParser()
    swap(&kept, &services.parser)
    partial = SuspendedParser(kept)
  }

  /// Offers a complete request to the handlers; returns the length of its head.
  private mutating func endHead(
    _ bytes: Span<UInt8>, through line: some ConnectionLine, with services: inout LoopServices
  ) -> Int {
    let length = services.parser.head.length
    let content = services.parser.head.content
    let keepsAlive = services.parser.head.keepsAlive
    beginRecord(of: bytes, with: &services)
    if case .length(let count) = content, count > services.context.configuration.maximumBodyLength.rawValue {
      refuse(with: .contentTooLarge, through: line, with: &services)
      return bytes.count
    }
    isTouched = true
    requests += 1
    bodyBegan = received
    let isLast =
      requests >= services.context.configuration.maximumRequestsPerConnection || services.isDraining
    isLastRequest = !keepsAlive
    let actions = machine.handle(
      .headEnded(
        hasContent: content != .none, keepsAlive: keepsAlive && !isLast,
        expectsContinue: services.parser.head.expectsContinue))
    guard actions.contains(.offer) else { return bytes.count }
    if content == .none, answerInline(bytes, through: line, with: &services) { return length }
    deferToAsyncHandler(bytes, content: content, through: line, with: &services)
    return length
  }

  private mutating func feedBody(
    _ bytes: Span<UInt8>, through line: some ConnectionLine, with services: inout LoopServices
  ) -> Int {
    isTouched = true
    _ = machine.handle(.bodyArrived)
    if isChunked { return feedChunks(bytes, through: line, with: &services) }
    let count = Int(min(bodyCount, Int64(bytes.count)))
    bodyCount -= Int64(count)
    received += UInt64(count)
    recordReceived(count, with: services)
    appendBody(bytes.extracting(0..<count))
    if bodyCount == 0 { endBody(through: line, with: &services) }
    return count
  }

  private mutating func feedChunks(
    _ bytes: Span<UInt8>, through line: some ConnectionLine, with services: inout LoopServices
  ) -> Int {
    var position = 0
    while machine.acceptsInput {
      switch chunks.next(bytes, from: &position) {
      case .needsMore: return position
      case .bytes(let range):
        bodyCount += Int64(range.count)
        received += UInt64(range.count)
        recordReceived(range.count, with: services)
        guard bodyCount <= services.context.configuration.maximumBodyLength.rawValue else {
          failBody(because: .tooLarge, through: line, with: &services)
          return bytes.count
        }
        appendBody(bytes.extracting(range))
      case .end:
        endBody(through: line, with: &services)
        return position
      case .invalid:
        failBody(because: .malformedChunk, through: line, with: &services)
        return bytes.count
      }
    }
    return position
  }

  private mutating func appendBody(_ bytes: Span<UInt8>) {
    guard machine.input == .body, let exchange else { return }
    // Of what came before, its handler has read all that had no room.
    let isLong = received - bodyBegan >= Self.longBody + UInt64(bytes.count)
    if !exchange.appendBody(bytes, isLong: isLong) { _ = machine.handle(.bodyBufferFilled) }
    holdsBodyBack = isLong
  }

  private mutating func endBody(through line: some ConnectionLine, with services: inout LoopServices) {
    // The caller's loop parses what follows in the buffer.
    _ = perform(machine.handle(.bodyEnded), through: line, with: &services)
  }

  private mutating func failBody(
    because code: RequestBodyError.Code, through line: some ConnectionLine, with services: inout LoopServices
  ) {
    _ = perform(machine.handle(.bodyMalformed), through: line, with: &services, bodyError: code)
  }
}

extension LoopServices {
  /// Its handler finds what has come of the content so far, and need not ask the loop for it.
  fileprivate mutating func beginDeferred() {
    if let pending = deferred.take() { context.requests.begin(pending) }
  }
}
