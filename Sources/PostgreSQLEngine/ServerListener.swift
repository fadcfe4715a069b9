internal import CLinux
import CoreTypes
internal import Database
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// Hears of what other nodes have changed: by notifications at once, and by the revisions themselves every two seconds, since a
/// notification may be lost with a connection.
final class ServerListener: Sendable {
  /// Milliseconds between two looks at the revisions, and the longest pause between two tries to connect.
  private static let interval: Int32 = 2000

  /// The address to connect to, the claim to renew, and the counts to raise.
  private let link: ServerLink
  /// The one thread of the listener.
  private let pool = BlockingPool(name: "pg-listen", threads: 1)
  /// The end of the thread's work; nil before the start, and again once it was waited for.
  private let end = Mutex<PendingResult<Void, Never>?>(nil)
  /// Set before ``wake`` is written to, so that the thread that wakes up sees it.
  private let isClosed = Atomic<Bool>(false)
  /// An eventfd(2) that ends a wait in poll(2) at once.
  private let wake: FileDescriptor

  /// Throws `SystemError` where the process has no descriptor left.
  init(link: ServerLink) throws(SystemError) {
    self.link = link
    wake = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
  }

  /// Begins with a connection that is there; later ones are made by the listener. Everything that is committed afterwards is heard of.
  /// Blocks for the first look, which is no news. Throws ``DatabaseError``.
  func start(on first: ServerHandle) throws(DatabaseError) {
    var begin = HeardSignals()
    _ = try first.beginListening(&begin, link.changes)
    let (given, heard) = (GivenHandle(first), begin)
    end.locked { $0 = pool.start { [self] in work(on: given, heard) } }
  }

  /// A connection on its way to the listener's thread.
  // Sendable because the thread that opened it has no other use of it.
  private final class GivenHandle: @unchecked Sendable {
    /// Nil once it was taken.
    private var handle: ServerHandle?

    /// A handle that the caller gives up.
    init(_ handle: ServerHandle) { self.handle = handle }

    /// The handle at the first call, nil at each later one.
    func take() -> ServerHandle? {
      defer { handle = nil }
      return handle
    }
  }

  /// Ends, sooner or later.
  func abandon() {
    isClosed.store(true, ordering: .releasing)
    _ = eventfd_write(wake.number, 1)
  }

  /// Ends; blocks until it has.
  func close() {
    abandon()
    end.locked { $0 }?.get()
  }

  /// Listens until it is closed, with a new connection whenever one is lost.
  private func work(on given: GivenHandle, _ begin: HeardSignals) {
    var pause: Int32 = 100
    var heard = begin
    while !isClosed.load(ordering: .acquiring) {
      do {
        let handle: ServerHandle
        if let first = given.take() {
          handle = first
        } else {
          handle = try link.connect()
          // The server forgot the claim with the connection; a move may have come and gone meanwhile.
          try handle.beginUse(link.claim)
          try handle.refuseMark()
          link.refuse(nil)
          for (topic, news) in try handle.beginListening(&heard, link.changes) {
            link.changes.tell(news, of: topic)
          }
        }
        pause = 100
        try listen(on: handle, &heard)
      } catch {
        // No body runs without the claim: another process may have it by now.
        if link.claim != .none {
          link.refuse(error)
        }
        var descriptor = pollfd(fd: wake.number, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&descriptor, 1, pause)
        pause = min(pause * 2, Self.interval)
      }
    }
    link.changes.close()
  }

  /// Listens until the connection is lost or the listener ends. Looks at the revisions every two seconds.
  private func listen(on handle: ServerHandle, _ heard: inout HeardSignals) throws(DatabaseError) {
    var looked = ContinuousClock.now
    while !isClosed.load(ordering: .acquiring) {
      for payload in try handle.notifications(waiting: Self.interval, orUntil: wake.number) {
        guard let signal = ServerSignal(payload: payload) else { continue }
        link.changes.raise(signal.topic, to: signal.revision)
        if let news = heard.hear(signal) { link.changes.tell(news, of: signal.topic) }
      }
      guard .now - looked >= .milliseconds(Int(Self.interval)) else { continue }
      for (topic, news) in try handle.lookAtRevisions(&heard, link.changes) {
        link.changes.tell(news, of: topic)
      }
      looked = .now
    }
  }
}

/// The part of listening that asks the server.
extension ServerHandle {
  /// Lets notifications come, and looks at what was changed before. Returns the news.
  fileprivate func beginListening(
    _ heard: inout HeardSignals, _ changes: ChangeCounts
  ) throws(DatabaseError) -> [(ChangeTopic, ChangeNews)] {
    _ = try executeAlone("LISTEN pullbox")
    return try lookAtRevisions(&heard, changes)
  }

  /// Counts what was changed until now. Returns the news of it.
  fileprivate func lookAtRevisions(
    _ heard: inout HeardSignals, _ changes: ChangeCounts
  ) throws(DatabaseError) -> [(ChangeTopic, ChangeNews)] {
    var news: [(ChangeTopic, ChangeNews)] = []
    for row in try executeAlone("SELECT topic, revision FROM signals") {
      guard row.count == 2, let topic = row[0].map({ ChangeTopic($0) }),
        let revision = row[1].flatMap({ Int($0) })
      else { continue }
      switch heard.see(revision, of: topic) {
      case .known: continue
      case .later: changes.raise(topic, to: revision)
      case .earlier: changes.restart(topic, at: revision)
      }
      news.append((topic, .ofAnything))
    }
    return news
  }
}
