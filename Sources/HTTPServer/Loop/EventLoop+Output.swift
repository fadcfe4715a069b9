internal import CLinux
internal import Glibc
internal import SystemCalls

extension EventLoop {
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

  /// Sends on, and goes on with input when the response is out.
  mutating func continueOutput(_ index: Int) {
    if advanceOutput(index) { continueInput(index) }
  }

  /// Sends on; true when the response is out and input may go on.
  mutating func advanceOutput(_ index: Int) -> Bool {
    switch send(index) {
    case .sent:
      _ = table[index].machine.handle(.outputWaits(.nothing))
      if table[index].machine.output == .streaming { _ = table[index].machine.handle(.streamEnded) }
      guard table[index].machine.output == .sending else { return false }
      table[index].isTouched = true
      let isInputRead = isInputRead(index)
      endMetering(index)
      endRecord(index, isComplete: true)
      let actions = table[index].machine.handle(.responseSent(isInputRead: isInputRead))
      let reads = perform(actions, on: index)
      if !table[index].machine.isClosed { dropExchange(index) }
      return reads
    case .blocked: _ = table[index].machine.handle(.outputWaits(.socket))
    case .yielded:
      _ = table[index].machine.handle(.outputWaits(.turn))
      makeReady(index)
    case .waiting: _ = table[index].machine.handle(.outputWaits(.handler))
    case .fetching: _ = table[index].machine.handle(.outputWaits(.pages))
    case .broken: abandon(index)
    }
    return false
  }

  /// Whether the client can have sent nothing that would be lost unread. A session's end has to be read, and a
  /// body with a meter stays within reach of ``abortBodies(meteredBy:)`` while the kernel sends it.
  private func isInputRead(_ index: Int) -> Bool {
    table[index].isLastRequest && table[index].input.isEmpty && !table[index].mayReceive
      && !table[index].isMetered && !table[index].tls.isActive
  }

  private mutating func send(_ index: Int) -> Sent {
    guard !table[index].output.isFetching else { return .fetching }
    while true {
      if table[index].output.sent < table[index].output.bytes.count {
        let result = sendBytes(index, more: table[index].output.hasMoreThanBytes)
        guard result == .sent else { return result }
      }
      if table[index].output.fileOffset < table[index].output.fileEnd {
        let result =
          table[index].tls.isActive ? sendFileSecure(index) : sendFile(index)
        guard result == .sent else { return result }
      }
      if table[index].output.nextPart < table[index].output.parts.count {
        startPart(index)
      } else if table[index].output.isStream {
        guard let result = loadStreamedBytes(index) else { continue }
        return result
      } else {
        return .sent
      }
      if isTurnOver { return .yielded }
    }
  }

  /// Sends what is in `output.bytes`.
  mutating func sendBytes(_ index: Int, more: Bool) -> Sent {
    while table[index].output.sent < table[index].output.bytes.count {
      let start = table[index].output.sent
      let count: Int?
      do {
        count = try unsafe table[index].output.bytes.withUnsafeBufferPointer {
          (bytes) throws(SystemError) -> Int? in
          guard let base = bytes.baseAddress else { return nil }
          return try unsafe transmit(index, bytes: base + start, count: bytes.count - start, more: more)
        }
      } catch {
        return .broken
      }
      guard let count else { return .blocked }
      table[index].isTouched = true
      table[index].output.sent += count
      recordSent(index, count: count, isHeldBack: more)
      meter(index, from: start, count: count)
    }
    table[index].output.bytes = []
    table[index].output.sent = 0
    table[index].output.bodyStart = Int.max
    return .sent
  }

  /// Offers bytes to the socket: the number it took, nil when it takes none now.
  func transmit(
    _ index: Int, bytes: UnsafePointer<UInt8>, count: Int, more: Bool
  ) throws(SystemError) -> Int? {
    if table[index].tls.isActive {
      return try unsafe transmitSecure(index, bytes: bytes, count: count, more: more)
    }
    let descriptor = table[index].descriptor
    return try SystemCall.runWithoutWaiting("send") {
      unsafe Glibc.send(descriptor, bytes, count, Int32(MSG_NOSIGNAL) | (more ? Int32(MSG_MORE) : 0))
    }
  }

  /// Counts those of the bytes just sent that belong to a body.
  private mutating func meter(_ index: Int, from start: Int, count: Int) {
    guard table[index].isMetered, let meter = table[index].meter else { return }
    let counted = start + count - max(start, table[index].output.bodyStart)
    if counted > 0 { meter.didSend(counted) }
  }

  private mutating func sendFile(_ index: Int) -> Sent {
    guard let file = table[index].file else { return .broken }
    let socket = table[index].descriptor
    while table[index].output.fileOffset < table[index].output.fileEnd {
      if isTurnOver { return .yielded }
      let start = table[index].output.fileOffset
      // What was fetched goes by itself: behind it another look may be needed.
      let fetchedEnd = table[index].output.fetchedEnd
      let end = min(fetchedEnd > start ? fetchedEnd : .max, table[index].output.fileEnd)
      let slice = min(Int64(sliceLength), end - start)
      if !mayRead(index, from: file, range: start..<start + slice) { return .fetching }
      renewPace(index)
      var offset = off_t(start)
      let count: Int?
      do {
        count = try SystemCall.runWithoutWaiting("sendfile") {
          unsafe sendfile(socket, file.descriptor.number, &offset, Int(slice))
        }
      } catch {
        return .broken
      }
      guard let count else { return .blocked }
      // The file ends before its range does: padding or a short body would lie, so the connection breaks.
      if count == 0 { return .broken }
      table[index].isTouched = true
      table[index].output.fileOffset += Int64(count)
      recordSent(index, count: count)
      turn.bytes -= count
      if table[index].isMetered { table[index].meter?.didSend(count) }
    }
    return .sent
  }

  /// Bytes of one sendfile(2), within what the kernel moves at once. The longer they are, the fewer segments end short of
  /// their greatest length; where other connections wait for their turns, they are no longer than what was configured.
  var sliceLength: Int {
    let configured = min(max(context.configuration.sliceLength, 65_536), 0x7fff_f000)
    return ready.isEmpty ? max(configured, 1 << 20) : configured
  }

  private mutating func startPart(_ index: Int) {
    switch table[index].output.parts[table[index].output.nextPart] {
    case .bytes(let bytes):
      // The head of a part belongs to no package.
      table[index].output.bytes = bytes
      table[index].output.sent = 0
      table[index].output.bodyStart = Int.max
    case .file(let file, let range):
      table[index].file = file
      table[index].output.beginFile(range)
    }
    table[index].output.nextPart += 1
    if table[index].output.nextPart == table[index].output.parts.count {
      table[index].output.parts = []
      table[index].output.nextPart = 0
    }
  }

  /// Takes over what the handler has streamed: nil when there is something to send now.
  private mutating func loadStreamedBytes(_ index: Int) -> Sent? {
    guard let exchange = table[index].exchange else { return .broken }
    let bytes = exchange.collectStreamedBytes()
    if !bytes.isEmpty {
      table[index].output.bytes =
        table[index].output.isChunked
        ? Array("\(String(bytes.count, radix: 16))\r\n".utf8) + bytes + Array("\r\n".utf8) : bytes
      return nil
    }
    switch table[index].output.streamEnd {
    case nil: return .waiting
    case .failed: return .broken
    case .complete:
      table[index].output.isStream = false
      if table[index].output.isChunked { table[index].output.bytes = Array("0\r\n\r\n".utf8) }
      return nil
    }
  }
}
