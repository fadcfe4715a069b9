internal import CLinux
internal import Glibc
public import SystemCalls

/// A listening socket as a service manager holds it: it outlives the servers that accept from it.
public final class BoundSocket: Sendable {
  /// The listening socket.
  public let descriptor: FileDescriptor

  /// A kind of Unix socket.
  public enum Kind: Hashable, Sendable, CaseIterable {
    /// A stream socket that listens.
    case listening
    /// A stream socket that has an address and does not listen.
    case silent
    /// A datagram socket, which has no connections.
    case datagram
  }

  /// Listens on a free port of 127.0.0.1.
  public init() throws {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    descriptor = try Self.listening(family: AF_INET, at: &address)
  }

  /// Listens on a Unix socket at `path`, which must not exist; one of another kind is only bound.
  public init(unixPath path: String, kind: Kind = .listening) throws {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    precondition(bytes.count < MemoryLayout.size(ofValue: address.sun_path), "too long for a socket: \(path)")
    unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: bytes) }
    switch kind {
    case .listening: descriptor = try Self.listening(family: AF_UNIX, at: &address)
    case .silent:
      descriptor = try Self.bound(family: AF_UNIX, type: Int32(SOCK_STREAM.rawValue), at: &address)
    case .datagram:
      descriptor = try Self.bound(family: AF_UNIX, type: Int32(SOCK_DGRAM.rawValue), at: &address)
    }
  }

  /// Whether this machine has `::1`: containers often lack it.
  public static var hasVersion6: Bool {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_addr = in6addr_loopback
    return (try? listening(family: AF_INET6, at: &address)) != nil
  }

  /// The port of a TCP socket.
  public var port: UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        unsafe getsockname(descriptor.number, pointer, &length)
      }
    }
    precondition(result == 0)
    return UInt16(bigEndian: address.sin_port)
  }

  /// A copy for a server.
  public func handOver(name: String = "unknown") throws(SystemError) -> InheritedSocket {
    let number = descriptor.number
    let copy = try SystemCall.run("fcntl") { fcntl(number, F_DUPFD_CLOEXEC, 0) }
    return InheritedSocket(FileDescriptor(takingOwnershipOf: copy), name: name)
  }

  /// Makes a socket, binds it to the address and listens with a queue of 1024 connections. `Address` is the structure of
  /// the family, whose size the kernel is told.
  private static func listening<Address>(
    family: Int32, at address: inout Address
  ) throws(SystemError) -> FileDescriptor {
    let descriptor = try bound(family: family, type: Int32(SOCK_STREAM.rawValue), at: &address)
    let number = descriptor.number
    try SystemCall.run("listen") { listen(number, 1024) }
    return descriptor
  }

  /// Makes a socket of that type and binds it to the address.
  private static func bound<Address>(
    family: Int32, type: Int32, at address: inout Address
  ) throws(SystemError) -> FileDescriptor {
    let number = try SystemCall.run("socket") { socket(family, type | Int32(SOCK_CLOEXEC.rawValue), 0) }
    let descriptor = FileDescriptor(takingOwnershipOf: number)
    try SystemCall.run("bind") {
      unsafe withUnsafeMutablePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          unsafe bind(number, pointer, socklen_t(MemoryLayout<Address>.size))
        }
      }
    }
    return descriptor
  }
}
