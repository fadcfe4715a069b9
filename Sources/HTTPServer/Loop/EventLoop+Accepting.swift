// Whichever of the two modules the compiler finds the socket addresses in first.
internal import CLinux
internal import Glibc
internal import Synchronization
internal import SystemCalls

extension EventLoop {
  /// Few, so that a flood of connections holds up those that are there by a moment only.
  private static let acceptsPerTurn = 8

  mutating func acceptConnections(_ position: Int) {
    guard !services.isDraining, position < listeners.count else { return }
    _ = acceptSome(listeners[position])
  }

  /// Accepts what waits at the sockets that are about to be closed.
  mutating func acceptRest() {
    for listener in listeners where !listener.isInherited {
      while acceptDue == 0, acceptSome(listener) {}
    }
  }

  /// True when there may be more.
  private mutating func acceptSome(_ listener: ListeningSocket) -> Bool {
    for _ in 0..<EventLoop.acceptsPerTurn {
      // Without a place left to answer from, what comes waits in the socket's queue until a connection closes.
      guard !table.isFull, !hasTurnedAwayEnough else {
        pauseAccepting()
        return false
      }
      let flags = Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
      var address = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let descriptor: Int32?
      do {
        descriptor = try SystemCall.runWithoutWaiting("accept4") {
          unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
              unsafe clinux_accept4(listener.descriptor.number, pointer, &length, flags)
            }
          }
        }
      } catch {
        // A connection that broke while it waited is ignored; without descriptors the loop can only wait.
        if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(error.number) { pauseAccepting() }
        return false
      }
      guard let descriptor else { return false }
      let connection = AcceptedConnection(
        descriptor: descriptor, peer: listener.isUnix ? .unix : PeerAddress(address),
        isSecure: listener.isSecure)
      // The kernel wakes the same loop again and again for a socket that all share, so this loop
      // distributes what it accepts.
      let loop = listener.isShared ? listener.nextLoop(of: mailboxes.count) : services.number
      if loop == services.number || !mailboxes[loop].post(.accepted(connection)) { admit(connection) }
    }
    return true
  }

  mutating func admit(_ connection: AcceptedConnection) {
    let descriptor = connection.descriptor
    let peer = connection.peer
    services.counters.add(Counter.accepted)
    let open = services.context.openCount.add(1, ordering: .relaxed).newValue
    guard !table.isFull, !services.isDraining || drainDue > 0 else {
      // There is no place left to answer from, or no time.
      return dismiss(descriptor)
    }
    let index: Int
    if connection.isSecure {
      guard let session = services.context.makeSession(descriptor: descriptor) else {
        // Without memory for a session there is none for an answer.
        return dismiss(descriptor)
      }
      index = table.add(descriptor: descriptor, peer: peer, tls: session)
    } else {
      index = table.add(descriptor: descriptor, peer: peer, tls: TLSSession())
    }
    services.dispatcher?.open(index)
    let tag = table[index].tag
    let events = EPOLLIN.rawValue | EPOLLOUT.rawValue | EPOLLRDHUP.rawValue | clinux_epoll_edge_triggered
    do {
      try watch(descriptor, events: events, as: .connection(tag))
    } catch {
      let place = table.place(index)
      place.connection.abandon(through: place.connection.line, with: &services)
      return settle(index)
    }
    if open > services.context.configuration.maximumConnections {
      turnAway(index, because: .capacity)
    } else if services.context.addresses.limits(peer) {
      if services.context.addresses.admit(peer) {
        table[index].isAddressCounted = true
      } else {
        turnAway(index, because: .address)
      }
    }
    if services.isDraining {
      let place = table.place(index)
      place.connection.endUnlessFresh(through: place.connection.line, with: &services)
    }
    settle(index)
  }

  /// Tells a connection to come back later; it does not count against the bounds meanwhile.
  private mutating func turnAway(_ index: Int, because reason: HTTPServerStatistics.Refusal) {
    table[index].isCounted = false
    turnedAwayCount += 1
    services.context.openCount.subtract(1, ordering: .relaxed)
    countRefusal(reason)
    let place = table.place(index)
    place.connection.refuse(with: .serviceUnavailable, through: place.connection.line, with: &services)
  }

  /// Whether every spare place has a connection that is being told to come back later, and the next one would
  /// be told so as well.
  private var hasTurnedAwayEnough: Bool {
    turnedAwayCount >= EventLoop.spareConnections
      && services.context.openCount.load(ordering: .relaxed)
        >= services.context.configuration.maximumConnections
  }

  /// Closes a connection that cannot even be answered.
  private func dismiss(_ descriptor: Int32) {
    services.context.openCount.subtract(1, ordering: .relaxed)
    _ = Glibc.close(descriptor)
    countRefusal(.overflow)
    services.counters.add(Counter.closed)
  }

  private func countRefusal(_ refusal: HTTPServerStatistics.Refusal) {
    services.counters.add(Counter.refusals + refusal.rawValue)
  }

  /// Stops watching the listening sockets for a tenth of a second, or until a connection closes.
  private mutating func pauseAccepting() {
    guard acceptDue == 0 else { return }
    acceptDue = services.now + 100_000_000
    services.counters.add(Counter.acceptPauses)
    unwatchListeners()
  }

  mutating func resumeAccepting() {
    acceptDue = 0
    guard !services.isDraining else { return }
    do {
      try watchListeners()
    } catch {
      // Those before the one that failed are watched already, and could not be added again.
      unwatchListeners()
      acceptDue = services.now + 100_000_000
    }
  }

  mutating func stopListening() {
    if acceptDue == 0 { unwatchListeners() }
    acceptDue = 0
    listeners = []
  }

  private func unwatchListeners() {
    for listener in listeners {
      // It was added with the same descriptor, so there is nothing that could fail.
      _ = epoll_ctl(epoll.number, EPOLL_CTL_DEL, listener.descriptor.number, nil)
    }
  }
}
