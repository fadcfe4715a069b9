internal import CLinux
public import CoreTypes
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// An HTTP/1.1 server on event loops, one thread per processor, with TLS and Unix sockets.
///
/// Each loop accepts connections, reads request heads (``RequestParser``) and moves responses. It asks the
/// ``InlineHandler`` first, on its own thread; what that one defers, and every request with content, goes to
/// the ``AsyncHandler`` in a task of its own. ``HTTPServerConfiguration`` bounds everything a client can do.
/// What happens is counted (``statistics()``) and recorded (``ExchangeRecorder``).
///
/// Start it once; drain it once. A server that is not drained keeps running when its value goes away.
///
/// ```swift
/// let server = HTTPServer(
///   configuration: HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 8080)]),
///   handler: Router { routes in
///     routes.on(.get, "/hello/{name}") { _, parameters in
///       HTTPResponse(status: .ok, body: .bytes(Array("hello, \(parameters["name"])\n".utf8)))
///     }
///   })
/// try server.start()
/// // ...until it is time to end:
/// await server.drain()
/// ```
public final class HTTPServer: Sendable {
  private struct State {
    var addresses: [ServerAddress] = []
    var secureAddresses: [ServerAddress] = []
    var mailboxes: [LoopMailbox] = []
    var unixPaths: [String] = []
    var threads: [LoopThread] = []
    var counters: [CounterBlock] = []
    var rings: [AccessRing] = []
    var wasStarted = false

    mutating func add(_ address: ServerAddress, isSecure: Bool) {
      if isSecure { secureAddresses.append(address) } else { addresses.append(address) }
    }
  }

  private let requests: RequestTasks
  private let context: ServerContext
  private let state = Mutex(State())

  /// Opens nothing yet. `inline` is asked before `handler`; the clocks are the system's unless a test owns
  /// them.
  public convenience init(
    configuration: HTTPServerConfiguration, inline: (any InlineHandler)? = nil, handler: any AsyncHandler,
    clock: any MonotonicClock = SystemMonotonicClock(), wallClock: any WallClock = SystemWallClock()
  ) {
    self.init(
      configuration: configuration, inline: inline, handler: handler, clock: clock, wallClock: wallClock,
      pageCache: SystemPageCache())
  }

  /// With a page cache of a test's own.
  init(
    configuration: HTTPServerConfiguration, inline: (any InlineHandler)?, handler: any AsyncHandler,
    clock: any MonotonicClock, wallClock: any WallClock, pageCache: any PageCache
  ) {
    requests = RequestTasks(handler)
    context = ServerContext(
      configuration: configuration, clock: clock, wallClock: wallClock,
      makeDispatcher: { capacity in
        inline.map { HTTPServer.makeDispatcher($0, capacity: capacity) }
      }, requests: requests, pageCache: pageCache)
  }

  private static func makeDispatcher(_ handler: some InlineHandler, capacity: Int) -> InlineDispatcher {
    TypedInlineDispatcher(handler.copyForLoop(), capacity: capacity)
  }

  /// Binds every address and starts the loops. Throws ``HTTPServerError``; then nothing is left open. Ignores
  /// `SIGPIPE` for the whole process from then on (sendfile has no flag against it).
  public func start() throws(HTTPServerError) {
    try state.locked { (state) throws(HTTPServerError) in
      guard !state.wasStarted else { throw HTTPServerError(.startedTwice, "the server was started before") }
      state.wasStarted = true
      signal(SIGPIPE, SIG_IGN)
      let loops = context.configuration.loops
      let count = loops > 0 ? loops : max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
      try context.loadCertificates()
      var sockets = [[ListeningSocket]](repeating: [], count: count)
      do throws(HTTPServerError) {
        try listen(&state, sockets: &sockets)
        do throws(SystemError) {
          try startThreads(listeningOn: sockets, state: &state)
        } catch {
          stopThreads(&state)
          throw HTTPServerError(.systemFailure, "cannot start the event loops", cause: error)
        }
      } catch {
        HTTPServer.removeSocketFiles(&state)
        throw error
      }
    }
  }

  /// Binds every address, and takes over what was inherited.
  private func listen(_ state: inout State, sockets: inout [[ListeningSocket]]) throws(HTTPServerError) {
    let configuration = context.configuration
    for (addresses, isSecure) in [
      (configuration.addresses, false), (configuration.tls?.addresses ?? [], true),
    ] {
      for address in addresses {
        let bound = try HTTPServer.bind(
          address, configuration: configuration, sockets: &sockets, isSecure: isSecure)
        if case .unix(let path) = bound, !path.hasPrefix("@") { state.unixPaths.append(path) }
        state.add(bound, isSecure: isSecure)
      }
    }
    for socket in configuration.inherited {
      let (listener, address) = try ListeningSocket.adopt(socket, configuration: configuration)
      for loop in sockets.indices { sockets[loop].append(listener) }
      state.add(address, isSecure: listener.isSecure)
    }
  }

  private static func removeSocketFiles(_ state: inout State) {
    for path in state.unixPaths { _ = unsafe unlink(path) }
    state.unixPaths = []
  }

  /// Where it speaks plain HTTP: with the real port where 0 was asked for. Empty before ``start()``.
  public var boundAddresses: [ServerAddress] { state.locked { $0.addresses } }

