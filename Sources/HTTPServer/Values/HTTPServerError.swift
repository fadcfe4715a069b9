public import SystemCalls

/// Why a server could not start.
public struct HTTPServerError: Error, Sendable, CustomStringConvertible {
  /// The kind of a failure.
  public struct Code: Hashable, Sendable {
    private enum Name: Hashable {
      case addressInUse
      case addressInvalid
      case certificateInvalid
      case systemFailure
      case startedTwice
    }

    private let name: Name

    /// Another socket listens there.
    public static let addressInUse = Code(name: .addressInUse)
    /// Not an address of this machine, not numeric, or a path too long for a Unix socket.
    public static let addressInvalid = Code(name: .addressInvalid)
    /// A certificate or its key cannot be read, or one is not the other's; the message says which file and
    /// why.
    public static let certificateInvalid = Code(name: .certificateInvalid)
    /// The system refused a socket, a thread or an epoll instance; `cause` says which.
    public static let systemFailure = Code(name: .systemFailure)
    /// ``HTTPServer/start()`` was called before.
    public static let startedTwice = Code(name: .startedTwice)
  }

  /// The kind of this failure, for code.
  public let code: Code
  /// The failure, for people: a sentence without a full stop, which names the address or the file.
  public let message: String
  /// The system call that failed; nil when none did.
  public let cause: SystemError?

  /// An error as a server throws it; public for tests of callers.
  public init(_ code: Code, _ message: String, cause: SystemError? = nil) {
    self.code = code
    self.message = message
    self.cause = cause
  }

  /// The message, then the cause.
  public var description: String {
    cause.map { "\(message): \($0)" } ?? message
  }
}
