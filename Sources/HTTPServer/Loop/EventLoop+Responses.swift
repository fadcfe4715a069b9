/// Responses of async handlers, and what their streams bring.
extension EventLoop {
  /// Content left unread by a handler that is read and dropped rather than the connection closed.
  private static let discardLimit: Int64 = 65_536

  /// Acts on what has changed for an exchange.
  mutating func process(_ exchange: Exchange) {
    let index = exchange.tag.index
    guard table[index].exchange === exchange else { return }
    let update = exchange.collectUpdate()
    if !update.interim.isEmpty { sendInterim(index, bytes: update.interim) }
    if table[index].machine.isClosed { return }
    var reads = false
    if update.wantsBody { reads = perform(table[index].machine.handle(.bodyWanted), on: index) }
    if table[index].machine.isClosed { return }
    if let response = update.response {
      respond(index, with: response, isHead: table[index].isHead, minorVersion: table[index].minorVersion)
      reads = true
    }
    if table[index].machine.output == .streaming, update.hasStreamed || update.streamEnd != nil {
      table[index].output.streamEnd = update.streamEnd
      if advanceOutput(index) { reads = true }
    }
    if reads { takeTurn(index) }
  }

  /// Begins the response of an async handler. Input is left to the caller.
  mutating func respond(_ index: Int, with response: HTTPResponse, isHead: Bool, minorVersion: UInt8) {
    var streams = false
    var endsByClosing = false
    if case .stream(let length, _) = response.body, !isHead, !response.status.forbidsContent {
      streams = true
      endsByClosing = length == nil && minorVersion == 0
    }
    let left = table[index].isChunked ? Int64.max : table[index].bodyCount
    // A client that is told to come back later would keep the place of one that could be served meanwhile.
    let isPutOff = services.context.isCrowded && response.headers["Retry-After"] != nil
    _ = table[index].machine.handle(
      .responseBegan(
        closes: endsByClosing || response.closesConnection || isPutOff, streams: streams,
        canDiscard: left <= EventLoop.discardLimit))
    put(response, on: index, isHead: isHead, minorVersion: minorVersion)
    _ = advanceOutput(index)
  }

  /// RFC 6797 §7.2: never over plain HTTP.
  func strictTransportSeconds(_ index: Int) -> Int64? {
    table[index].tls.isActive ? services.context.strictTransportSeconds : nil
  }

  /// Makes a response ready for sending.
  mutating func put(_ response: HTTPResponse, on index: Int, isHead: Bool, minorVersion: UInt8) {
    let head = EncodedResponseHead(
      response, date: services.date, closes: table[index].machine.closes, minorVersion: minorVersion,
      strictTransportSeconds: strictTransportSeconds(index))
    var output = OutputState()
    // An interim response may not be out yet.
    output.bytes = Array(table[index].output.bytes.dropFirst(table[index].output.sent)) + head.bytes
    output.bodyStart = output.bytes.count
    table[index].recordResponse(response.status, headLength: output.bytes.count, with: services)
    table[index].recordClient(response.client, with: services)
    table[index].meter = nil
    table[index].pace(bytesPerSecond: response.pacing ?? .max, through: table[index].line)
    if !isHead, !response.status.forbidsContent {
      switch response.body {
      case .none: break
      case .bytes(let bytes): output.bytes += bytes
      case .file(let file, let range, let meter):
        table[index].file = file
        table[index].meter = meter
        output.beginFile(range)
      case .parts(let parts, let meter):
        table[index].meter = meter
        output.parts = parts
      case .stream(let length, _):
        output.isStream = true
        output.isChunked = length == nil && minorVersion > 0
      }
    }
    table[index].output = output
    if output.hasMoreThanBytes { table[index].beginMetering() }
  }

  /// Sends an interim response, if the final one has not begun.
  mutating func sendInterim(_ index: Int, bytes: [UInt8]) {
    guard table[index].machine.output == .handling else { return }
    let waiting = table[index].output.bytes.count - table[index].output.sent
    // A peer that takes none of them does not need to know.
    guard waiting + bytes.count <= services.context.configuration.streamBufferLength else { return }
    table[index].output.bytes = Array(table[index].output.bytes.dropFirst(table[index].output.sent)) + bytes
    table[index].output.sent = 0
    table[index].output.bodyStart = Int.max
    _ = advanceOutput(index)
  }
}
