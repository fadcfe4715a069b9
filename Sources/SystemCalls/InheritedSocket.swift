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
  public var isUnix: Bool {
    let number = descriptor.number
    var domain: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    return unsafe getsockopt(number, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 && domain == AF_UNIX
  }
}
