internal import Glibc
internal import SystemCalls

/// Why something on a bus has no result.
public struct BusError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of a failure.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Name: String {
      case libraryMissing
      case addressMissing
      case notConnected
      case disconnected
      case timedOut
      case cancelled
      case refused
      case tooLarge
      case malformed
      case invalidValue
      case queueFull
      case closed
      case internalFailure
    }

    private let name: Name

    /// libsystemd is not installed, or lacks a function.
    public static let libraryMissing = Code(name: .libraryMissing)
    /// The environment names no bus of that kind.
    public static let addressMissing = Code(name: .addressMissing)
    /// There was no connection to the bus for as long as the time-out allows.
    public static let notConnected = Code(name: .notConnected)
    /// The connection ended after the message was sent.
    public static let disconnected = Code(name: .disconnected)
    /// No answer came within the time-out.
    public static let timedOut = Code(name: .timedOut)
    /// The task was canceled.
    public static let cancelled = Code(name: .cancelled)
    /// The other side answered with an error: ``BusError/name`` and ``BusError/message`` are its own.
    public static let refused = Code(name: .refused)
    /// A message is longer or deeper than ``BusLimits``.
    public static let tooLarge = Code(name: .tooLarge)
    /// A message, or the values of an answer, are not what the interface says.
    public static let malformed = Code(name: .malformed)
    /// A value, a name or an address cannot be sent as it is.
    public static let invalidValue = Code(name: .invalidValue)
    /// More would wait to be sent to that connection than may.
    public static let queueFull = Code(name: .queueFull)
    /// ``BusConnection/close()`` was called.
    public static let closed = Code(name: .closed)
    /// The library or the system failed for a reason of its own, such as memory.
    public static let internalFailure = Code(name: .internalFailure)

    /// Short and without values: fit for a metric's label.
    public var description: String { name.rawValue }
  }

  /// Why, for code.
  public let code: Code
  /// Why, for people.
  public let message: String
  /// The other side's name of its error, such as `org.freedesktop.DBus.Error.ServiceUnknown`; nil for another code than `refused`.
  public let name: String?

  /// An error from its parts.
  public init(_ code: Code, _ message: String, name: String? = nil) {
    self.code = code
    self.message = message
    self.name = name
  }

  /// The code, the other side's name and the sentence.
  public var description: String {
    let name = name.map { " (\($0))" } ?? ""
    return "\(code)\(name): \(message)"
  }

  /// Whether the other side is not there: no connection has the name, and the bus starts none.
  public var isServiceMissing: Bool {
    name == "org.freedesktop.DBus.Error.ServiceUnknown" || name == "org.freedesktop.DBus.Error.NameHasNoOwner"
  }
}

/// The one place that reads sd-bus's results, which are negative `errno` values: a handle used in another process traps (it can only
/// be a defect), everything else is thrown with the call's name.
enum BusCall {
  /// Returns a result that is not negative.
  @discardableResult
  static func check(_ result: Int32, of call: StaticString) throws(BusError) -> Int32 {
    guard result < 0 else { return result }
    let number = -result
    precondition(number != ECHILD && number != EBADF && number != EFAULT, "\(call): the handle is not ours")
    switch number {
    case ENOTCONN, ECONNRESET, EPIPE, ESHUTDOWN, ECONNREFUSED, ECONNABORTED, ETIMEDOUT, ENOENT, EACCES,
      EHOSTDOWN, ENETUNREACH, EPERM, ENODATA:
      throw BusError(.disconnected, text(number, of: call))
    case EBADMSG, ENXIO, EPROTO, EIO: throw BusError(.malformed, text(number, of: call))
    case EINVAL, EOPNOTSUPP, ENOTSUP, EPROTONOSUPPORT, ENAMETOOLONG:
      throw BusError(.invalidValue, text(number, of: call))
    case ENOBUFS: throw BusError(.queueFull, text(number, of: call))
    case EMSGSIZE, E2BIG: throw BusError(.tooLarge, text(number, of: call))
    default: throw BusError(.internalFailure, text(number, of: call))
    }
  }

  private static func text(_ number: Int32, of call: StaticString) -> String {
    "\(SystemError(number: number, call: "\(call)"))"
  }
}
