internal import CLinux
internal import Glibc
internal import SystemCalls

/// A TCP socket on 127.0.0.1. Every call blocks.
final class LoopbackSocket: Sendable {
  /// The socket, closed with this object.
  private let descriptor: FileDescriptor

  /// Takes the socket over.
  private init(_ descriptor: consuming FileDescriptor) {
    self.descriptor = descriptor
  }

  /// Listens on a free port.
  static func listening() throws(SystemError) -> LoopbackSocket {
    let socket = try make()
    var address = address(port: 0)
    try SystemCall.run("bind") {
      unsafe withSocketAddress(&address) { unsafe bind(socket.descriptor.number, $0, $1) }
    }
    try SystemCall.run("listen") { listen(socket.descriptor.number, 128) }
    return socket
  }

  /// Connects. The kernel buffers about `receiveBuffer` unread bytes.
  static func connected(to port: UInt16, receiveBuffer: Int32) throws(SystemError) -> LoopbackSocket {
    let socket = try make()
    // Before connecting: afterwards the window has been offered.
    try socket.set(SO_RCVBUF, of: SOL_SOCKET, to: receiveBuffer)
    var address = address(port: port)
    try SystemCall.run("connect") {
      unsafe withSocketAddress(&address) { unsafe connect(socket.descriptor.number, $0, $1) }
    }
    try socket.set(TCP_NODELAY, of: Int32(IPPROTO_TCP), to: 1)
    return socket
  }

  /// The port that the kernel gave to a socket that listens.
  func port() throws(SystemError) -> UInt16 {
    var address = Self.address(port: 0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    try SystemCall.run("getsockname") {
      unsafe Self.withSocketAddress(&address) { pointer, _ in
        unsafe getsockname(descriptor.number, pointer, &length)
      }
    }
    return UInt16(bigEndian: address.sin_port)
  }

  /// Throws once the socket was shut down.
  func accept() throws(SystemError) -> LoopbackSocket {
    let number = try SystemCall.run("accept4") {
      clinux_accept4(descriptor.number, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
    }
    let socket = LoopbackSocket(FileDescriptor(takingOwnershipOf: number))
    try socket.set(TCP_NODELAY, of: Int32(IPPROTO_TCP), to: 1)
    return socket
  }

  /// Returns the bytes that have come, at most `limit`; empty when none will come any more, for whatever
  /// reason.
  func receive(upTo limit: Int) -> [UInt8] {
    let number = descriptor.number
    return unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      do {
        let address = buffer.baseAddress
        count = try SystemCall.run("recv") { unsafe recv(number, address, limit, 0) }
      } catch {
        // A peer that was killed resets its connections: for a relay that is their end.
        count = 0
      }
    }
  }

  /// False when the peer is gone.
  func send(_ bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      do {
        let sent = try SystemCall.run("send") {
          unsafe rest.withUnsafeBytes { bytes in
            unsafe Glibc.send(descriptor.number, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
          }
        }
        rest = rest.dropFirst(sent)
      } catch {
        return false
      }
    }
    return true
  }

  /// Ends both directions; calls that wait return.
  func shutDown() {
    _ = shutdown(descriptor.number, Int32(SHUT_RDWR))
  }

  /// Says that nothing more is sent.
  func finishSending() {
    _ = shutdown(descriptor.number, Int32(SHUT_WR))
  }

  /// A TCP socket that is neither bound nor connected. Its descriptor is closed on exec.
  private static func make() throws(SystemError) -> LoopbackSocket {
    let number = try SystemCall.run("socket") {
      socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }
    return LoopbackSocket(FileDescriptor(takingOwnershipOf: number))
  }

  /// Sets an option that is an integer.
  private func set(_ option: Int32, of level: Int32, to value: Int32) throws(SystemError) {
    var value = value
    try SystemCall.run("setsockopt") {
      unsafe setsockopt(descriptor.number, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }
  }

  /// The address of 127.0.0.1 with that port, in network byte order.
  private static func address(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  /// Calls `body` with the address as the kernel takes it, and its length.
  private static func withSocketAddress(
    _ address: inout sockaddr_in, _ body: (UnsafeMutablePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe body(pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
