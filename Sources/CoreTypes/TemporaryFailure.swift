/// A reason why a service cannot carry out a request in which nothing is wrong.
public enum TemporaryFailure: Hashable, Sendable {
  /// The disk is full.
  case outOfSpace
  /// More was asked for than can be done now.
  case overloaded
  /// The storage cannot be read or written: the disk fails, is read-only, or holds other data than was
  /// written to it.
  case storage
  /// A service that keeps records or packages for this one cannot be reached.
  case unreachable
  /// A connection was lost at a moment at which it cannot be known whether the request was carried out. It bears repeating.
  case outcomeUnknown
}

/// An error that may tell of a failure that passes.
public protocol TemporarilyFailing: Error {
  /// Nil when the same request would fail again.
  var temporaryFailure: TemporaryFailure? { get }
}
