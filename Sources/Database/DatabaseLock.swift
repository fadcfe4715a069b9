/// The name of what the decision of a ``Database/write(locking:_:)`` rests on: two bodies that name the same
/// lock never decide side by side, whichever engine runs them.
///
/// SQLite has one writer, which makes every lock moot; an engine that lets several write takes the locks of a
/// body before it runs.
public struct DatabaseLock: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// Held by one body alone, beside no other: for what looks at rows of all kinds, or runs seldom.
  public static let everything = DatabaseLock(kind: "everything", name: "")

  /// The kind of thing that is locked: a word of the service's own.
  public let kind: String
  /// The name of the thing within its kind.
  public let name: String

  /// Whether others may hold it at the same time.
  public enum Mode: Hashable, Sendable {
    /// Beside other bodies that hold it so.
    case shared
    /// Alone.
    case exclusive
  }

  /// Whether others may hold it at the same time.
  public let mode: Mode

  /// The lock of one thing.
  public init(kind: String, name: String, mode: Mode = .exclusive) {
    self.kind = kind
    self.name = name
    self.mode = mode
  }

  /// The locks that an engine takes for a body.
  package static func plan(_ locks: [DatabaseLock]) -> [DatabaseLock] {
    let everything = locks.contains(.everything)
    return [DatabaseLock(kind: "everything", name: "", mode: everything ? .exclusive : .shared)]
      + Set(locks).subtracting([.everything]).sorted()
  }

  /// The kind and the name.
  public var description: String { name.isEmpty ? kind : "\(kind) \(name)" }

  /// An order in which locks can be taken without a deadlock.
  public static func < (left: DatabaseLock, right: DatabaseLock) -> Bool {
    (left.kind, left.name) < (right.kind, right.name)
  }
}
