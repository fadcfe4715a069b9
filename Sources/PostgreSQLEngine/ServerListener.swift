internal import CLinux
internal import Database
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// Hears of what other nodes have changed: by notifications at once, and by the revisions themselves every two seconds, since a
/// notification may be lost with a connection.
final class ServerListener: Sendable {
  private static let interval: Int32 = 2000

  private let link: ServerLink
  private let pool = BlockingPool(name: "pg-listen", threads: 1)
  private let end = Mutex<PendingResult<Void, Never>?>(nil)
  private let isClosed = Atomic<Bool>(false)
  private let wake: FileDescriptor

  /// Throws `SystemError` where the process has no descriptor left.
  init(link: ServerLink) throws(SystemError) {
    self.link = link
    wake = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("eventfd") { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) })
  }

  /// Begins with a connection that is there; later ones are made by the listener.
  func start(on first: ServerHandle) {
    let given = GivenHandle(first)
    end.withLock { $0 = pool.start { [self] in work(on: given) } }
  }

  /// A connection on its way to the listener's thread.
  // Sendable because the thread that opened it has no other use of it.
  private final class GivenHandle: @unchecked Sendable {
    private var handle: ServerHandle?

    init(_ handle: ServerHandle) { self.handle = handle }

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
    end.withLock { $0 }?.get()
  }

  private func work(on given: GivenHandle) {
    var pause: Int32 = 100
    while !isClosed.load(ordering: .acquiring) {
      do {
        let handle: ServerHandle
        if let first = given.take() {
          handle = first
        } else {
          handle = try link.connect()
          // The server forgot the claim with the connection.
          if link.isAlone { try handle.waitToBeAlone() }
        }
        _ = try handle.executeAlone("LISTEN pullbox")
        pause = 100
        while !isClosed.load(ordering: .acquiring) {
          for row in try handle.executeAlone("SELECT topic, revision FROM signals") {
            guard row.count == 2, let topic = row[0], let revision = row[1].flatMap({ Int($0) }) else {
              continue
            }
            link.changes.raise(ChangeTopic(topic), to: revision)
          }
          _ = try handle.notifications(waiting: Self.interval, orUntil: wake.number)
        }
      } catch {
        // Bodies that read or write are told; here it is tried again.
        var descriptor = pollfd(fd: wake.number, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&descriptor, 1, pause)
        pause = min(pause * 2, Self.interval)
      }
    }
  }
}
