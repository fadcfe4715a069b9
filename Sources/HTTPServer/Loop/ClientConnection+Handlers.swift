internal import CLinux
internal import CoreTypes
internal import Glibc
import HTTPParsing
internal import SystemCalls

/// Requests on their way to the handlers.
extension ClientConnection {
  /// Bytes of a file that are copied into a response rather than sent by sendfile(2), which costs more below
  /// this.
  static let copiedLength = 8192

  /// Asks the inline handler; true when it has answered.
  mutating func answerInline(
    _ bytes: Span<UInt8>, through line: some ConnectionLine, with services: inout LoopServices
  ) -> Bool {
    guard let dispatcher = services.dispatcher else { return false }
    var response = unsafe InlineResponse(
      base: services.sendScratch.base, capacity: services.sendScratch.capacity, date: services.date,
      isHead: services.parser.head.method == .head, minorVersion: services.parser.head.minorVersion,
      closes: machine.closes, strictTransportSeconds: strictTransportSeconds(with: services),
      requestIdentifier: services.records[record].identifier, peer: peer, file: file.take(),
      meter: meter.take())
    let outcome = dispatcher.respond(
      tag.index, head: services.parser.head, bytes: bytes, response: &response)
    file = response.file.take()
    meter = response.meter.take()
    guard outcome == .answered else { return false }
    guard response.state == .finished else {
      respond(
        with: services.context.configuration.refusal(.internalServerError), isHead: false, minorVersion: 1,
        through: line, with: &services)
      return true
    }
    _ = machine.handle(.responseBegan(closes: response.closes, streams: false, canDiscard: true))
    pace(bytesPerSecond: response.pacing, through: line)
    var count = response.count
    var hasFile = false
    switch response.content {
    case .none: break
    case .file(let range):
      hasFile = readCached(range, count: &count, with: services)
      if !hasFile {
        beginMetering()
        output.beginFile(range)
      }
    case .parts(let parts):
      beginMetering()
      output.parts = parts.reversed()
    }
    recordResponse(response.status, headLength: response.headLength, with: services)
    recordClient(response.client, with: services)
    sendScratch(
      count: count, headLength: response.headLength, hasFile: hasFile, through: line, with: &services)
    return true
  }

  /// Reads a small part of the connection's file behind the `count` bytes in the send scratch, so that head
  /// and content leave with one system call. False, and nothing read, unless all of it is small enough, there and in
  /// the page cache.
  private mutating func readCached(
    _ range: Range<Int64>, count: inout Int, with services: borrowing LoopServices
  ) -> Bool {
    let length = Int(range.upperBound - range.lowerBound)
    guard length <= min(Self.copiedLength, services.sendScratch.capacity - count), let file else {
      return false
    }
    let held = file.presence?.hold(range) ?? range.upperBound
    defer { file.presence?.release(range.lowerBound..<held) }
    guard held == range.upperBound,
      unsafe clinux_read_cached(
        file.descriptor.number, services.sendScratch.base + count, length, off_t(range.lowerBound)) == length
    else { return false }
    count += length
    return true
  }

  /// Sends the response that lies in the send scratch; only what the socket does not take at once is copied.
  /// `hasFile`: what lies behind the head is the body that the connection's meter counts.
  private mutating func sendScratch(
    count: Int, headLength: Int, hasFile: Bool, through line: some ConnectionLine,
    with services: inout LoopServices
  ) {
    let more = output.hasMoreThanBytes
    var taken = 0
    do {
      let base = unsafe services.sendScratch.base
      taken = try unsafe transmit(base, count: count, more: more, through: line) ?? 0
    } catch {
      return abandon(through: line, with: &services)
    }
    recordSent(taken, isHeldBack: more || taken == 0, with: &services)
    services.turn.bytes -= taken
    if hasFile, let meter {
      if taken == count {
        meter.didSendAtOnce(taken - headLength)
      } else {
        beginMetering()
        if taken > headLength { meter.didSend(taken - headLength) }
      }
    }
    if taken < count {
      let rest = unsafe UnsafeBufferPointer(start: services.sendScratch.base + taken, count: count - taken)
      output.bytes = unsafe Array(rest)
      output.sent = 0
      output.bodyStart = max(0, headLength - taken)
    }
    // The caller's loop goes on with input.
    _ = advanceOutput(through: line, with: &services)
  }

