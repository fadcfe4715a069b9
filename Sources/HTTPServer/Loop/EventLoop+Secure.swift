internal import CLinux
internal import Glibc
internal import SystemCalls

/// Connections that speak TLS.
extension EventLoop {
  /// Bytes of a file that are read at once and sent as so many records.
  private static let readLength = 65_536

  /// Notes what an event means for a session and does what waited for it; false when the connection is gone.
  mutating func wakeSecure(_ index: Int, events: UInt32) -> Bool {
    if events & (EPOLLIN.rawValue | EPOLLRDHUP.rawValue) != 0 {
      table[index].tls.noteInput(isLast: events & EPOLLRDHUP.rawValue != 0)
      if table[index].tls.writeNeedsInput { continueOutput(index) }
    }
    if events & EPOLLOUT.rawValue != 0 {
      if table[index].tls.owesEnd, endSecure(index) { endSending(index) }
      if table[index].tls.readNeedsOutput { table[index].mayReceive = true }
    }
    return !table[index].machine.isClosed
  }

  /// Receives like recv(2), after the handshake.
  mutating func receiveSecure(_ index: Int, limit: Int) -> Received {
    if table[index].machine.input == .handshake {
      switch table[index].tls.handshake() {
      case .done: endHandshake(index)
      case .needsInput, .needsOutput: return .nothing
      case .ended, .broken:
        counters.add(Counter.refusals + HTTPServerStatistics.Refusal.handshake.rawValue)
        // What follows is not TLS, and is thrown away.
        table[index].tls = TLSSession()
        return .refused
      }
      if table[index].machine.isClosed { return .nothing }
    }
    switch unsafe table[index].tls.read(into: receiveScratch.base, upTo: limit) {
    case .done(let count): return .bytes(count)
    case .needsInput, .needsOutput: return .nothing
    case .ended: return .ended
    case .broken: return .broken
    }
  }

  private mutating func endHandshake(_ index: Int) {
    _ = table[index].machine.handle(.handshakeEnded)
    table[index].isTouched = true
    if let status = table[index].refusalAfterHandshake.take() { refuse(index, with: status) }
  }

  /// Sends like send(2), at most one record.
  func transmitSecure(
    _ index: Int, bytes: UnsafePointer<UInt8>, count: Int, more: Bool
  ) throws(SystemError) -> Int? {
    switch unsafe table[index].tls.write(bytes, count: count, hasMore: more) {
    case .done(let taken): return taken
    case .needsInput, .needsOutput: return nil
    case .ended, .broken: throw SystemError(number: EPIPE, call: "SSL_write")
    }
  }

  /// Sends the current part of the file as records made from the page cache.
  mutating func sendFileSecure(_ index: Int) -> Sent {
    guard let file = table[index].file else { return .broken }
    while table[index].output.fileOffset < table[index].output.fileEnd {
      if isTurnOver { return .yielded }
      let start = table[index].output.fileOffset
      // What was fetched goes by itself, as in sendFile.
      let fetchedEnd = table[index].output.fetchedEnd
      let end = min(fetchedEnd > start ? fetchedEnd : .max, table[index].output.fileEnd)
      // A record that waits is handed on whole.
      let length = max(Int(min(Int64(EventLoop.readLength), end - start)), table[index].tls.pendingLength)
      // A record that was made already is only handed on, and its pages were in memory then.
      let isRepeated = table[index].tls.pendingLength > 0
      if !isRepeated, !mayRead(index, from: file, range: start..<start + Int64(length)) { return .fetching }
      renewPace(index)
      let count: Int
      do {
        count = try SystemCall.run("pread") {
          unsafe pread(file.descriptor.number, sendScratch.base, length, off_t(start))
        }
      } catch {
        return .broken
      }
      // The file ends before its range does: padding or a short body would lie, so the connection breaks.
      if count == 0 || count < table[index].tls.pendingLength { return .broken }
      let result = sendRead(index, count: count)
      turn.bytes -= Int(table[index].output.fileOffset - start)
      guard result == .sent else { return result }
    }
    return .sent
  }

  /// Sends the first `count` bytes of the send scratch, which come from the current part of the file.
  private mutating func sendRead(_ index: Int, count: Int) -> Sent {
    var position = 0
    while position < count {
      let rest = count - position
      let isLast =
        table[index].output.fileOffset + Int64(rest) == table[index].output.fileEnd
        && table[index].output.parts.isEmpty
      let taken: Int?
      do {
        taken = try unsafe transmitSecure(
          index, bytes: sendScratch.base + position, count: rest, more: !isLast)
      } catch {
        return .broken
      }
      guard let taken else { return .blocked }
      position += taken
      table[index].isTouched = true
      table[index].output.fileOffset += Int64(taken)
      recordSent(index, count: taken)
      if table[index].isMetered { table[index].meter?.didSend(taken) }
    }
    return .sent
  }

  /// Says that nothing follows; true when the sending half can be closed.
  mutating func endSecure(_ index: Int) -> Bool {
    switch table[index].tls.end() {
    case .done: return true
    // The linger deadline runs meanwhile.
    case .needsInput, .needsOutput: return false
    case .ended, .broken:
      abandon(index)
      return false
    }
  }

  /// Ends a session whose connection is about to be closed, if the socket takes it now, and frees it.
  mutating func closeSecure(_ index: Int) {
    _ = table[index].tls.end()
    table[index].tls = TLSSession()
  }
}
