package import CoreTypes
package import Database
import DeliveryModel
import Synchronization

/// The holders of work that one process alone may do at a time, and the ends of their leases. Its functions run
/// in the caller's transaction and throw ``DatabaseError``. Each is one statement that needs no lock.
package enum LeaseTable {
  /// Takes the lease or lets it last longer, unless another process holds it; whether it is held now. A hold of another one
  /// that would last longer than twice as long as this one was taken by a clock that is wrong, and does not count.
  ///
  /// - Parameters:
  ///   - name: the work.
  ///   - holder: the process that asks.
  ///   - until: when the lease ends, unless it is taken again before.
  package static func take(
    _ name: String, for holder: String, until: Timestamp, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      """
      INSERT INTO leases (name, holder, until) VALUES (?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
        WHERE leases.holder = excluded.holder OR leases.until <= ? OR leases.until > ?
      RETURNING holder
      """,
      [
        .text(name), .text(holder), .timestamp(until), .timestamp(now), .timestamp(until + (until - now)),
      ]) != nil
  }

  /// Whether some process holds the lease, which it takes for `duration`. A hold that would last longer than twice as long was
  /// taken by a clock that is wrong, and does not count.
  package static func isHeld(
    _ name: String, takenFor duration: Duration, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      "SELECT 1 FROM leases WHERE name = ? AND until > ? AND until <= ?",
      [.text(name), .timestamp(now), .timestamp(now + duration + duration)]) != nil
  }

  /// Takes the lease, also from a process that holds it.
  package static func seize(
    _ name: String, for holder: String, until: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      """
      INSERT INTO leases (name, holder, until) VALUES (?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
      """, [.text(name), .text(holder), .timestamp(until)])
  }

  /// Lets the lease of `holder` last until then; false where another one has it by now, or none.
  package static func extend(
    _ name: String, of holder: String, until: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      "UPDATE leases SET until = ? WHERE name = ? AND holder = ?",
      [.timestamp(until), .text(name), .text(holder)]) > 0
  }

  /// Lets go of a lease, unless another process has taken it by now.
  package static func remove(
    _ name: String, of holder: String, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "DELETE FROM leases WHERE name = ? AND holder = ?", [.text(name), .text(holder)])
  }

  /// Lets go of the leases of a process that is dead, and of those of its requests, whose holders are its name and another word.
  package static func removeAll(of process: String, in connection: borrowing Connection) throws {
    try connection.execute(
      "DELETE FROM leases WHERE holder = ? OR (holder >= ? AND holder < ?)",
      [.text(process), .text(process + " "), .text(process + "!")])
  }

  /// Lets go of all leases, of whatever process: where no other one uses the database.
  package static func removeAll(in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM leases")
  }
}

/// Keeps packages where they are while a backup of a shared database copies them: a lease that backups take, and that ends by itself.
package enum RemovalHold {
  private static let name = "backup"
  /// For how long nothing is removed once a backup has said so: it says so again while it copies packages.
  package static let duration: Duration = .seconds(3600)

  /// Holds removals from now on. All backups have one hold.
  package static func take(at now: Timestamp, in connection: borrowing Connection) throws {
    _ = try LeaseTable.take(name, for: name, until: now + duration, at: now, in: connection)
  }

  /// Whether a backup holds removals. To be asked in the write that condemns a package.
  package static func isHeld(at now: Timestamp, in connection: borrowing Connection) throws -> Bool {
    try LeaseTable.isHeld(name, takenFor: duration, at: now, in: connection)
  }
}

/// One process's hold on work that one alone may do. It costs a write every quarter of a minute, and nothing in
/// between. Any thread may ask it.
package final class WorkerLease: Sendable {
  private let name: String
  private let holder: String
  private let database: Database
  private let clock: any WallClock
  private let machine = Mutex(LeaseMachine())

  /// `holder` names the process, and no other one.
  package init(_ name: String, holder: String, database: Database, clock: any WallClock) {
    self.name = name
    self.holder = holder
    self.database = database
    self.clock = clock
  }

  /// Whether this process may do the next piece of the work. Throws what the database throws.
  package func isHeld() async throws -> Bool {
    let now = clock.now()
    if machine.locked({ $0.decide(at: now) }) == .work { return true }
    let (name, holder) = (name, holder)
    // One statement, which decides by itself.
    let isHeld = try await database.write(locking: []) {
      try LeaseTable.take(name, for: holder, until: now + LeaseMachine.duration, at: now, in: $0)
    }
    machine.locked { $0.handle(isHeld: isHeld, askedAt: now) }
    return isHeld
  }
}
