internal import Dispatch
// Whichever of the two modules the compiler finds the socket addresses in first.
internal import CLinux
internal import Glibc
internal import SystemCalls

/// A plain socket to a server under test: says exactly what it is told to. Waiting happens on a queue of its own, never on
/// the threads that handlers need. Every wait ends after ``patience``.
public final class RawConnection: Sendable {
  /// Why a test's connection failed.
  public struct Failure: Error, CustomStringConvertible {
    public let description: String
  }

  private static let patience: Int32 = 20_000

  private let socket: FileDescriptor
  private let queue = DispatchQueue(label: "raw connection")
  private let buffer = Locked<[UInt8]>([])

  private init(_ socket: consuming FileDescriptor) {
    self.socket = socket
  }

  /// Connects to a port of 127.0.0.1. A small `receiveBuffer` makes the peer's socket fill up early. `beforeConnecting` gets
  /// the socket's number.
  public static func tcp(
    port: UInt16, receiveBuffer: Int32? = nil, beforeConnecting: (Int32) -> Void = { _ in }
  ) throws -> RawConnection {
    let socket = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("socket") {
        Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      })
    if var length = receiveBuffer {
      try SystemCall.run("setsockopt") {
        unsafe setsockopt(
          socket.number, SOL_SOCKET, SO_RCVBUF, &length, socklen_t(MemoryLayout<Int32>.size))
      }
    }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    beforeConnecting(socket.number)
    try connect(socket.number, &address)
    return RawConnection(socket)
  }

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
    try connect(socket.number, &address)
    return RawConnection(socket)
  }

  private static func connect<Address>(_ socket: Int32, _ address: inout Address) throws {
    try SystemCall.run("connect") {
      unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe Glibc.connect(socket, pointer, socklen_t(MemoryLayout<Address>.size))
        }
      }
    }
  }

  public func send(_ text: String) async throws {
    try await send(Array(text.utf8))
  }

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

  /// As many of `bytes` as the kernel takes without waiting.
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

  /// The next bytes; none at the end.
  public func receive(upTo limit: Int = 65_536) async throws -> [UInt8] {
    let buffered = buffer.withLock { buffer in
      let taken = Array(buffer.prefix(limit))
      buffer.removeFirst(taken.count)
      return taken
    }
    if !buffered.isEmpty { return buffered }
    return try await perform {
      try self.wait(for: POLLIN)
      var bytes = [UInt8](repeating: 0, count: limit)
      let count = try SystemCall.run("recv") {
        unsafe bytes.withUnsafeMutableBytes { unsafe recv(self.socket.number, $0.baseAddress, limit, 0) }
      }
      return Array(bytes.prefix(count))
    }
  }

  /// Everything until the peer closes. A reset counts as a failure.
  public func receiveToEnd() async throws -> [UInt8] {
    var all: [UInt8] = []
    while true {
      let bytes = try await receive()
      if bytes.isEmpty { return all }
      all += bytes
    }
  }

  /// Exactly `count` bytes; fails when the peer closes before.
  public func receive(exactly count: Int) async throws -> [UInt8] {
    var all: [UInt8] = []
    while all.count < count {
      let bytes = try await receive(upTo: count - all.count)
      guard !bytes.isEmpty else {
        throw Failure(description: "the end came after \(all.count) of \(count) bytes")
      }
      all += bytes
    }
    return all
  }

  /// Up to and with `end`; what was received behind it is kept for the next call.
  public func receive(through end: String) async throws -> String {
    let pattern = Array(end.utf8)
    var all: [UInt8] = []
    while true {
      if let place = RawConnection.firstPlace(of: pattern, in: all) {
        let rest = Array(all[(place + pattern.count)...])
        buffer.withLock { $0 = rest + $0 }
        return String(decoding: all[..<(place + pattern.count)], as: UTF8.self)
      }
      let bytes = try await receive()
      guard !bytes.isEmpty else {
        throw Failure(description: "the end came first: \(String(decoding: all, as: UTF8.self))")
      }
      all += bytes
    }
  }

  /// The next final response with its content.
  public func receiveResponse(toHead: Bool = false) async throws -> RawResponse {
    let head = try RawResponse.Head(try await receive(through: "\r\n\r\n"))
    var response = RawResponse(head: head, body: [])
    if toHead || head.status == 204 || head.status == 304 || head.status < 200 { return response }
    if head["Transfer-Encoding"]?.lowercased() == "chunked" {
      while true {
        let line = try await receive(through: "\r\n")
        guard let count = Int(String(decoding: line.utf8.dropLast(2), as: UTF8.self), radix: 16) else {
          throw Failure(description: "not a chunk size: \(line)")
        }
        response.body += try await receive(exactly: count)
        _ = try await receive(through: "\r\n")
        if count == 0 { return response }
      }
    }
    if let length = head["Content-Length"].flatMap(Int.init) {
      response.body = try await receive(exactly: length)
    } else {
      response.body = try await receiveToEnd()
    }
    return response
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

  private func wait(for events: Int32) throws {
    var entry = pollfd(fd: socket.number, events: Int16(events), revents: 0)
    let count = try SystemCall.run("poll") { unsafe poll(&entry, 1, RawConnection.patience) }
    guard count > 0 else { throw Failure(description: "the server did nothing for 20 seconds") }
  }

  private func perform<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws
    -> Result
  {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try body() }) }
    }
  }

  private static func firstPlace(of pattern: [UInt8], in bytes: [UInt8]) -> Int? {
    guard bytes.count >= pattern.count else { return nil }
    return (0...(bytes.count - pattern.count)).first { place in
      bytes[place..<place + pattern.count].elementsEqual(pattern)
    }
  }
}
