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

  /// The lock of one thing.
  public init(kind: String, name: String) {
    self.kind = kind
    self.name = name
  }

  /// The kind and the name.
  public var description: String { name.isEmpty ? kind : "\(kind) \(name)" }

  /// An order in which locks can be taken without a deadlock.
  public static func < (left: DatabaseLock, right: DatabaseLock) -> Bool {
    (left.kind, left.name) < (right.kind, right.name)
  }
}
