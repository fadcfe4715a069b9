// Whichever of the two modules the compiler finds the types of sockets in first.
internal import CLinux
internal import Glibc

/// A listening socket that this process was started with: the service manager bound the address, and keeps it
/// while one process ends and the next begins.
public final class InheritedSocket: Sendable {
  /// The service manager's name for the socket (`FileDescriptorName=`); `unknown` where it gives none.
  public let name: String
  /// Bound, and listening.
  public let descriptor: FileDescriptor

  /// Takes the descriptor over.
  public init(_ descriptor: consuming FileDescriptor, name: String) {
    self.descriptor = descriptor
    self.name = name
  }

  /// Whether it is a Unix socket, which says who is at the other end.
  public var isUnix: Bool { option(SO_DOMAIN) == AF_UNIX }

  /// Whether it takes connections: a stream socket that listens.
  public var isListening: Bool {
    option(SO_TYPE) == Int32(SOCK_STREAM.rawValue) && option(SO_ACCEPTCONN) == 1
  }

  /// An option of the socket; nil where it has none of that name, and for what is no socket.
  private func option(_ name: Int32) -> Int32? {
    let number = descriptor.number
    var value: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return unsafe getsockopt(number, SOL_SOCKET, name, &value, &length) == 0 ? value : nil
  }
}
