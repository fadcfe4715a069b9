import HTTPParsing

/// Counts and records of each request.
extension ClientConnection {
  /// A request begins whose head was refused.
  mutating func beginRecord(with services: inout LoopServices) {
    let place = placeRecord(with: &services)
    guard services.unownedRing != nil else { return }
    services.records[place].method = .other
    services.records[place].clearPath()
  }

  /// A request begins: its head, which the parser has just read in `bytes`, is complete.
  mutating func beginRecord(of bytes: Span<UInt8>, with services: inout LoopServices) {
    let place = placeRecord(with: &services)
    guard services.unownedRing != nil else { return }
    services.records[place].method = services.parser.head.method
    services.records[place].setPath(bytes, at: services.parser.head.path)
  }

  private mutating func placeRecord(with services: inout LoopServices) -> Int32 {
    services.sequence += 1
    let place = isRecording ? record : services.records.allocate()
    record = place
    awaitsFirstByte = false
    recordStart = services.now
    bodyFrom = .max
    services.records[place].identifier = services.sequence << 8 | UInt64(services.number)
    services.records[place].status = 0
    services.records[place].isComplete = false
    services.records[place].timeToFirstByte = 0
    services.records[place].bytesReceived = 0
    if services.unownedRing != nil {
      services.records[place].start = services.timestamp
      services.records[place].peer = peer
    }
    return place
  }

  /// A final response is about to be sent; `headLength` bytes come before its content.
  mutating func recordResponse(_ status: HTTPStatus, headLength: Int, with services: borrowing LoopServices) {
    services.counters.add(Counter.responses(status.rawValue))
    services.counters.add(Counter.responsesBegun)
    guard isRecording else { return }
    services.records[record].status = UInt16(truncatingIfNeeded: status.rawValue)
    bodyFrom = sent + UInt64(headLength)
    awaitsFirstByte = true
  }

  /// The client that the handler has named in place of the peer.
  func recordClient(_ client: PeerAddress?, with services: borrowing LoopServices) {
    if let client, isRecording { services.records[record].peer = client }
  }

  /// Bytes of content have arrived. Content that comes after the response is not counted.
  func recordReceived(_ count: Int, with services: borrowing LoopServices) {
    guard isRecording else { return }
    services.records[record].bytesReceived += UInt64(count)
  }

  /// Bytes have left, or are held back by nothing but the system.
  @inline(__always)
  mutating func recordSent(_ count: Int, isHeldBack: Bool = false, with services: inout LoopServices) {
    sent += UInt64(count)
    if awaitsFirstByte, !isHeldBack { recordFirstByte(with: &services) }
  }

  private mutating func recordFirstByte(with services: inout LoopServices) {
    awaitsFirstByte = false
    guard isRecording else { return }
    sentAtFirstByte = sent
    let time = services.presentInstant() - recordStart
    services.records[record].timeToFirstByte = max(1, time)
    services.counters.add(Counter.firstByteNanoseconds, by: time)
    services.counters.add(Counter.firstByte + LatencyHistogram.bucket(time))
  }

  /// The request is done with, and its response if there was one.
  mutating func endRecord(isComplete: Bool, with services: inout LoopServices) {
    guard isRecording else { return }
    let place = record
    record = -1
    awaitsFirstByte = false
    let bytesSent = sent > bodyFrom ? sent - bodyFrom : 0
    if bodyFrom != .max {
      services.counters.add(Counter.responsesEnded)
      services.counters.add(Counter.bytesSent, by: bytesSent)
      services.noteResponse(ofBytes: bytesSent)
    }
    services.counters.add(Counter.bytesReceived, by: services.records[place].bytesReceived)
    // A connection that was refused for want of room asked for nothing yet.
    if let ring = services.unownedRing, isCounted {
      let firstByte = services.records[place].timeToFirstByte
      let isAtOnce = firstByte > 0 && sent == sentAtFirstByte
      services.records[place].duration = isAtOnce ? firstByte : services.presentInstant() - recordStart
      services.records[place].bytesSent = bytesSent
      services.records[place].isComplete = isComplete
      ring.append(services.records[place])
    }
    services.records.free(place)
  }
}
