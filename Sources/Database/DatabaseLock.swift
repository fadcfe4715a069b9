/// The name of what the decision of a ``Database/write(locking:waiting:committing:_:then:)`` rests on: two bodies that name the
/// same lock never decide side by side, whichever engine runs them, unless both hold it ``shared``.
///
/// SQLite has one writer, which makes every lock moot; an engine that lets several write takes the locks of a
/// body before it runs, as ``plan(_:)`` has them, and lets go of them after its commit.
///
///     try await database.write(locking: [.product(id).shared, .transaction(key)]) { connection in … }
public struct DatabaseLock: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The bodies that may hold a lock at the same time.
  public enum Mode: Hashable, Sendable {
    /// Any number of bodies, all of which hold it so: each relies on what it names, and none changes that.
    case shared
    /// One body, beside no other.
    case exclusive
  }

  /// Held exclusively by one body alone, beside no other: for what looks at rows of all kinds, or runs seldom. Every
  /// other write holds it ``shared``, without naming it.
  public static let everything = DatabaseLock(kind: "everything", name: "")

  /// The kind of thing that is locked: a word of the service's own.
  public let kind: String
  /// The name of the thing within its kind.
  public let name: String
  /// The bodies that may hold it at the same time.
  public let mode: Mode
  /// Whether bodies take it themselves, once they have found it (``Connection/lock(_:)``), and none names it before. Such locks
  /// come after all others.
  public let isFoundOnTheWay: Bool

  /// The lock of one thing.
  public init(kind: String, name: String, mode: Mode = .exclusive, isFoundOnTheWay: Bool = false) {
    self.kind = kind
    self.name = name
    self.mode = mode
    self.isFoundOnTheWay = isFoundOnTheWay
  }

  /// The same lock for a body that relies on the thing and leaves it as it is.
  public var shared: DatabaseLock {
    DatabaseLock(kind: kind, name: name, mode: .shared, isFoundOnTheWay: isFoundOnTheWay)
  }

  /// The kind and the name, with the mode of a shared one.
  public var description: String {
    let thing = name.isEmpty ? kind : "\(kind) \(name)"
    return mode == .shared ? "\(thing) shared" : thing
  }

  /// An order in which locks can be taken without a deadlock: ``everything`` first, the others by kind and name, and those that
  /// are found on the way behind them. Of one thing the exclusive lock comes first.
  public static func < (left: DatabaseLock, right: DatabaseLock) -> Bool { left.place < right.place }

  private var place: (turn: Int, kind: String, name: String, mode: Int) {
    let turn = kind == Self.everything.kind ? 0 : isFoundOnTheWay ? 2 : 1
    return (turn, kind, name, mode == .exclusive ? 0 : 1)
  }

  /// Returns the locks that an engine takes for a body that names `locks`, each thing once and in the order in which they are
  /// taken: the exclusive lock of what is named in both modes, and ``everything`` at the beginning, ``shared`` unless it is
  /// named. Traps for a lock that is found on the way.
  package static func plan(_ locks: [DatabaseLock]) -> [DatabaseLock] {
    precondition(!locks.contains(where: \.isFoundOnTheWay), "a body names what it finds on its way")
    var plan: [DatabaseLock] = []
    for lock in (locks + [everything.shared]).sorted()
    where plan.last.map({ ($0.kind, $0.name) != (lock.kind, lock.name) }) ?? true {
      plan.append(lock)
    }
    return plan
  }
}
