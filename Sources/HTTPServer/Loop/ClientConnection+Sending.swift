internal import CLinux
internal import Glibc
internal import SystemCalls

/// Sending within a turn: what remains of a response goes to the line until it takes no more or the turn is over.
extension ClientConnection {
  enum Sent {
    /// Everything is with the kernel.
    case sent
    /// The socket takes no more for now.
    case blocked
    /// The turn is over.
    case yielded
    /// For the handler.
    case waiting
    /// For pages of a file.
    case fetching
    /// The peer is gone, or the response cannot be completed.
    case broken
  }

  /// The connection's socket.
  var line: SocketLine { SocketLine(descriptor: descriptor) }

  /// Sends on.
  mutating func send(through line: some ConnectionLine, with services: inout LoopServices) -> Sent {
    guard !output.isFetching else { return .fetching }
    while true {
      if output.sent < output.bytes.count {
        let result = sendBytes(through: line, more: output.hasMoreThanBytes, with: &services)
        guard result == .sent else { return result }
      }
      if output.fileOffset < output.fileEnd {
        let result =
          tls.isActive
          ? sendFileSecure(through: line, with: &services) : sendFile(through: line, with: &services)
        guard result == .sent else { return result }
      }
      if let part = output.parts.popLast() {
        begin(part)
      } else if output.isStream {
        guard let result = loadStreamedBytes() else { continue }
        return result
      } else {
        uncork(line)
        return .sent
      }
      if services.isTurnOver { return .yielded }
    }
  }

  /// Sends what is in `output.bytes`.
  private mutating func sendBytes(
    through line: some ConnectionLine, more: Bool, with services: inout LoopServices
  ) -> Sent {
    while output.sent < output.bytes.count {
      let start = output.sent
      let count: Int?
      do {
        count = try unsafe output.bytes.withUnsafeBufferPointer { (bytes) throws(SystemError) -> Int? in
          guard let base = bytes.baseAddress else { return nil }
          return try unsafe transmit(base + start, count: bytes.count - start, more: more, through: line)
        }
      } catch {
        return .broken
      }
      guard let count else { return .blocked }
      isTouched = true
      output.sent += count
      recordSent(count, isHeldBack: more, with: &services)
      meter(from: start, count: count)
      services.turn.bytes -= count
      if output.sent < output.bytes.count, services.isTurnOver { return .yielded }
    }
    output.bytes = []
    output.sent = 0
    output.bodyStart = Int.max
    return .sent
  }

  /// Offers bytes to the line: the number it took, nil when it takes none now.
  mutating func transmit(
    _ bytes: UnsafePointer<UInt8>, count: Int, more: Bool, through line: some ConnectionLine
  ) throws(SystemError) -> Int? {
    if tls.isActive { return try unsafe transmitSecure(bytes, count: count, more: more) }
    return try unsafe line.send(bytes, count: count, more: more)
  }

  /// Counts those of the bytes just sent that belong to a body.
  private func meter(from start: Int, count: Int) {
    guard isMetered, let meter else { return }
    let counted = start + count - max(start, output.bodyStart)
    if counted > 0 { meter.didSend(counted) }
  }

  private mutating func sendFile(
    through line: some ConnectionLine, with services: inout LoopServices
  ) -> Sent {
    guard let file else { return .broken }
    while output.fileOffset < output.fileEnd {
      if services.isTurnOver { return .yielded }
      let start = output.fileOffset
      // What was fetched goes by itself: behind it another look may be needed.
      let fetchedEnd = output.fetchedEnd
      let end = min(fetchedEnd > start ? fetchedEnd : .max, output.fileEnd)
      let slice = min(Int64(services.sliceLength), end - start)
      let result: Sent
      if let presence = file.presence {
        guard let held = hold(start..<start + slice, of: presence, with: &services) else {
          // What was sent leaves now, however long the next part takes.
          uncork(line)
          return .fetching
        }
        result = send(start..<held, of: file, through: line, with: &services)
        presence.release(start..<held)
      } else {
        result = send(start..<start + slice, of: file, through: line, with: &services)
      }
      guard result == .sent else { return result }
    }
    return .sent
  }

  /// Sends of a slice what the line takes at once; ``Sent/sent`` says that something was.
  @inline(__always)
  private mutating func send(
    _ slice: Range<Int64>, of file: SharedDescriptor, through line: some ConnectionLine,
    with services: inout LoopServices
  ) -> Sent {
    if !mayRead(file, range: slice, with: &services) { return .fetching }
    renewPace(through: line)
    // Each call would end with a segment that is not full: they cost as much as full ones.
    if !isCorked, slice.upperBound < output.fileEnd {
      isCorked = true
      line.setCorked(true)
    }
    let count: Int?
    do {
      count = try line.sendFile(file, from: slice.lowerBound, count: slice.count)
    } catch {
      return .broken
    }
    guard let count else { return .blocked }
    // The file ends before its range does: padding or a short body would lie, so the connection breaks.
    if count == 0 { return .broken }
    isTouched = true
    output.fileOffset += Int64(count)
    recordSent(count, with: &services)
    services.turn.bytes -= count
    if isMetered { meter?.didSend(count) }
    return .sent
  }

  private mutating func uncork(_ line: some ConnectionLine) {
    guard isCorked else { return }
    isCorked = false
    line.setCorked(false)
  }

  private mutating func begin(_ part: BodyPart) {
    switch part {
    case .bytes(let bytes):
      // The head of a part belongs to no package.
      output.bytes = bytes
      output.sent = 0
      output.bodyStart = Int.max
    case .file(let file, let range):
      self.file = file
      output.beginFile(range)
    }
  }

  /// Takes over what the handler has streamed: nil when there is something to send now.
  private mutating func loadStreamedBytes() -> Sent? {
    guard let exchange else { return .broken }
    let bytes = exchange.collectStreamedBytes()
    if !bytes.isEmpty {
      output.bytes =
        output.isChunked
        ? Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8) : bytes
      return nil
    }
    switch output.streamEnd {
    case nil: return .waiting
    case .failed: return .broken
    case .complete:
      output.isStream = false
      if output.isChunked { output.bytes = Array("0\r\n\r\n".utf8) }
      return nil
    }
  }

  /// The response being put together has content and, maybe, a meter for it.
  mutating func beginMetering() {
    guard let meter else { return }
    isMetered = true
    meter.didBegin()
  }

  mutating func endMetering() {
    guard isMetered else { return }
    isMetered = false
    meter?.didEnd()
  }

  mutating func pace(bytesPerSecond: UInt64, through line: some ConnectionLine) {
    guard pacing != bytesPerSecond else { return }
    pacing = bytesPerSecond
    line.setPace(bytesPerSecond: bytesPerSecond)
  }

  /// Gives a body that is paced its present share.
  mutating func renewPace(through line: some ConnectionLine) {
    guard pacing != .max, isMetered, let pace = meter?.pace else { return }
    self.pace(bytesPerSecond: max(1, pace), through: line)
  }
}
