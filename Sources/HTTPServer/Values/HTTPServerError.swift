public import SystemCalls

/// Why a server could not start.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
  public enum Code: Hashable, Sendable {
    /// Another socket listens there.
    case addressInUse
    /// Not an address of this machine, not numeric, or a path too long for a Unix socket.
    case addressInvalid
    /// A certificate or its key cannot be read, or one is not the other's; the message says which file and why.
    case certificateInvalid
    /// The system refused a socket, a thread or an epoll instance; `cause` says which.
    case systemFailure
    /// ``HTTPServer/start()`` was called before.
    case startedTwice
  }

  public let code: Code
  public let message: String
  public let cause: SystemError?

  public init(_ code: Code, _ message: String, cause: SystemError? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  public var description: String {
    cause.map { "\(message): \($0)" } ?? message
  }
}
