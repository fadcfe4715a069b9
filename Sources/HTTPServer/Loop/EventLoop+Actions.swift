internal import CLinux
internal import Glibc
internal import Synchronization
internal import SystemCalls

extension EventLoop {
  /// Does what the machine asks, except ``ConnectionActions/read``, which is left to the caller: true says it
  /// was among them.
  mutating func perform(
    _ actions: ConnectionActions, on index: Int, bodyError: RequestBodyError.Code = .connectionClosed,
    refusal: HTTPStatus = .requestTimeout
  ) -> Bool {
    if actions.isEmpty { return false }
    if actions.contains(.sendContinue) { sendContinue(index) }
    if actions.contains(.sendRefusal) { sendRefusal(index, with: refusal) }
    if actions.contains(.endBody) { table[index].exchange?.endBody(nil) }
    if actions.contains(.failBody) { table[index].exchange?.endBody(RequestBodyError(bodyError)) }
    if actions.contains(.cancelHandler) { table[index].exchange?.cancel() }
    if actions.contains(.linger) { linger(index) }
    if actions.contains(.close) {
      close(index)
      return false
    }
    return (actions.contains(.read) || actions.contains(.linger)) && !table[index].machine.isClosed
  }

  /// Answers `status` without asking any handler, and ends the connection.
  mutating func refuse(_ index: Int, with status: HTTPStatus) {
    if table[index].machine.input == .handshake {
      table[index].refusalAfterHandshake = status
      return
    }
    _ = perform(table[index].machine.handle(.headRefused), on: index, refusal: status)
  }

  /// Ends a connection that is of no more use.
  mutating func abandon(_ index: Int) {
    table[index].tls.markBroken()
    _ = perform(table[index].machine.handle(.abandoned), on: index)
  }

  private mutating func sendContinue(_ index: Int) {
    sendInterim(index, bytes: Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
  }

  /// The refusal of a client that may come back.
  func unavailableResponse() -> HTTPResponse {
    var response = services.context.configuration.refusal(.serviceUnavailable)
    if response.headers["Retry-After"] == nil { response.headers["Retry-After"] = "1" }
    return response
  }

  private mutating func sendRefusal(_ index: Int, with status: HTTPStatus) {
    let response =
      status == .serviceUnavailable ? unavailableResponse() : services.context.configuration.refusal(status)
    if !table[index].isRecording { table.place(index).connection.beginRecord(with: &services) }
    put(response, on: index, isHead: false, minorVersion: 1)
    continueOutput(index)
  }

  private mutating func linger(_ index: Int) {
    dropExchange(index)
    table[index].input = []
    if table[index].tls.isActive, !endSecure(index) { return }
    endSending(index)
  }

  /// Closes the sending half.
  mutating func endSending(_ index: Int) {
    if shutdown(table[index].descriptor, Int32(SHUT_WR)) == -1 { abandon(index) }
  }

  mutating func dropExchange(_ index: Int) {
    table[index].exchange?.abandon()
    table[index].exchange = nil
  }

  private mutating func close(_ index: Int) {
    table[index].endMetering()
    table.place(index).connection.endRecord(isComplete: false, with: &services)
    services.counters.add(Counter.closed)
    dropExchange(index)
    dispatcher?.close(index)
    wheel.remove(index, in: table)
    table[index].input = []
    table[index].partial = nil
    if table[index].output.isFetching || table[index].isReadingAhead {
      services.context.pages.cancel(table[index].tag, of: services.mailbox)
    }
    table[index].output = OutputState()
    table[index].file = nil
    table[index].meter = nil
    if table[index].tls.isActive { closeSecure(index) }
    // Its place is free before its peer learns of the end: a client that connects again at once may reach
    // another loop.
    if table[index].isAddressCounted { services.context.addresses.release(table[index].peer) }
    if table[index].isCounted {
      services.context.openCount.subtract(1, ordering: .relaxed)
    } else {
      turnedAwayCount -= 1
    }
    // Closing takes it out of epoll as well; a failed close(2) has closed nevertheless.
    _ = Glibc.close(table[index].descriptor)
    table[index].descriptor = -1
    table.remove(index)
    if acceptDue > 0 { resumeAccepting() }
  }
}
