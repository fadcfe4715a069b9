internal import CLinux
internal import CoreTypes

/// Time, deadlines and the drain.
extension EventLoop {
  /// For epoll_wait: 0 while a connection waits for a turn, -1 while nothing is due.
  mutating func waitMilliseconds() -> Int32 {
    if !ready.isEmpty { return 0 }
    var wait = wheel.wait(now: services.now)
    for due in [acceptDue, drainDue] where due > 0 {
      let rest = due > services.now ? due - services.now : 0
      wait = min(wait ?? rest, rest)
    }
    return wait.map { Int32(min(($0 + 999_999) / 1_000_000, 60_000)) } ?? -1
  }

  mutating func passDeadlines() {
    if acceptDue > 0, services.now >= acceptDue { resumeAccepting() }
    while let index = wheel.popNext(now: services.now, in: table) {
      guard !table[index].machine.isClosed, table[index].timer.due > 0 else { continue }
      if table[index].timer.due <= services.now {
        if keepsPace(index) { continue }
        services.beginTurn()
        table[index].timer.due = 0
        let isBody = table[index].machine.deadline == .body
        countDeadline(table[index].machine.deadline)
        let actions = table[index].machine.handle(.deadlinePassed)
        if actions.contains(.close), table[index].deadline == .send { dropQueue(index) }
        if perform(actions, on: index, bodyError: isBody ? .timedOut : .connectionClosed) {
          continueInput(index)
        }
        table[index].isTouched = true
        updateTimer(index)
      } else {
        wheel.schedule(index, in: table)
      }
    }
    if drainDue > 0, services.now >= drainDue {
      drainDue = 0
      for index in 0..<table.end where !table[index].machine.isClosed {
        services.counters.add(Counter.deadlines + HTTPServerStatistics.Deadline.drain.rawValue)
        abandon(index)
      }
    }
  }

  /// Schedules the deadline that the connection's state asks for now.
  mutating func updateTimer(_ index: Int) {
    let deadline = table[index].machine.deadline
    guard table[index].isTouched || deadline != table[index].deadline else { return }
    table[index].isTouched = false
    // What comes or goes within a rate's window counts for its average, and does not begin a new one.
    if deadline == table[index].deadline, deadline.isRate { return }
    table[index].deadline = deadline
    guard let duration = duration(of: deadline) else {
      table[index].timer.due = 0
      return
    }
    if deadline.isRate { table[index].windowBase = progress(index, against: deadline) }
    table[index].timer.due = services.now + duration
    wheel.schedule(index, in: table)
  }

  /// The deadline's length in nanoseconds; nil for none. A drain waits no longer for a client that sends nothing of its content than for
  /// one that has asked for nothing.
  private mutating func duration(of deadline: ConnectionMachine.Deadline) -> UInt64? {
    let duration = services.context.duration(of: deadline)
    return isDraining && deadline == .body
      ? duration.map { min($0, services.context.durations.linger) } : duration
  }

  /// Whether the connection whose rate's window has ended was fast enough; then another window begins.
  private mutating func keepsPace(_ index: Int) -> Bool {
    let deadline = table[index].deadline
    guard deadline.isRate, deadline == table[index].machine.deadline,
      let duration = duration(of: deadline)
    else { return false }
    let progress = progress(index, against: deadline)
    let count = progress > table[index].windowBase ? progress - table[index].windowBase : 0
    let rate =
      deadline == .body
      ? isDraining ? 0 : services.context.configuration.minimumReceiveRate
      : min(services.context.configuration.minimumSendRate, table[index].pacing / 2)
    guard count >= max(1, EventLoop.bytes(rate, in: duration)) else { return false }
    table[index].windowBase = progress
    table[index].timer.due = services.now + duration
    wheel.schedule(index, in: table)
    return true
  }

  private static func bytes(_ rate: UInt64, in nanoseconds: UInt64) -> UInt64 {
    let product = rate.multipliedFullWidth(by: nanoseconds)
    guard product.high < 1_000_000_000 else { return .max }
    return UInt64(1_000_000_000).dividingFullWidth(product).quotient
  }

  /// Bytes of content that have arrived, or of responses that the peer has acknowledged: what the kernel has
  /// taken says little of a slow peer, for it takes a mebibyte at a time.
  private mutating func progress(_ index: Int, against deadline: ConnectionMachine.Deadline) -> UInt64 {
    if deadline == .body { return table[index].received }
    let queued = UInt64(clamping: clinux_queued_output(table[index].descriptor))
    return table[index].sent > queued ? table[index].sent - queued : 0
  }

  mutating func beginDrain() {
    guard !isDraining else { return }
    acceptRest()
    isDraining = true
    drainDue = services.now + services.context.durations.drain
    stopListening()
    for index in 0..<table.end where !table[index].machine.isClosed {
      if table[index].machine.input == .idle { lookForRequest(index) }
      if perform(table[index].machine.handle(.drainBegan), on: index) { continueInput(index) }
      // The window of before is longer.
      if table[index].machine.deadline == .body { table[index].deadline = .none }
      updateTimer(index)
    }
  }

  /// A request may have arrived whose event has not been read yet.
  private mutating func lookForRequest(_ index: Int) {
    table[index].mayReceive = true
    table[index].tls.noteInput(isLast: false)
    services.beginTurn()
    continueInput(index)
  }

  mutating func closeAll() {
    for index in 0..<table.end where !table[index].machine.isClosed { abandon(index) }
  }

  /// One of the deadlines has passed and ends a connection.
  private func countDeadline(_ deadline: ConnectionMachine.Deadline) {
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
    if let kind { services.counters.add(Counter.deadlines + kind.rawValue) }
  }
}
