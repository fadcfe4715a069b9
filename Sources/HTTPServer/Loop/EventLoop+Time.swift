internal import Measures

/// Time, deadlines and the end.
extension EventLoop {
  mutating func refreshTime() {
    now = context.clock.now().nanoseconds
    guard now >= dateDue else { return }
    let wall = context.wallClock.now()
    date = HTTPDateField(secondsSinceEpoch: wall.secondsSinceEpoch)
    wallBase = wall.millisecondsSinceEpoch
    wallBaseInstant = now
    let rest = 1000 - (wall.millisecondsSinceEpoch - wall.secondsSinceEpoch * 1000)
    dateDue = now + UInt64(rest) * 1_000_000
  }

  /// For epoll_wait: 0 while somebody waits for a turn, -1 while nothing is due.
  func waitMilliseconds() -> Int32 {
    if !ready.isEmpty { return 0 }
    var wait = wheel.wait(now: now)
    for due in [acceptDue, drainDue] where due > 0 {
      let rest = due > now ? due - now : 0
      wait = min(wait ?? rest, rest)
    }
    return wait.map { Int32(min(($0 + 999_999) / 1_000_000, 60_000)) } ?? -1
  }

  mutating func passDeadlines() {
    if acceptDue > 0, now >= acceptDue { resumeAccepting() }
    while let index = wheel.takeNext(now: now, table) {
      guard !table[index].machine.isClosed, table[index].timer.due > 0 else { continue }
      if table[index].timer.due <= now {
        table[index].timer.due = 0
        let isBody = table[index].machine.deadline == .body
        countDeadline(table[index].machine.deadline)
        let actions = table[index].machine.handle(.deadlinePassed)
        if perform(actions, index, bodyError: isBody ? .timedOut : .connectionClosed) { continueInput(index) }
        table[index].isTouched = true
        settle(index)
      } else {
        wheel.schedule(index, table)
      }
    }
    if drainDue > 0, now >= drainDue {
      drainDue = 0
      for index in 0..<table.end where !table[index].machine.isClosed {
        counters.add(Counter.deadlines + HTTPServerStatistics.Deadline.drain.rawValue)
        abandon(index)
      }
    }
  }

  /// Sets the timer that the connection's state asks for now.
  mutating func settle(_ index: Int) {
    let deadline = table[index].machine.deadline
    guard table[index].isTouched || deadline != table[index].deadline else { return }
    table[index].isTouched = false
    table[index].deadline = deadline
    guard let duration = context.duration(of: deadline) else {
      table[index].timer.due = 0
      return
    }
    table[index].timer.due = now + duration
    wheel.schedule(index, table)
  }

  mutating func beginDrain() {
    guard !isDraining else { return }
    isDraining = true
    drainDue = now + context.drainDuration
    stopListening()
    for index in 0..<table.end where !table[index].machine.isClosed {
      if perform(table[index].machine.handle(.drainBegan), index) { continueInput(index) }
      settle(index)
    }
  }

  mutating func closeAll() {
    for index in 0..<table.end where !table[index].machine.isClosed { abandon(index) }
  }
}