  /// The addresses where it speaks TLS, in the same way.
  public var boundSecureAddresses: [ServerAddress] { state.locked { $0.secureAddresses } }

  /// Reads certificate and key again, for connections accepted from then on; open ones keep theirs, and
  /// sessions made with the old certificate are not resumed. When it throws
  /// ``HTTPServerError/Code/certificateInvalid``, the old ones stay. Does nothing without
  /// ``HTTPServerConfiguration/tls``. Blocks.
  public func reloadCertificates() throws(HTTPServerError) {
    try context.loadCertificates()
  }

  /// When the first certificate of the chain in use ends; nil without TLS, and before ``start()``.
  public var certificateExpiry: Timestamp? { context.certificateExpiry }

  /// Stops accepting, closes idle connections, lets requests in progress finish until the drain deadline,
  /// then closes what is left; returns when every thread and task of the server has ended. Removes the files
  /// of its Unix sockets.
  public func drain() async {
    let (mailboxes, threads) = state.locked { state in
      // New clients find nothing there rather than a socket that no loop accepts from.
      HTTPServer.removeSocketFiles(&state)
      return (state.mailboxes, state.threads)
    }
    for mailbox in mailboxes { mailbox.post(.drain) }
    for thread in threads where thread.isLoop { await thread.end() }
    await requests.end()
    context.pages.stop(threads: readers)
    for thread in threads where !thread.isLoop { await thread.end() }
  }

  /// Returns the counts until now, of all loops together. Still answers after the drain.
  public func statistics() -> HTTPServerStatistics {
    let (counters, rings) = state.locked { ($0.counters, $0.rings) }
    var statistics = HTTPServerStatistics()
    for block in counters { statistics.add(block) }
    statistics.droppedRecords = rings.reduce(0) { $0 + $1.dropped }
    return statistics
  }

  /// Resets every connection whose running body carries one of the meters, and those whose last body did and has
  /// not left the kernel yet: what the kernel queued is dropped. Each loop gets one message, however many meters
  /// there are. Returns when all loops were told, which is before they have acted.
  public func abortBodies(meteredBy meters: [any BodyMeter]) {
    guard !meters.isEmpty else { return }
    let set = MeterSet(meters)
    for mailbox in state.locked({ $0.mailboxes }) { mailbox.post(.abortBodies(set)) }
  }

  /// Has connections that wait for their next request let go of the files of their last one, and inline handlers of those that
  /// they keep, so that what a cache has forgotten is closed, and counts as no descriptor in use. Returns before the loops have
  /// acted.
  public func releaseIdleFiles() {
    for mailbox in state.locked({ $0.mailboxes }) { mailbox.post(.releaseIdleFiles) }
  }

  /// Returns when every loop has gone around once, which proves that they all run. Returns at once before the
  /// start and after a drain.
  public func ping() async {
    for mailbox in state.locked({ $0.mailboxes }) {
      await withCheckedContinuation { continuation in
        if !mailbox.post(.ping(continuation)) { continuation.resume() }
      }
    }
  }

  /// Makes the loops look at their clock: for tests that own it.
  func clockDidMove() {
    for mailbox in state.locked({ $0.mailboxes }) { mailbox.wake() }
  }

  /// Parts of files that are to be brought into memory, and that no thread has begun: for tests.
  var waitingPageJobs: Int { context.pages.waitingCount }

  private var readers: Int { max(1, context.configuration.readers) }

  private func startThreads(listeningOn sockets: [[ListeningSocket]], state: inout State) throws(SystemError)
  {
    let context = context
    let recorder = context.configuration.recorder
    if let recorder {
      state.rings = sockets.map { _ in AccessRing(capacity: recorder.ringCapacity) }
      recorder.begin(state.rings)
    }
    for _ in sockets { state.mailboxes.append(try LoopMailbox()) }
    for (number, listeners) in sockets.enumerated() {
      let counters = CounterBlock()
      let epoll = try EventLoop.makeEpoll()
      let loop = LoopTransfer(
        EventLoop(
          number: number, context: context, counters: counters,
          ring: recorder == nil ? nil : state.rings[number], mailboxes: state.mailboxes, listeners: listeners,
          epoll: epoll))
      try loop.prepare()
      state.counters.append(counters)
      state.threads.append(try LoopThread(isLoop: true) { loop.run() })
    }
    for _ in 0..<readers {
      state.threads.append(try LoopThread(isLoop: false) { context.pages.run() })
    }
  }

  private func stopThreads(_ state: inout State) {
    for mailbox in state.mailboxes { mailbox.post(.drain) }
    state.mailboxes = []
    context.pages.stop(threads: readers)
  }

  /// Adds a listening socket to each loop's; returns the real address.
  private static func bind(
    _ address: ServerAddress, configuration: HTTPServerConfiguration, sockets: inout [[ListeningSocket]],
    isSecure: Bool
  ) throws(HTTPServerError) -> ServerAddress {
    let (first, bound) = try ListeningSocket.open(
      address, configuration: configuration, isFirst: true, isSecure: isSecure)
    sockets[0].append(first)
    for loop in sockets.indices.dropFirst() {
      switch bound {
      case .unix: sockets[loop].append(first)
      case .tcp:
        sockets[loop].append(
          try ListeningSocket.open(bound, configuration: configuration, isFirst: false, isSecure: isSecure).0)
      }
    }
    return bound
  }
}
