internal import CLinux
internal import Glibc
public import SystemCalls

/// The socket on which a service manager hears from its services (sd_notify(3)): a test that starts a daemon plays the
/// manager and learns without polling when the daemon answers, or that it has ended.
public final class NotificationSocket: Sendable {
  /// The value of `NOTIFY_SOCKET`.
  public let path: String
  /// The datagram socket.
  private let descriptor: FileDescriptor
  /// The thread that blocks for the next datagram, for at most ten minutes.
  private let thread = BlockingThread(name: "notifications")

  /// `path` must not exist; the file stays.
  public init(path: String) throws(SystemError) {
    self.path = path
    let number = try SystemCall.run("socket") {
      socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }
    descriptor = FileDescriptor(takingOwnershipOf: number)
    // A thread that waits here cannot be cancelled: a test whose daemon says nothing is to fail, not to stand still.
    var patience = timeval(tv_sec: 600, tv_usec: 0)
    try SystemCall.run("setsockopt") {
      unsafe setsockopt(number, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    }
    try SystemCall.run("bind", subject: path) {
      unsafe Self.withAddress(of: path) { unsafe bind(number, $0, $1) }
    }
  }

  /// The next text that was sent here; empty when none has come for ten minutes.
  public func next() async -> String {
    await thread.run { self.receive() }
  }

  /// Lets ``next()`` answer `text`.
  public func post(_ text: String) {
    let bytes = Array(text.utf8)
    let number = descriptor.number
    _ = unsafe Self.withAddress(of: path) { address, length in
      Int32(unsafe sendto(number, bytes, bytes.count, Int32(MSG_NOSIGNAL), address, length))
    }
  }

  /// Blocks for one datagram of at most 4096 bytes. Empty after the time limit and for an error.
  private func receive() -> String {
    let number = descriptor.number
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 4096) { buffer, count in
      let address = buffer.baseAddress
      repeat { count = unsafe recv(number, address, 4096, 0) } while count == -1 && errno == EINTR
      count = max(0, count)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Calls `body` with the path as a socket address and the length of the structure. Traps for a path that does not fit
  /// it, of 108 bytes or more.
  private static func withAddress(
    of path: String, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let name = Array(path.utf8)
    precondition(name.count < MemoryLayout.size(ofValue: address.sun_path), "too long for a socket: \(path)")
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
    return unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe body(pointer, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
  }
}
