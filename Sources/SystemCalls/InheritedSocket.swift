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
}
