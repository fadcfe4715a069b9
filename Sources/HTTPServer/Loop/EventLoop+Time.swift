/// Time, deadlines, and bodies and connections that end before their end.
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
      let place = table.place(index)
      if place.connection.timer.due > services.now
        || place.connection.keepsPace(through: place.connection.line, with: services)
      {
        wheel.schedule(index, in: table)
        continue
      }
      services.beginTurn()
      place.connection.passDeadline(through: place.connection.line, with: &services)
      settle(index)
    }
    if drainDue > 0, services.now >= drainDue {
      drainDue = 0
      for index in 0..<table.end where !table[index].machine.isClosed {
        services.counters.add(Counter.deadlines + HTTPServerStatistics.Deadline.drain.rawValue)
        abandon(index)
      }
    }
  }

  mutating func beginDrain() {
    guard !services.isDraining else { return }
    acceptRest()
    services.isDraining = true
    drainDue = services.now + services.context.durations.drain
    stopListening()
    for index in 0..<table.end where !table[index].machine.isClosed {
      let place = table.place(index)
      place.connection.beginDrain(through: place.connection.line, with: &services)
      settle(index)
    }
  }

  mutating func closeAll() {
    for index in 0..<table.end where !table[index].machine.isClosed { abandon(index) }
  }

  private mutating func abandon(_ index: Int) {
    let place = table.place(index)
    place.connection.abandon(through: place.connection.line, with: &services)
    settle(index)
  }

  mutating func abortBodies(meteredBy meters: MeterSet) {
    for index in 0..<table.end where !table[index].machine.isClosed {
      guard let meter = table[index].meter, meters.contains(meter) else { continue }
      let place = table.place(index)
      // A body that is sent, as far as this server goes, may still wait in the kernel for a slow or paced
      // client.
      guard place.connection.isMetered || place.connection.line.queuedOutput > 0 else { continue }
      services.counters.add(Counter.abortedBodies)
      place.connection.reset(through: place.connection.line, with: &services)
      settle(index)
    }
  }

  /// Connections between two requests keep the last one's file for the next, which may never come, and so may the handler.
  mutating func releaseIdleFiles() {
    services.dispatcher?.releaseFiles()
    for index in 0..<table.end where !table[index].machine.isClosed && table[index].machine.output == .nothing
    {
      table[index].file = nil
      // What still waits in the kernel for a slow client is stopped by its meter.
      if table[index].meter != nil, table[index].line.queuedOutput == 0 { table[index].meter = nil }
      services.dispatcher?.releaseFiles(index)
    }
  }
}
