internal import SystemCalls

/// Responses of handlers, what their streams bring, and what follows from what was sent.
extension ClientConnection {
  /// Content left unread by a handler that is read and dropped rather than the connection closed.
  private static let discardLimit: Int64 = 65_536

  /// Sends on, and goes on with input when the response is out.
  mutating func continueOutput(through line: some ConnectionLine, with services: inout LoopServices) {
    if advanceOutput(through: line, with: &services) { continueInput(through: line, with: &services) }
  }

  /// Sends on; true when the response is out and input may go on.
  mutating func advanceOutput(
    through line: some ConnectionLine, with services: inout LoopServices
  ) -> Bool {
    switch send(through: line, with: &services) {
    case .sent:
      _ = machine.handle(.outputWaits(.nothing))
      if machine.output == .streaming { _ = machine.handle(.streamEnded) }
      guard machine.output == .sending else { return false }
      isTouched = true
      let isInputRead = self.isInputRead
      endMetering()
      endRecord(isComplete: true, with: &services)
      let reads = perform(
        machine.handle(.responseSent(isInputRead: isInputRead)), through: line, with: &services)
      if !machine.isClosed { dropExchange() }
      return reads
    case .blocked: _ = machine.handle(.outputWaits(.socket))
    case .yielded:
      _ = machine.handle(.outputWaits(.turn))
      wantsTurn = true
    case .waiting: _ = machine.handle(.outputWaits(.handler))
    case .fetching: _ = machine.handle(.outputWaits(.pages))
    case .broken: abandon(through: line, with: &services)
    }
    return false
  }

  /// Whether the client can have sent nothing that would be lost unread. A session's end has to be read, and a
  /// body with a meter stays within reach of ``EventLoop/abortBodies(meteredBy:)`` while the kernel sends it.
  private var isInputRead: Bool {
    mutating get { isLastRequest && input.isEmpty && !mayReceive && !isMetered && !tls.isActive }
  }

  /// Goes on with a response whose pages are there; one whose pages cannot be read cannot be completed.
  mutating func receivePages(
    failure: SystemError?, through line: some ConnectionLine, with services: inout LoopServices
  ) {
    didFetch(at: services.now)
    if failure != nil { return abandon(through: line, with: &services) }
    continueOutput(through: line, with: &services)
  }

  /// Notes what was read ahead, and goes on with a response that has come so far meanwhile.
  mutating func receivePagesAhead(
    failure: SystemError?, through line: some ConnectionLine, with services: inout LoopServices
  ) {
    if didReadAhead(at: services.now, isThere: failure == nil) {
      receivePages(failure: failure, through: line, with: &services)
    }
  }

  /// Acts on what has changed for an exchange.
  mutating func process(
    _ changed: Exchange, through line: some ConnectionLine, with services: inout LoopServices
  ) {
    guard exchange === changed else { return }
    let update = changed.collectUpdate()
    if !update.interim.isEmpty { sendInterim(update.interim, through: line, with: &services) }
    if machine.isClosed { return }
    var reads = false
    if update.wantsBody { reads = perform(machine.handle(.bodyWanted), through: line, with: &services) }
    if machine.isClosed { return }
    if let response = update.response {
      respond(
        with: response, isHead: isHead, minorVersion: minorVersion, through: line, with: &services)
      reads = true
    }
    if machine.output == .streaming, update.hasStreamed || update.streamEnd != nil {
      output.streamEnd = update.streamEnd
      if advanceOutput(through: line, with: &services) { reads = true }
    }
    if reads { takeTurn(through: line, with: &services) }
  }

  /// Begins the response of an async handler. Input is left to the caller.
  mutating func respond(
    with response: HTTPResponse, isHead: Bool, minorVersion: UInt8, through line: some ConnectionLine,
    with services: inout LoopServices
  ) {
    if response.isAbandonment, machine.peerHasEnded { return abandon(through: line, with: &services) }
    var streams = false
    var endsByClosing = false
    if case .stream(let length, _) = response.body, !isHead, !response.status.forbidsContent {
      streams = true
      endsByClosing = length == nil && minorVersion == 0
    }
    let left = isChunked ? Int64.max : bodyCount
    // A client that is told to come back later would keep the place of one that could be served meanwhile.
    let isPutOff = services.context.isCrowded && response.headers["Retry-After"] != nil
    _ = machine.handle(
      .responseBegan(
        closes: endsByClosing || response.closesConnection || isPutOff, streams: streams,
        canDiscard: left <= Self.discardLimit))
    put(response, isHead: isHead, minorVersion: minorVersion, through: line, with: &services)
    _ = advanceOutput(through: line, with: &services)
  }

  /// RFC 6797 §7.2: never over plain HTTP.
  mutating func strictTransportSeconds(with services: borrowing LoopServices) -> Int64? {
    tls.isActive ? services.context.strictTransportSeconds : nil
  }

  /// Makes a response ready for sending.
  mutating func put(
    _ response: HTTPResponse, isHead: Bool, minorVersion: UInt8, through line: some ConnectionLine,
    with services: inout LoopServices
  ) {
    let head = EncodedResponseHead(
      response, date: services.date, closes: machine.closes, minorVersion: minorVersion,
      strictTransportSeconds: strictTransportSeconds(with: services))
    var next = OutputState()
    // An interim response may not be out yet.
    next.bytes = Array(output.bytes.dropFirst(output.sent)) + head.bytes
    next.bodyStart = next.bytes.count
    recordResponse(response.status, headLength: next.bytes.count, with: services)
    recordClient(response.client, with: services)
    meter = nil
    pace(bytesPerSecond: response.pacing ?? .max, through: line)
    if !isHead, !response.status.forbidsContent {
      switch response.body {
      case .none: break
      case .bytes(let bytes): next.bytes += bytes
      case .file(let file, let range, let meter):
        self.file = file
        self.meter = meter
        next.beginFile(range)
      case .parts(let parts, let meter):
        self.meter = meter
        next.parts = parts.reversed()
      case .stream(let length, _):
        next.isStream = true
        next.isChunked = length == nil && minorVersion > 0
      }
    }
    output = next
    if output.hasMoreThanBytes { beginMetering() }
  }

  /// Sends an interim response, if the final one has not begun.
  mutating func sendInterim(
    _ bytes: [UInt8], through line: some ConnectionLine, with services: inout LoopServices
  ) {
    guard machine.output == .handling else { return }
    let waiting = output.bytes.count - output.sent
    // A peer that takes none of them does not need to know.
    guard waiting + bytes.count <= services.context.configuration.streamBufferLength else { return }
    output.bytes = Array(output.bytes.dropFirst(output.sent)) + bytes
    output.sent = 0
    output.bodyStart = Int.max
    _ = advanceOutput(through: line, with: &services)
  }
}
