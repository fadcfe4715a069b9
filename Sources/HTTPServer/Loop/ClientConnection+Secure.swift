internal import CLinux
internal import Glibc
internal import SystemCalls

/// Connections that speak TLS: their bytes go through the session, which has the socket.
extension ClientConnection {
  /// Bytes of a file that are read at once and sent as so many records.
  private static let readLength = 65_536

  /// Receives like recv(2), after the handshake.
  mutating func receiveSecure(upTo limit: Int, with services: borrowing LoopServices) -> Received {
    if machine.input == .handshake {
      switch tls.handshake() {
      case .done:
        _ = machine.handle(.handshakeEnded)
        isTouched = true
        return .handshakeEnded
      case .needsInput, .needsOutput: return .nothing
      case .ended, .broken:
        services.counters.add(Counter.refusals + HTTPServerStatistics.Refusal.handshake.rawValue)
        // What follows is not TLS, and is thrown away.
        tls = TLSSession()
        return .refused
      }
    }
    switch unsafe tls.read(into: services.receiveScratch.base, upTo: limit) {
    case .done(let count): return .bytes(count)
    case .needsInput, .needsOutput: return .nothing
    case .ended: return .ended
    case .broken: return .broken
    }
  }

  /// Sends like send(2), at most one record.
  mutating func transmitSecure(
    _ bytes: UnsafePointer<UInt8>, count: Int, more: Bool
  ) throws(SystemError) -> Int? {
    switch unsafe tls.write(bytes, count: count, hasMore: more) {
    case .done(let taken): return taken
    case .needsInput, .needsOutput: return nil
    case .ended, .broken: throw SystemError(number: EPIPE, call: "SSL_write")
    }
  }

  /// Sends the current part of the file as records made from the page cache.
  mutating func sendFileSecure(
    through line: some ConnectionLine, with services: inout LoopServices
  ) -> Sent {
    guard let file else { return .broken }
    while output.fileOffset < output.fileEnd {
      if services.isTurnOver { return .yielded }
      let start = output.fileOffset
      // What was fetched goes by itself, as in sendFile.
      let fetchedEnd = output.fetchedEnd
      let end = min(fetchedEnd > start ? fetchedEnd : .max, output.fileEnd)
      // A record that waits is handed on whole.
      let length = max(Int(min(Int64(Self.readLength), end - start)), tls.pendingLength)
      let result: Sent
      if let presence = file.presence {
        let least = Int64(max(1, tls.pendingLength))
        guard let held = hold(start..<start + Int64(length), least: least, of: presence, with: &services)
        else {
          return .fetching
        }
        result = sendSecure(start..<held, of: file, through: line, with: &services)
        presence.release(start..<held)
      } else {
        result = sendSecure(start..<start + Int64(length), of: file, through: line, with: &services)
      }
      services.turn.bytes -= Int(output.fileOffset - start)
      guard result == .sent else { return result }
    }
    return .sent
  }

  /// Sends a part of the file that is no longer than is read at once.
  private mutating func sendSecure(
    _ part: Range<Int64>, of file: SharedDescriptor, through line: some ConnectionLine,
    with services: inout LoopServices
  ) -> Sent {
    // A record that was made already is only handed on, and its pages were in memory then.
    let isRepeated = tls.pendingLength > 0
    if !isRepeated, !mayRead(file, range: part, with: &services) { return .fetching }
    renewPace(through: line)
    let count: Int
    do {
      count = try SystemCall.run("pread") {
        unsafe pread(
          file.descriptor.number, services.sendScratch.base, part.count, off_t(part.lowerBound))
      }
    } catch {
      return .broken
    }
    // The file ends before its range does: padding or a short body would lie, so the connection breaks.
    if count == 0 || count < tls.pendingLength { return .broken }
    return sendRead(count: count, with: &services)
  }

  /// Sends the first `count` bytes of the send scratch, which come from the current part of the file.
  private mutating func sendRead(count: Int, with services: inout LoopServices) -> Sent {
    var position = 0
    while position < count {
      let rest = count - position
      let isLast = output.fileOffset + Int64(rest) == output.fileEnd && output.parts.isEmpty
      let taken: Int?
      do {
        taken = try unsafe transmitSecure(services.sendScratch.base + position, count: rest, more: !isLast)
      } catch {
        return .broken
      }
      guard let taken else { return .blocked }
      position += taken
      isTouched = true
      output.fileOffset += Int64(taken)
      recordSent(taken, with: &services)
      if isMetered { meter?.didSend(taken) }
    }
    return .sent
  }

  /// Notes what an event means for the session and does what waited for it; false when the connection is gone.
  mutating func wakeSecure(
    _ readiness: Readiness, through line: some ConnectionLine, with services: inout LoopServices
  ) -> Bool {
    if !readiness.isDisjoint(with: [.input, .lastInput]) {
      tls.noteInput(isLast: readiness.contains(.lastInput))
      if tls.writeNeedsInput { continueOutput(through: line, with: &services) }
    }
    if readiness.contains(.output) {
      if tls.owesEnd, endSecure(through: line, with: &services) { endSending(through: line, with: &services) }
      if tls.readNeedsOutput { mayReceive = true }
    }
    return !machine.isClosed
  }

  /// Answers a connection that was beyond a bound when it came.
  mutating func endHandshake(through line: some ConnectionLine, with services: inout LoopServices) {
    if let status = refusalAfterHandshake.take() { refuse(with: status, through: line, with: &services) }
  }

  /// Says that nothing follows; true when the sending half can be closed.
  mutating func endSecure(through line: some ConnectionLine, with services: inout LoopServices) -> Bool {
    switch tls.end() {
    case .done: return true
    // The linger deadline runs meanwhile.
    case .needsInput, .needsOutput: return false
    case .ended, .broken:
      abandon(through: line, with: &services)
      return false
    }
  }

  /// Ends a session whose connection is about to be closed, if the socket takes it now, and frees it.
  mutating func closeSecure() {
    _ = tls.end()
    tls = TLSSession()
  }
}
