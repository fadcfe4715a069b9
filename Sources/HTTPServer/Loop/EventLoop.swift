internal import CLinux
internal import CoreTypes
internal import Glibc
internal import SystemCalls

/// One thread's share of a server: its listening sockets, its connections, its timers.
///
/// Everything here is touched by that thread alone; messages from elsewhere come through the ``LoopMailbox``.
/// A turn of ``run()`` waits for epoll, then handles each event: it has the ``ClientConnection`` receive and offers
/// complete requests to the handlers (`+Input`, `+Handlers`), has it send responses (`+Responses`, `+Output`), does what each connection's ``ConnectionMachine`` asks (`+Actions`), and finally
/// closes what is past its deadline (`+Time`). Requests come before content: connections that bring or take a long body
/// have their turns at the end, and no longer together than a request may wait for. New connections come from `+Accepting`. A connection's own
/// part, which needs no epoll, is in the extensions of ``ClientConnection``, with ``LoopServices`` for what all of a loop share. A connection is named by its index in the ``ConnectionTable`` throughout.
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
  /// Bytes that one recv(2) may bring of a head, or of a body of which less than ``longBody`` has come.
  static let shortReception = 16_384
  /// Bytes of a body.
  static let longBody: UInt64 = 262_144
  /// Bytes of a file that are copied into a response rather than sent by sendfile(2), which costs more below
  /// this.
  static let copiedLength = 8192
  /// Places for connections beyond the configured maximum, that are only told to come back later.
  static let spareConnections = 64
  private static let eventsPerTurn = 128

  /// What its connections share.
  var services: LoopServices
  /// The mailboxes of all loops, by their numbers.
  let mailboxes: [LoopMailbox]
  let epoll: FileDescriptor
  var listeners: [ListeningSocket]
  var table: ConnectionTable
  var wheel: TimerWheel
  let dispatcher: InlineDispatcher?
  /// For the head being read now; an incomplete head keeps its parser with its connection.
  var parser = RequestParser()
  let limits: RequestLimits
  /// A request that is handed to the async handler once the content that came with its head is.
  var deferred: PendingRequest?
  /// Connections whose turn ended before their work, and those that have not had one since content came for them.
  var ready: [ConnectionTag] = []
  /// Connections that are only told to come back later.
  var turnedAwayCount = 0
  var isDraining = false
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
    dispatcher = context.makeDispatcher(capacity)
    limits = RequestLimits(context.configuration)
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
    while !(isDraining && table.openCount == 0 && services.mailbox.close()) {
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
      updateTimer(tag.index)
    }
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
        process(exchange)
        updateTimer(exchange.tag.index)
      case .pagesReady(let tag, let failure):
        guard isCurrent(tag) else { continue }
        services.beginTurn()
        receivePages(tag.index, failure: failure)
        updateTimer(tag.index)
      case .pagesAhead(let tag, let failure):
        guard isCurrent(tag) else { continue }
        services.beginTurn()
        receivePagesAhead(tag.index, failure: failure)
        updateTimer(tag.index)
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
    let end = services.presentInstant() + Turn.length
    var done = 0
    while done < round.count, done == 0 || services.presentInstant() < end {
      let tag = round[done]
      done += 1
      guard isCurrent(tag) else { continue }
      table[tag.index].isReady = false
      services.beginTurn()
      if table[tag.index].machine.output != .nothing { continueOutput(tag.index) }
      if !table[tag.index].machine.isClosed { continueInput(tag.index) }
      updateTimer(tag.index)
    }
    if done < round.count { ready = Array(round[done...]) + ready }
  }

  mutating func makeReady(_ index: Int) {
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
