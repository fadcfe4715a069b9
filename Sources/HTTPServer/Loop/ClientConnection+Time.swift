internal import CoreTypes

/// The deadline that a connection's state asks for, and what follows when it passes.
extension ClientConnection {
  /// Sets the deadline that the state asks for now; true when the loop has to look at it at another time than before.
  mutating func renewDeadline(
    through line: some ConnectionLine, with services: borrowing LoopServices
  ) -> Bool {
    let wanted = machine.deadline
    guard isTouched || wanted != deadline else { return false }
    isTouched = false
    // What comes or goes within a rate's window counts for its average, and does not begin a new one.
    if wanted == deadline, wanted.isRate { return false }
    deadline = wanted
    guard let duration = services.duration(of: wanted) else {
      timer.due = 0
      return false
    }
    if wanted.isRate { windowBase = progress(against: wanted, through: line) }
    timer.due = services.now + duration
    return true
  }

  /// The deadline has passed: what the machine asks for then.
  mutating func passDeadline(through line: some ConnectionLine, with services: inout LoopServices) {
    timer.due = 0
    let passed = machine.deadline
    services.count(passed)
    let actions = machine.handle(.deadlinePassed)
    if actions.contains(.close), deadline == .send { line.dropQueue() }
    if perform(
      actions, through: line, with: &services, bodyError: passed == .body ? .timedOut : .connectionClosed)
    {
      continueInput(through: line, with: &services)
    }
    isTouched = true
  }

  /// Whether the connection whose rate's window has ended was fast enough; then another window begins.
  mutating func keepsPace(through line: some ConnectionLine, with services: borrowing LoopServices) -> Bool {
    guard deadline.isRate, deadline == machine.deadline, let duration = services.duration(of: deadline)
    else { return false }
    let progress = progress(against: deadline, through: line)
    let count = progress > windowBase ? progress - windowBase : 0
    let configuration = services.context.configuration
    let rate =
      deadline == .body
      ? services.isDraining ? 0 : configuration.minimumReceiveRate
      : min(configuration.minimumSendRate, pacing / 2)
    guard count >= max(1, Self.bytes(rate, in: duration)) else { return false }
    windowBase = progress
    timer.due = services.now + duration
    return true
  }

  private static func bytes(_ rate: UInt64, in nanoseconds: UInt64) -> UInt64 {
    let product = rate.multipliedFullWidth(by: nanoseconds)
    guard product.high < 1_000_000_000 else { return .max }
    return UInt64(1_000_000_000).dividingFullWidth(product).quotient
  }

  /// Bytes of content that have arrived, or of responses that the peer has acknowledged: what the kernel has
  /// taken says little of a slow peer, for it takes a mebibyte at a time.
  private mutating func progress(
    against deadline: ConnectionMachine.Deadline, through line: some ConnectionLine
  ) -> UInt64 {
    if deadline == .body { return received }
    let queued = UInt64(clamping: line.queuedOutput)
    return sent > queued ? sent - queued : 0
  }

  /// The server ends; a request may have arrived whose event has not been read yet.
  mutating func beginDrain(through line: some ConnectionLine, with services: inout LoopServices) {
    if machine.input == .idle {
      mayReceive = true
      tls.noteInput(isLast: false)
      services.beginTurn()
      continueInput(through: line, with: &services)
    }
    if perform(machine.handle(.drainBegan), through: line, with: &services) {
      continueInput(through: line, with: &services)
    }
    // The window of before is longer.
    if machine.deadline == .body { deadline = .none }
  }

  /// The server ends, and the connection was accepted since: it still gets the answer to one request.
  mutating func endUnlessFresh(through line: some ConnectionLine, with services: inout LoopServices) {
    _ = perform(machine.handle(.drainBegan), through: line, with: &services)
  }
}

extension LoopServices {
  /// The deadline's length in nanoseconds; nil for none. A drain waits no longer for a client that sends nothing of its
  /// content than for one that has asked for nothing.
  fileprivate func duration(of deadline: ConnectionMachine.Deadline) -> UInt64? {
    let duration = context.duration(of: deadline)
    return isDraining && deadline == .body ? duration.map { min($0, context.durations.linger) } : duration
  }

  /// One of the deadlines has passed and ends a connection.
  fileprivate func count(_ deadline: ConnectionMachine.Deadline) {
    let kind: HTTPServerStatistics.Deadline? =
      switch deadline {
      // It ends a handler, and no connection.
      case .none, .departure: nil
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
