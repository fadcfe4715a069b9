// Whichever of the two modules the compiler finds the socket addresses in first.
internal import CLinux
internal import Dispatch
internal import Glibc
internal import SystemCalls

/// A plain socket to a server under test, which sends exactly the bytes that the test gives it. Waiting happens on a queue of its own,
/// never on the threads that handlers need. Every wait ends after ``patience``.
public final class RawConnection: ResponseReader {
  /// Why a test's connection failed.
  public struct Failure: Error, CustomStringConvertible {
    /// The failure in words.
    public let description: String
  }

  /// The longest wait in milliseconds.
  private static let patience: Int32 = 120_000

  /// The socket, closed with this object.
  private let socket: FileDescriptor
  /// The queue on which calls wait, one after the other: a send that waits keeps a receive from beginning.
  private let queue = DispatchQueue(label: "raw connection")
  /// Bytes that were put back and come before those of the socket.
  private let buffer = Locked<[UInt8]>([])

  /// Takes over a socket that is connected.
  private init(_ socket: consuming FileDescriptor) {
    self.socket = socket
  }

  /// Connects to a port of 127.0.0.1, or of `::1`. A small `receiveBuffer` makes the peer's socket fill up early.
  /// `beforeConnecting` gets the socket's number.
  public static func tcp(
    port: UInt16, receiveBuffer: Int32? = nil, isVersion6: Bool = false,
    beforeConnecting: (Int32) -> Void = { _ in }
  ) throws -> RawConnection {
    let socket = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("socket") {
        Glibc.socket(isVersion6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      })
    if var length = receiveBuffer {
      try SystemCall.run("setsockopt") {
        unsafe setsockopt(
          socket.number, SOL_SOCKET, SO_RCVBUF, &length, socklen_t(MemoryLayout<Int32>.size))
      }
    }
    // Bytes sent one by one are to arrive one by one.
    var yes: Int32 = 1
    try SystemCall.run("setsockopt") {
      unsafe setsockopt(
        socket.number, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
    }
    if isVersion6 {
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      address.sin6_addr = in6addr_loopback
      try connect(socket.number, to: &address)
      return RawConnection(socket)
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    beforeConnecting(socket.number)
    try connect(socket.number, to: &address)
    return RawConnection(socket)
  }

  /// Connects to a Unix socket.
  public static func unix(path: String) throws -> RawConnection {
    let socket = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("socket") {
        Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      })
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
      throw Failure(description: "too long for a Unix socket: \(path)")
    }
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    try connect(socket.number, to: &address)
    return RawConnection(socket)
  }

  /// Connects in the calling thread. `Address` is the structure of the family.
  private static func connect<Address>(_ socket: Int32, to address: inout Address) throws {
    try SystemCall.run("connect") {
      unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe Glibc.connect(socket, pointer, socklen_t(MemoryLayout<Address>.size))
        }
      }
    }
  }

  /// Sends all of `text` in UTF-8.
  public func send(_ text: String) async throws {
    try await send(Array(text.utf8))
  }

  /// Returns when the kernel has accepted all bytes.
  public func send(_ bytes: [UInt8]) async throws {
    try await perform {
      var sent = 0
      while sent < bytes.count {
        let start = sent
        try self.wait(for: POLLOUT)
        sent += try SystemCall.run("send") {
          unsafe bytes.withUnsafeBytes { bytes in
            unsafe Glibc.send(
              self.socket.number, bytes.baseAddress?.advanced(by: start), bytes.count - start,
              Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
          }
        }
      }
    }
  }

  /// Sends what the kernel accepts without waiting, and answers how many bytes that was.
  public func sendWithoutWaiting(_ bytes: [UInt8]) async throws -> Int {
    try await perform {
      try SystemCall.runWithoutWaiting("send") {
        unsafe bytes.withUnsafeBytes { bytes in
          unsafe Glibc.send(
            self.socket.number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
      } ?? 0
    }
  }

  /// The next bytes, at most `limit`; none at the end. Throws for a reset.
  public func receive(upTo limit: Int) async throws -> [UInt8] {
    let buffered = buffer.withLock { buffer in
      let taken = Array(buffer.prefix(limit))
      buffer.removeFirst(taken.count)
      return taken
    }
    if !buffered.isEmpty { return buffered }
    return try await perform {
      try self.wait(for: POLLIN)
      let number = self.socket.number
      let length = min(limit, 1 << 20)
      return try unsafe [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
        let address = buffer.baseAddress
        count = try SystemCall.run("recv") { unsafe recv(number, address, length, 0) }
      }
    }
  }

  /// Makes `bytes` the next ones that are received.
  public func putBack(_ bytes: [UInt8]) {
    buffer.withLock { $0 = bytes + $0 }
  }

  /// Closes the sending half.
  public func endSending() {
    _ = shutdown(socket.number, Int32(SHUT_WR))
  }

  /// Closes both halves at once, as a crashed peer would: what lies unread is thrown away and the other side learns it.
  public func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    _ = unsafe setsockopt(
      socket.number, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    _ = shutdown(socket.number, Int32(SHUT_RDWR))
    // The number stays ours until this object goes: an unconnected address family makes the kernel send the reset now.
    var nowhere = sockaddr()
    nowhere.sa_family = sa_family_t(AF_UNSPEC)
    _ = unsafe Glibc.connect(socket.number, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
  }

  /// Waits in poll(2) until the socket is ready. Throws ``Failure`` after two minutes.
  private func wait(for events: Int32) throws {
    var entry = pollfd(fd: socket.number, events: Int16(events), revents: 0)
    let count = try SystemCall.run("poll") { unsafe poll(&entry, 1, RawConnection.patience) }
    guard count > 0 else { throw Failure(description: "the server did nothing for two minutes") }
  }

  /// Runs the body on the queue and throws what it throws. The calling thread is free meanwhile.
  private func perform<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws
    -> Result
  {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try body() }) }
    }
  }
}
