/// What keeps a service from doing what it was asked, although nothing is wrong with what was asked.
public enum TemporaryFailure: Hashable, Sendable {
  /// The disk is full.
  case outOfSpace
  /// More was asked for than can be done now.
  case overloaded
  /// What is kept cannot be read or written: the disk fails, may not be written, or holds something else than it was
  /// given.
  case storage
}

/// An error that may tell of a failure that passes.
public protocol TemporarilyFailing: Error {
  /// Nil when the same request would fail again.
  var temporaryFailure: TemporaryFailure? { get }
}
