internal import CoreTypes

/// What is counted and remembered of each request.
extension EventLoop {
  /// A request begins: its head is complete, or refused and then without `bytes`.
  mutating func beginRecord(_ index: Int, bytes: Span<UInt8>? = nil) {
    sequence += 1
    let place = table[index].isRecording ? table[index].record : records.allocate()
    table[index].record = place
    table[index].awaitsFirstByte = false
    table[index].recordStart = now
    records[place].identifier = sequence << 8 | UInt64(number)
    records[place].status = 0
    records[place].isComplete = false
    records[place].timeToFirstByte = 0
    records[place].bytesReceived = 0
    table[index].bodyFrom = .max
    guard ring != nil else { return }
    records[place].start = Timestamp(
      millisecondsSinceEpoch: wallBase + Int64((now - wallBaseInstant) / 1_000_000))
    records[place].peer = table[index].peer
    if let bytes {
      records[place].method = parser.head.method
      records[place].setPath(bytes, at: parser.head.path)
    } else {
      records[place].method = .other
      records[place].clearPath()
    }
  }

  /// A final response is about to be sent; `headLength` bytes come before its content.
  mutating func recordResponse(_ index: Int, status: HTTPStatus, headLength: Int) {
    counters.add(Counter.responses(status.rawValue))
    counters.add(Counter.responsesBegun)
    guard table[index].isRecording else { return }
    records[table[index].record].status = UInt16(truncatingIfNeeded: status.rawValue)
    table[index].bodyFrom = table[index].sent + UInt64(headLength)
    table[index].awaitsFirstByte = true
  }

  /// Bytes of content have arrived. Content that comes after the response is not counted.
  mutating func recordReceived(_ index: Int, count: Int) {
    guard table[index].isRecording else { return }
    records[table[index].record].bytesReceived += UInt64(count)
  }

  /// Bytes have left, or are held back by nothing but the system.
  @inline(__always)
  mutating func recordSent(_ index: Int, count: Int, isHeldBack: Bool = false) {
    table[index].sent += UInt64(count)
    if table[index].awaitsFirstByte, !isHeldBack { recordFirstByte(index) }
  }

  private mutating func recordFirstByte(_ index: Int) {
    table[index].awaitsFirstByte = false
    guard table[index].isRecording else { return }
    table[index].sentAtFirstByte = table[index].sent
    let time = presentInstant() - table[index].recordStart
    records[table[index].record].timeToFirstByte = max(1, time)
    counters.add(Counter.firstByteNanoseconds, by: time)
    counters.add(Counter.firstByte + LatencyHistogram.bucket(time))
  }

  /// The request is done with, and its response if there was one.
  mutating func endRecord(_ index: Int, isComplete: Bool) {
    guard table[index].isRecording else { return }
    let place = table[index].record
    table[index].record = -1
    table[index].awaitsFirstByte = false
    defer { records.free(place) }
    let bodyFrom = table[index].bodyFrom
    let bytesSent = table[index].sent > bodyFrom ? table[index].sent - bodyFrom : 0
    if bodyFrom != .max {
      counters.add(Counter.responsesEnded)
      counters.add(Counter.bytesSent, by: bytesSent)
    }
    counters.add(Counter.bytesReceived, by: records[place].bytesReceived)
    // A connection that was refused for want of room asked for nothing yet.
    guard let unownedRing, table[index].isCounted else { return }
    let firstByte = records[place].timeToFirstByte
    let isAtOnce = firstByte > 0 && table[index].sent == table[index].sentAtFirstByte
    records[place].duration =
      isAtOnce ? firstByte : presentInstant() - table[index].recordStart
    records[place].bytesSent = bytesSent
    records[place].isComplete = isComplete
    unownedRing.append(records[place])
  }

  /// One of the deadlines has passed and ends a connection.
  func countDeadline(_ deadline: ConnectionMachine.Deadline) {
    let kind: HTTPServerStatistics.Deadline? =
      switch deadline {
      case .none: nil
      case .idle: .idle
      case .head: .head
      case .body: .body
      case .send: .send
      case .linger: .linger
      case .storage: .storage
      case .handshake: .handshake
      }
    if let kind { counters.add(Counter.deadlines + kind.rawValue) }
  }
}
