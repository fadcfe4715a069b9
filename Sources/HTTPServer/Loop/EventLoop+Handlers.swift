internal import CLinux
internal import CoreTypes
internal import Glibc
internal import SystemCalls

extension EventLoop {
  /// Asks the inline handler; true when it has answered.
  mutating func answerInline(_ index: Int, bytes: Span<UInt8>) -> Bool {
    guard let dispatcher else { return false }
    var response = unsafe InlineResponse(
      base: services.sendScratch.base, capacity: services.sendScratch.capacity, date: services.date,
      isHead: parser.head.method == .head, minorVersion: parser.head.minorVersion,
      closes: table[index].machine.closes, strictTransportSeconds: strictTransportSeconds(index),
      requestIdentifier: services.records[table[index].record].identifier, peer: table[index].peer,
      file: table[index].file.take(),
      meter: table[index].meter.take())
    let outcome = dispatcher.respond(
      index, head: parser.head, bytes: bytes, response: &response)
    table[index].file = response.file.take()
    table[index].meter = response.meter.take()
    guard outcome == .answered else { return false }
    guard response.state == .finished else {
      respond(
        index, with: services.context.configuration.refusal(.internalServerError), isHead: false,
        minorVersion: 1)
      return true
    }
    _ = table[index].machine.handle(
      .responseBegan(closes: response.closes, streams: false, canDiscard: true))
    table[index].pace(bytesPerSecond: response.pacing, through: table[index].line)
    var count = response.count
    var hasFile = false
    switch response.content {
    case .none: break
    case .file(let range):
      hasFile = readCached(index, range: range, count: &count)
      if !hasFile {
        table[index].beginMetering()
        table[index].output.beginFile(range)
      }
    case .parts(let parts):
      table[index].beginMetering()
      table[index].output.parts = parts
    }
    table[index].recordResponse(response.status, headLength: response.headLength, with: services)
    table[index].recordClient(response.client, with: services)
    sendScratch(index, count: count, headLength: response.headLength, hasFile: hasFile)
    return true
  }

  /// Reads a small part of the connection's file behind the `count` bytes in the send scratch, so that head
  /// and content leave with one system call. False, and nothing read, unless all of it is small enough and in
  /// the page cache.
  private mutating func readCached(_ index: Int, range: Range<Int64>, count: inout Int) -> Bool {
    let length = Int(range.upperBound - range.lowerBound)
    guard length <= min(EventLoop.copiedLength, services.sendScratch.capacity - count),
      let file = table[index].file,
      unsafe clinux_read_cached(
        file.descriptor.number, services.sendScratch.base + count, length, off_t(range.lowerBound)) == length
    else { return false }
    count += length
    return true
  }

  /// Sends the response that lies in the send scratch; only what the socket does not take at once is copied.
  /// `hasFile`: what lies behind the head is the body that the connection's meter counts.
  private mutating func sendScratch(_ index: Int, count: Int, headLength: Int, hasFile: Bool) {
    let more = table[index].output.hasMoreThanBytes
    var sent = 0
    do {
      let base = unsafe services.sendScratch.base
      sent = try unsafe table[index].transmit(base, count: count, more: more, through: table[index].line) ?? 0
    } catch {
      return abandon(index)
    }
    table.place(index).connection.recordSent(sent, isHeldBack: more || sent == 0, with: &services)
    if hasFile, let meter = table[index].meter {
      if sent == count {
        meter.didSendAtOnce(sent - headLength)
      } else {
        table[index].beginMetering()
        if sent > headLength { meter.didSend(sent - headLength) }
      }
    }
    if sent < count {
      let rest = unsafe UnsafeBufferPointer(start: services.sendScratch.base + sent, count: count - sent)
      table[index].output.bytes = unsafe Array(rest)
      table[index].output.sent = 0
      table[index].output.bodyStart = max(0, headLength - sent)
    }
    // The caller's loop goes on with input.
    _ = advanceOutput(index)
  }

  /// Makes a request ready for the async handler.
  mutating func deferToAsyncHandler(_ index: Int, bytes: Span<UInt8>, content: RequestContent) {
    let configuration = services.context.configuration
    table[index].isHead = parser.head.method == .head
    table[index].minorVersion = parser.head.minorVersion
    table[index].isChunked = content == .chunked
    table[index].bodyCount = 0
    switch content {
    case .none: break
    case .length(let count): table[index].bodyCount = count
    case .chunked: table[index].chunks = ChunkedBodyParser(lineLimit: configuration.maximumChunkLineLength)
    }
    // Before anything is allocated for it: loops read faster than tasks begin.
    guard services.context.requests.waitingCount < configuration.maximumWaitingRequests,
      // Twice as many as there are connections: those that are gone may still have handlers, and so may the last requests
      // of those that are here.
      services.context.requests.runningCount < 2 * configuration.maximumConnections
    else {
      return refuseToWait(index)
    }
    let exchange = Exchange(
      tag: table[index].tag, observer: services.mailbox,
      bodyLimit: configuration.bodyBufferLength, streamLimit: configuration.streamBufferLength,
      allowsInterim: parser.head.minorVersion > 0)
    if content == .none { exchange.endBody(nil) }
    let request: HTTPRequest
    do {
      request = try makeRequest(index, bytes: bytes, content: content, exchange: exchange)
    } catch {
      return respond(
        index, with: configuration.refusal(.badRequest), isHead: table[index].isHead, minorVersion: 1)
    }
    table[index].exchange = exchange
    deferred = PendingRequest(exchange: exchange, request: request)
  }

  /// Tells the client of the request that was just read to come back later, on another connection.
  private mutating func refuseToWait(_ index: Int) {
    services.counters.add(Counter.refusals + HTTPServerStatistics.Refusal.waiting.rawValue)
    var refusal = unavailableResponse()
    refusal.headers["Connection"] = "close"
    respond(
      index, with: refusal, isHead: table[index].isHead, minorVersion: table[index].minorVersion)
  }

  private func makeRequest(
    _ index: Int, bytes: Span<UInt8>, content: RequestContent, exchange: Exchange
  ) throws(RequestTargetError) -> HTTPRequest {
    var headers = HTTPFields()
    for position in 0..<parser.head.fieldCount {
      let field = parser.head.field(at: position)
      headers.append(
        name: EventLoop.text(bytes, at: field.name), value: EventLoop.text(bytes, at: field.value))
    }
    let expectedLength: ByteCount? =
      switch content {
      case .none: .zero
      case .length(let count): ByteCount(count)
      case .chunked: nil
      }
    var request = try HTTPRequest(
      method: HTTPMethod(rawValue: EventLoop.text(bytes, at: parser.head.methodPosition)),
      rawTarget: EventLoop.text(bytes, at: parser.head.target), headers: headers,
      body: RequestBody(exchange, expectedLength: expectedLength),
      id: AccessRecord.text(of: services.records[table[index].record].identifier),
      undividedPaths: services.context.configuration.undividedPaths)
    request.exchange = exchange
    request.peer = table[index].peer
    if services.context.configuration.readsPeerCredentials, request.peer.family == .unix {
      request.credentials = PeerCredentials(of: table[index].descriptor)
    }
    request.isSecure = table[index].tls.isActive
    return request
  }

  private static func text(_ bytes: Span<UInt8>, at range: Range<Int>) -> String {
    unsafe bytes.extracting(range).withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
  }
}
