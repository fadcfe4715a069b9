internal import SystemCalls

/// What follows from what a connection has sent, or waits for.
extension EventLoop {
  /// Sends on, and goes on with input when the response is out.
  mutating func continueOutput(_ index: Int) {
    if advanceOutput(index) { continueInput(index) }
  }

  /// Sends on; true when the response is out and input may go on.
  mutating func advanceOutput(_ index: Int) -> Bool {
    let place = table.place(index)
    switch place.connection.send(through: place.connection.line, with: &services) {
    case .sent:
      _ = table[index].machine.handle(.outputWaits(.nothing))
      if table[index].machine.output == .streaming { _ = table[index].machine.handle(.streamEnded) }
      guard table[index].machine.output == .sending else { return false }
      table[index].isTouched = true
      let isInputRead = isInputRead(index)
      table[index].endMetering()
      place.connection.endRecord(isComplete: true, with: &services)
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

  /// Goes on with a response whose pages are there; one whose pages cannot be read cannot be completed.
  mutating func receivePages(_ index: Int, failure: SystemError?) {
    table[index].didFetch(at: services.now)
    if failure != nil { return abandon(index) }
    continueOutput(index)
  }

  /// Notes what was read ahead, and goes on with a response that has come so far meanwhile.
  mutating func receivePagesAhead(_ index: Int, failure: SystemError?) {
    if table[index].didReadAhead(at: services.now, isThere: failure == nil) {
      receivePages(index, failure: failure)
    }
  }
}
