/// Actions that the connection's machine returns.
extension ClientConnection {
  /// Does what the machine asks, except ``ConnectionActions/read``, which is left to the caller: true says it
  /// was among them.
  mutating func perform(
    _ actions: ConnectionActions, through line: some ConnectionLine, with services: inout LoopServices,
    bodyError: RequestBodyError.Code = .connectionClosed, refusal: HTTPStatus = .requestTimeout
  ) -> Bool {
    if actions.isEmpty { return false }
    if actions.contains(.sendContinue) { sendContinue(through: line, with: &services) }
    if actions.contains(.sendRefusal) { sendRefusal(refusal, through: line, with: &services) }
    if actions.contains(.endBody) { exchange?.endBody(nil) }
    if actions.contains(.failBody) { exchange?.endBody(RequestBodyError(bodyError)) }
    if actions.contains(.cancelHandler) { exchange?.cancel() }
    if actions.contains(.linger) { linger(through: line, with: &services) }
    if actions.contains(.close) {
      letGo(with: &services)
      return false
    }
    return (actions.contains(.read) || actions.contains(.linger)) && !machine.isClosed
  }

  /// Answers `status` without asking any handler, and ends the connection.
  mutating func refuse(
    with status: HTTPStatus, through line: some ConnectionLine, with services: inout LoopServices
  ) {
    if machine.input == .handshake {
      refusalAfterHandshake = status
      return
    }
    _ = perform(machine.handle(.headRefused), through: line, with: &services, refusal: status)
  }

  /// Ends a connection that is of no more use.
  mutating func abandon(through line: some ConnectionLine, with services: inout LoopServices) {
    tls.markBroken()
    _ = perform(machine.handle(.abandoned), through: line, with: &services)
  }

  /// Ends the connection so that nothing the kernel holds for it is sent any more.
  mutating func reset(through line: some ConnectionLine, with services: inout LoopServices) {
    line.dropQueue()
    abandon(through: line, with: &services)
  }

  private mutating func sendContinue(through line: some ConnectionLine, with services: inout LoopServices) {
    sendInterim(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), through: line, with: &services)
  }

  private mutating func sendRefusal(
    _ status: HTTPStatus, through line: some ConnectionLine, with services: inout LoopServices
  ) {
    let response =
      status == .serviceUnavailable
      ? services.unavailableResponse : services.context.configuration.refusal(status)
    if !isRecording { beginRecord(with: &services) }
    put(response, isHead: false, minorVersion: 1, through: line, with: &services)
    continueOutput(through: line, with: &services)
  }

  private mutating func linger(through line: some ConnectionLine, with services: inout LoopServices) {
    dropExchange()
    input = []
    if tls.isActive, !endSecure(through: line, with: &services) { return }
    endSending(through: line, with: &services)
  }

  /// Closes the sending half.
  mutating func endSending(through line: some ConnectionLine, with services: inout LoopServices) {
    if !line.endSending() { abandon(through: line, with: &services) }
  }

  mutating func dropExchange() {
    exchange?.abandon()
    exchange = nil
  }

  /// Lets go of everything but its socket and its place, which the loop takes back.
  private mutating func letGo(with services: inout LoopServices) {
    endMetering()
    endRecord(isComplete: false, with: &services)
    dropExchange()
    input = []
    partial = nil
    if output.isFetching { services.partWaits.removeValue(forKey: tag.index)?() }
    if output.isFetching || isReadingAhead { services.context.pages.cancel(tag, of: services.mailbox) }
    output = OutputState()
    file = nil
    meter = nil
    wantsTurn = false
    if tls.isActive { closeSecure() }
  }
}

extension LoopServices {
  /// The refusal of a client that may come back.
  var unavailableResponse: HTTPResponse {
    var response = context.configuration.refusal(.serviceUnavailable)
    if response.headers["Retry-After"] == nil { response.headers["Retry-After"] = "1" }
    return response
  }
}