  /// Makes a request ready for the async handler.
  mutating func deferToAsyncHandler(
    _ bytes: Span<UInt8>, content: RequestContent, through line: some ConnectionLine,
    with services: inout LoopServices
  ) {
    let configuration = services.context.configuration
    isHead = services.parser.head.method == .head
    minorVersion = services.parser.head.minorVersion
    isChunked = content == .chunked
    bodyCount = 0
    switch content {
    case .none: break
    case .length(let count): bodyCount = count
    case .chunked: chunks = ChunkedBodyParser(lineLimit: configuration.maximumChunkLineLength)
    }
    // Before anything is allocated for it: loops read faster than tasks begin.
    guard services.context.requests.waitingCount < configuration.maximumWaitingRequests,
      // Twice as many as there are connections: those that are gone may still have handlers, and so may the last requests
      // of those that are here.
      services.context.requests.runningCount < 2 * configuration.maximumConnections
    else {
      return refuseToWait(through: line, with: &services)
    }
    let exchange = Exchange(
      tag: tag, observer: services.mailbox, bodyLimit: configuration.bodyBufferLength,
      streamLimit: configuration.streamBufferLength, allowsInterim: minorVersion > 0)
    if content == .none { exchange.endBody(nil) }
    let request: HTTPRequest
    do {
      request = try makeRequest(bytes, content: content, exchange: exchange, with: services)
    } catch {
      return respond(
        with: configuration.refusal(.badRequest), isHead: isHead, minorVersion: 1, through: line,
        with: &services)
    }
    self.exchange = exchange
    services.deferred = PendingRequest(exchange: exchange, request: request)
  }

  /// Tells the client of the request that was just read to come back later, on another connection.
  private mutating func refuseToWait(through line: some ConnectionLine, with services: inout LoopServices) {
    services.counters.add(Counter.refusals + HTTPServerStatistics.Refusal.waiting.rawValue)
    var refusal = services.unavailableResponse
    refusal.headers["Connection"] = "close"
    respond(with: refusal, isHead: isHead, minorVersion: minorVersion, through: line, with: &services)
  }

  private mutating func makeRequest(
    _ bytes: Span<UInt8>, content: RequestContent, exchange: Exchange, with services: borrowing LoopServices
  ) throws(RequestTargetError) -> HTTPRequest {
    var headers = HTTPFields()
    for position in 0..<services.parser.head.fieldCount {
      let field = services.parser.head.field(at: position)
      headers.append(name: Self.text(bytes, at: field.name), value: Self.text(bytes, at: field.value))
    }
    let expectedLength: ByteCount? =
      switch content {
      case .none: .zero
      case .length(let count): ByteCount(count)
      case .chunked: nil
      }
    var request = try HTTPRequest(
      method: HTTPMethod(rawValue: Self.text(bytes, at: services.parser.head.methodPosition)),
      rawTarget: Self.text(bytes, at: services.parser.head.target), headers: headers,
      body: RequestBody(exchange, expectedLength: expectedLength),
      id: AccessRecord.text(of: services.records[record].identifier),
      undividedPaths: services.context.configuration.undividedPaths)
    request.exchange = exchange
    request.peer = peer
    if services.context.configuration.readsPeerCredentials, peer.family == .unix {
      request.credentials = PeerCredentials(of: descriptor, accepted: accepted)
    }
    request.isSecure = tls.isActive
    return request
  }

  private static func text(_ bytes: Span<UInt8>, at range: Range<Int>) -> String {
    unsafe bytes.extracting(range).withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
  }
}
