internal import CLinux
internal import CoreTypes
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// One thread's share of a server: its listening sockets, its connections, its timers.
///
/// Everything here is touched by that thread alone; messages from elsewhere come through the ``LoopMailbox``.
/// A turn of ``run()`` waits for epoll, then hands each event to the ``ClientConnection`` that it is about, which does all that its
/// turn has room for, and closes what is past its deadline (`+Time`). Requests come before content: connections that bring or take a
/// long body have their turns at the end, and no longer together than a request may wait for. New connections come from
/// `+Accepting`. What all connections of a loop share are its ``LoopServices``. A connection is named by its index in the
/// ``ConnectionTable`` throughout.
///
/// ```swift
/// let loop = LoopTransfer(EventLoop(number: 0, context: context, ...))
/// try loop.prepare()
/// let thread = try LoopThread(isLoop: true) { loop.run() }
/// ```
///
/// What is called for every request is `mutating`, whether it changes the loop or not: for a call that only
/// borrows the loop, the compiler makes a copy of all of it, which is a kilobyte.
struct EventLoop: ~Copyable {
  /// Places for connections beyond the configured maximum, that are only told to come back later.
  static let spareConnections = 64
  private static let eventsPerTurn = 128

  /// The services that the loop's connections share.
  var services: LoopServices
  /// The mailboxes of all loops, by their numbers.
  let mailboxes: [LoopMailbox]
  let epoll: FileDescriptor
  var listeners: [ListeningSocket]
  var table: ConnectionTable
  var wheel: TimerWheel
  /// Connections whose turn ended before their work, and those that have not had one since content came for them.
  var ready: [ConnectionTag] = []
  /// Connections that are only told to come back later.
  var turnedAwayCount = 0
  var drainDue: UInt64 = 0
  /// accept(2) ran out of descriptors; listening goes on when some are free or this time has come.
  var acceptDue: UInt64 = 0

  /// Call ``prepare()`` before ``run()``.
  init(
    number: Int, context: ServerContext, counters: CounterBlock, ring: AccessRing?,
    mailboxes: [LoopMailbox], listeners: [ListeningSocket], epoll: consuming FileDescriptor
  ) {
    self.mailboxes = mailboxes
    self.listeners = listeners
    self.epoll = epoll
    let capacity = max(1, context.configuration.maximumConnections) + EventLoop.spareConnections
    table = ConnectionTable(capacity: capacity)
    services = LoopServices(
      context: context, mailbox: mailboxes[number], number: number, counters: counters, ring: ring,
      capacity: capacity)
    wheel = TimerWheel(now: services.now)
  }

  static func makeEpoll() throws(SystemError) -> FileDescriptor {
    FileDescriptor(
      takingOwnershipOf: try SystemCall.run("epoll_create1") { epoll_create1(Int32(EPOLL_CLOEXEC)) })
  }

  func prepare() throws(SystemError) {
    try watch(services.mailbox.event.number, events: EPOLLIN.rawValue, as: .mailbox)
    try watchListeners()
  }

  /// Runs until the server is drained and the last connection closed.
  mutating func run() {
    var events = unsafe [epoll_event](repeating: epoll_event(), count: EventLoop.eventsPerTurn)
    while !(services.isDraining && table.openCount == 0 && services.mailbox.close()) {
      let timeout = waitMilliseconds()
      let count = unsafe events.withUnsafeMutableBufferPointer { events in
        unsafe epoll_wait(epoll.number, events.baseAddress, Int32(events.count), timeout)
      }
      services.refreshTime()
      for position in 0..<max(0, Int(count)) {
        let subject = EventSubject(rawValue: unsafe clinux_epoll_tag(&events[position]))
        unsafe handle(subject, events: events[position].events)
      }
      runReadyConnections()
      passDeadlines()
    }
    closeAll()
  }

  private mutating func handle(_ subject: EventSubject, events: UInt32) {
    switch subject {
    case .listener(let position): acceptConnections(position)
    case .mailbox: readMailbox()
    case .connection(let tag):
      guard isCurrent(tag) else { return }
      services.beginTurn()
      wake(tag.index, events: events)
      settle(tag.index)
    }
  }

