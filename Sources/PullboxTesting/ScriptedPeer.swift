internal import CLinux
internal import Dispatch
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// A server that says exactly what a test tells it to say: one script per connection, one connection after
/// the other.
public final class ScriptedPeer: Sendable {
  /// A step of a script.
  public enum Step: Sendable {
    /// Reads one request, with its body where it has a `Content-Length`, and records it.
    case readRequest
    /// Reads only up to the end of the head.
    case readHead
    /// Reads exactly so many bytes and records them.
    case readBytes(Int)
    /// Sends the text in UTF-8.
    case send(String)
    /// Sends the bytes.
    case sendBytes([UInt8])
    /// Sends the same text again and again, until the client has closed.
    case sendEndlessly(String)
    /// Goes on when the test opens the gate.
    case pass(Gate)
    /// Waits until the client has closed.
    case untilClosed
    /// Closes so that the client sees a reset instead of an end.
    case reset
  }

  /// The port on loopback; 0 with a Unix socket.
  public let port: UInt16
  /// The listening socket; closed with this object.
  private let listener: FileDescriptor
  /// The scripts, one for each connection in their order.
  private let scripts: [[Step]]
  /// Guards the record, which the test reads while ``serve()`` runs.
  private let state = Mutex(State())

  /// The record of the connections.
  private struct State {
    /// The texts of the steps that read.
    var requests: [String] = []
    /// The connections that were accepted.
    var connections = 0
    /// The steps that saw the client close.
    var sawClose = 0
    /// The number of the open connection, for ``close()``.
    var current: Int32?
    /// Whether ``close()`` was called.
    var isClosed = false
  }

  /// Listens on a port of loopback, or at a Unix socket; ``serve()`` answers.
  public init(_ scripts: [[Step]], unixSocket path: String? = nil) throws {
    self.scripts = scripts
    let family = path == nil ? AF_INET : AF_UNIX
    listener = FileDescriptor(
      takingOwnershipOf: try SystemCall.run("socket") {
        socket(family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      })
    let number = listener.number
    if let path {
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: Array(path.utf8)) }
      try SystemCall.run("bind", subject: path) {
        unsafe withUnsafePointer(to: &address) { address in
          unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
            unsafe bind(number, address, socklen_t(MemoryLayout<sockaddr_un>.size))
          }
        }
      }
      port = 0
    } else {
      port = try Self.bindToLoopback(number)
    }
    try SystemCall.run("listen") { listen(number, 16) }
  }

  /// Binds to a free port of 127.0.0.1 and returns it in the byte order of the machine.
  private static func bindToLoopback(_ number: Int32) throws -> UInt16 {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    try SystemCall.run("bind") {
      unsafe withUnsafeMutablePointer(to: &address) { address in
        unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          let result = unsafe bind(number, address, length)
          return result == 0 ? unsafe getsockname(number, address, &length) : result
        }
      }
    }
    return UInt16(bigEndian: address.sin_port)
  }

  /// The address, with a slash at its end.
  public var url: String { "http://127.0.0.1:\(port)/" }
  /// The requests that were read, in order: heads, with their bodies where a step reads those too.
  public var requests: [String] { state.withLock { $0.requests } }
  /// Connections so far.
  public var connections: Int { state.withLock { $0.connections } }
  /// How many scripts waited for the client's close and saw it.
  public var sawClose: Int { state.withLock { $0.sawClose } }

  /// Ends a running ``serve()``, wherever it stands.
  public func close() {
    state.withLock { state in
      state.isClosed = true
      if let current = state.current { _ = shutdown(current, Int32(SHUT_RDWR)) }
      _ = shutdown(listener.number, Int32(SHUT_RDWR))
    }
  }

  /// Blocks until all scripts are through, or ``close()``.
  public func serve() {
    for script in scripts {
      let number = clinux_accept4(listener.number, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
      guard number >= 0 else { return }
      let connection = FileDescriptor(takingOwnershipOf: number)
      let goesOn = state.withLock { state in
        state.current = number
        state.connections += 1
        return !state.isClosed
      }
      if goesOn { run(script, connection) }
      state.withLock { $0.current = nil }
    }
  }

  /// Takes the steps one after the other. A client that closes in the middle ends the script. Bytes behind what a step
  /// reads are kept for the next one.
  private func run(_ script: [Step], _ connection: borrowing FileDescriptor) {
    var pending: [UInt8] = []
    for step in script {
      switch step {
      case .readRequest:
        guard let request = readRequest(connection, &pending, withBody: true) else { return }
        state.withLock { $0.requests.append(request) }
      case .readHead:
        guard let request = readRequest(connection, &pending, withBody: false) else { return }
        state.withLock { $0.requests.append(request) }
      case .readBytes(let count):
        while pending.count < count {
          guard let bytes = read(connection) else { return }
          pending += bytes
        }
        let text = String(decoding: pending.prefix(count), as: UTF8.self)
        pending.removeFirst(count)
        state.withLock { $0.requests.append(text) }
      case .send(let text):
        guard write(Array(text.utf8), connection) else { return }
      case .sendBytes(let bytes):
        guard write(bytes, connection) else { return }
      case .sendEndlessly(let text):
        let bytes = Array(text.utf8)
        while write(bytes, connection) {}
        state.withLock { $0.sawClose += 1 }
      case .pass(let gate):
        gate.wait()
      case .untilClosed:
        while read(connection) != nil {}
        state.withLock { $0.sawClose += 1 }
      case .reset:
        var option = linger(l_onoff: 1, l_linger: 0)
        _ = unsafe setsockopt(
          connection.number, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        return
      }
    }
  }

  /// Reads up to the empty line, and with `withBody` as many bytes more as `Content-Length` says. Nil where the client
  /// closes before.
  private func readRequest(
    _ connection: borrowing FileDescriptor, _ pending: inout [UInt8], withBody: Bool
  ) -> String? {
    while true {
      let text = String(decoding: pending, as: UTF8.self)
      if let end = text.firstRange(ofBreak: "\r\n\r\n") {
        let head = text.utf8.prefix(end)
        let length = withBody ? contentLength(String(decoding: head, as: UTF8.self)) : 0
        if pending.count >= end + length {
          let request = String(decoding: pending.prefix(end + length), as: UTF8.self)
          pending.removeFirst(end + length)
          return request
        }
      }
      guard let bytes = read(connection) else { return nil }
      pending += bytes
    }
  }

  /// The value of `Content-Length`; 0 without one, and for one that is no number.
  private func contentLength(_ head: String) -> Int {
    for line in head.split(separator: "\r\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      if parts.count == 2, parts[0].lowercased() == "content-length" {
        return Int(parts[1].drop { $0 == " " }) ?? 0
      }
    }
    return 0
  }

  /// The next bytes, at most 64 KiB; nil at the end and for an error.
  private func read(_ connection: borrowing FileDescriptor) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = unsafe recv(connection.number, &buffer, buffer.count, 0)
    return count > 0 ? Array(buffer.prefix(count)) : nil
  }

  /// Sends all of the bytes. False when the client is gone.
  private func write(_ bytes: [UInt8], _ connection: borrowing FileDescriptor) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = unsafe bytes[sent...].withUnsafeBytes { rest in
        unsafe send(connection.number, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }
}

/// Holds a script until a test lets it go on.
public final class Gate: Sendable {
  /// Counts the times that the gate was opened and nothing has passed.
  private let semaphore = DispatchSemaphore(value: 0)

  /// Closed.
  public init() {}

  /// Lets one step pass, now or later.
  public func open() {
    semaphore.signal()
  }

  /// Blocks, on the peer's own thread.
  func wait() {
    semaphore.wait()
  }
}

extension String {
  /// The number of UTF-8 bytes up to and with the first `mark`.
  fileprivate func firstRange(ofBreak mark: String) -> Int? {
    let bytes = Array(utf8)
    let pattern = Array(mark.utf8)
    guard bytes.count >= pattern.count else { return nil }
    for start in 0...(bytes.count - pattern.count)
    where Array(bytes[start..<start + pattern.count]) == pattern {
      return start + pattern.count
    }
    return nil
  }
}