  private mutating func wake(_ index: Int, events: UInt32) {
    let place = table.place(index)
    // Both sides have ended, or a Unix peer is gone. In the first case the response may still be on its way,
    // and closing with bytes unread would reset it: they are read to their end first.
    if events & EPOLLERR.rawValue != 0
      || events & EPOLLHUP.rawValue != 0 && !place.connection.machine.isLingering
    {
      return place.connection.abandon(through: place.connection.line, with: &services)
    }
    var readiness = ClientConnection.Readiness()
    if events & EPOLLIN.rawValue != 0 { readiness.insert(.input) }
    if events & EPOLLOUT.rawValue != 0 { readiness.insert(.output) }
    if events & EPOLLRDHUP.rawValue != 0 { readiness.insert(.lastInput) }
    place.connection.wake(readiness, through: place.connection.line, with: &services)
  }

  /// Does what a connection leaves to its loop once it has done what it could.
  mutating func settle(_ index: Int) {
    let place = table.place(index)
    if place.connection.machine.isClosed { return remove(index) }
    if place.connection.wantsTurn {
      place.connection.wantsTurn = false
      makeReady(index)
    }
    if place.connection.renewDeadline(through: place.connection.line, with: services) {
      wheel.schedule(index, in: table)
    }
  }

  private mutating func remove(_ index: Int) {
    services.counters.add(Counter.closed)
    services.dispatcher?.close(index)
    wheel.remove(index, in: table)
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

  func isCurrent(_ tag: ConnectionTag) -> Bool {
    tag.index < table.end && table[tag.index].tag == tag
  }

  private mutating func readMailbox() {
    for message in services.mailbox.collectMessages() {
      switch message {
      case .exchangeChanged(let exchange):
        guard isCurrent(exchange.tag) else { continue }
        services.beginTurn()
        let place = table.place(exchange.tag.index)
        place.connection.process(exchange, through: place.connection.line, with: &services)
        settle(exchange.tag.index)
      case .pagesReady(let tag, let failure):
        guard isCurrent(tag) else { continue }
        services.beginTurn()
        let place = table.place(tag.index)
        place.connection.receivePages(failure: failure, through: place.connection.line, with: &services)
        settle(tag.index)
      case .pagesAhead(let tag, let failure):
        guard isCurrent(tag) else { continue }
        services.beginTurn()
        let place = table.place(tag.index)
        place.connection.receivePagesAhead(failure: failure, through: place.connection.line, with: &services)
        settle(tag.index)
      case .partReady(let tag, let isThere):
        guard isCurrent(tag) else { continue }
        services.beginTurn()
        let place = table.place(tag.index)
        place.connection.receivePart(isThere: isThere, through: place.connection.line, with: &services)
        settle(tag.index)
      case .abortBodies(let meters): abortBodies(meteredBy: meters)
      case .releaseIdleFiles: releaseIdleFiles()
      case .accepted(let connection): admit(connection)
      case .ping(let continuation): continuation.resume()
      case .drain: beginDrain()
      }
    }
  }

  /// Gives connections their turns, those first that have waited longest, for as long as one may last: then the
  /// loop looks for new events.
  private mutating func runReadyConnections() {
    guard !ready.isEmpty else { return }
    let round = ready
    ready.removeAll(keepingCapacity: true)
    let end = services.presentInstant() + services.turnTime
    var done = 0
    while done < round.count, done == 0 || services.presentInstant() < end {
      let tag = round[done]
      done += 1
      guard isCurrent(tag) else { continue }
      let place = table.place(tag.index)
      place.connection.isReady = false
      services.beginTurn()
      place.connection.resume(through: place.connection.line, with: &services)
      settle(tag.index)
    }
    if done < round.count { ready = Array(round[done...]) + ready }
  }

  private mutating func makeReady(_ index: Int) {
    guard !table[index].isReady else { return }
    table[index].isReady = true
    ready.append(table[index].tag)
  }

  func watch(_ descriptor: Int32, events: UInt32, as subject: EventSubject) throws(SystemError) {
    var event = unsafe clinux_epoll_event(events, subject.rawValue)
    let number = epoll.number
    try SystemCall.run("epoll_ctl") { unsafe epoll_ctl(number, EPOLL_CTL_ADD, descriptor, &event) }
  }

  func watchListeners() throws(SystemError) {
    for (position, listener) in listeners.enumerated() {
      // One loop is woken for a shared socket, not all.
      let events = EPOLLIN.rawValue | (listener.isShared ? clinux_epoll_exclusive : 0)
      try watch(listener.descriptor.number, events: events, as: .listener(position))
    }
  }
}
