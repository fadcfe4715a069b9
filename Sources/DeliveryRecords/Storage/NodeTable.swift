package import CoreTypes
package import Database

/// The servers that share the database, each with a name of its own. Its functions run in the caller's transaction and throw
/// ``DatabaseError``. All times are by the clock of the database.
package enum NodeTable {
  /// How often a node says that it is there.
  package static let interval: Duration = .seconds(5)
  /// A node that was not heard of for so long is declared dead.
  package static let silence: Duration = .seconds(30)

  /// A row.
  package struct Node: Hashable, Sendable {
    /// Names the node in runs and counts; it stays with the name.
    package var number: Int64
    /// The name in the node's configuration; no two nodes share one.
    package var name: String
    /// Names the node's run in leases, and no other one.
    package var process: String
    /// Where it answers.
    package var address: String
    /// The program's version.
    package var version: String
    /// When the run began.
    package var started: Timestamp
    /// When the run was heard of last, by the clock of the database.
    package var heartbeat: Timestamp
    /// Since when it is not there any more: it ended, or was declared dead.
    package var gone: Timestamp?

    fileprivate init(_ row: Row) throws {
      number = try row.integer("number")
      name = try row.text("name")
      process = try row.text("process")
      address = try row.text("address")
      version = try row.text("version")
      started = try row.timestamp("started")
      heartbeat = try row.timestamp("heartbeat")
      gone = try row.optionalTimestamp("gone")
    }
  }

  private static let columns = "number, name, process, address, version, started, heartbeat, gone"

  /// Nil where there never was a node of that name.
  package static func find(_ name: String, in connection: borrowing Connection) throws -> Node? {
    try connection.first("SELECT \(columns) FROM nodes WHERE name = ?", [.text(name)]).map { try Node($0) }
  }

  /// Gives the name to a process, unless another one than `earlier` has it by now. Returns the node's number, nil where another was first.
  package static func take(
    _ name: String, for process: String, at address: String, running version: String, after earlier: String?,
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> Int64? {
    try connection.first(
      """
      INSERT INTO nodes (name, process, address, version, started, heartbeat) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (name) DO UPDATE SET process = excluded.process, address = excluded.address,
        version = excluded.version, started = excluded.started, heartbeat = excluded.heartbeat, gone = NULL, answered = NULL
        WHERE nodes.process = ?
      RETURNING number
      """,
      [
        .text(name), .text(process), .text(address), .text(version), .timestamp(now), .timestamp(now),
        .text(earlier ?? ""),
      ])?.integer("number")
  }

  /// Says where the node answers, once it listens.
  package static func setAddress(
    _ address: String, of process: String, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE nodes SET address = ? WHERE process = ?", [.text(address), .text(process)])
  }

  /// Says that the node is there. False where it is not any more: it was declared dead, or its name is another process's.
  package static func beat(
    _ name: String, of process: String, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      "UPDATE nodes SET heartbeat = ? WHERE name = ? AND process = ? AND gone IS NULL",
      [.timestamp(now), .text(name), .text(process)]) > 0
  }

  /// Says that the node is there, and that what it had sent by `time` is written down.
  package static func answer(
    _ name: String, of process: String, sentUntil time: Timestamp, at now: Timestamp,
    in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE nodes SET heartbeat = ?, answered = ? WHERE name = ? AND process = ? AND gone IS NULL",
      [.timestamp(now), .timestamp(time), .text(name), .text(process)])
  }

  /// A node that was declared dead is there again. False where its name is another process's.
  package static func revive(
    _ name: String, of process: String, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      "UPDATE nodes SET gone = NULL, heartbeat = ? WHERE name = ? AND process = ?",
      [.timestamp(now), .text(name), .text(process)]) > 0
  }

  /// Whether another node than that of `number`, which was there at that time, has not written down what it had sent by then: it may be
  /// dead, or late. A heartbeat says nothing of it.
  package static func anyOwesAnswer(
    besides number: Int64, sentUntil time: Timestamp, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.first(
      """
      SELECT 1 FROM nodes
      WHERE gone IS NULL AND started <= ? AND (answered IS NULL OR answered <= ?) AND number <> ? LIMIT 1
      """, [.timestamp(time), .timestamp(time), .integer(number)]) != nil
  }

  /// The node ends in order.
  package static func leave(
    _ name: String, of process: String, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE nodes SET gone = ? WHERE name = ? AND process = ? AND gone IS NULL",
      [.timestamp(now), .text(name), .text(process)])
  }

  /// Lets go of the leases and of the calls to stores that a process that is dead had claimed.
  package static func free(_ node: Node, in connection: borrowing Connection) throws {
    try LeaseTable.removeAll(of: node.process, in: connection)
    try OutboxTable.release(claimedBy: node.name, in: connection)
  }

  /// Declares dead which nodes were not heard of for ``silence``, each once; returns them. Their runs have died, and their leases are
  /// free.
  package static func declareDead(at now: Timestamp, in connection: borrowing Connection) throws -> [Node] {
    let dead = try connection.query(
      "UPDATE nodes SET gone = ? WHERE gone IS NULL AND heartbeat < ? RETURNING \(columns)",
      [.timestamp(now), .timestamp(now - silence)]
    ).map { try Node($0) }
    try end(dead, at: now, in: connection)
    return dead
  }

  /// Declares dead all nodes that have not ended; returns them. For a database that no process uses.
  package static func declareAllDead(at now: Timestamp, in connection: borrowing Connection) throws -> [Node]
  {
    let dead = try connection.query(
      "UPDATE nodes SET gone = ? WHERE gone IS NULL RETURNING \(columns)", [.timestamp(now)]
    ).map { try Node($0) }
    try end(dead, at: now, in: connection)
    return dead
  }

  private static func end(_ dead: [Node], at now: Timestamp, in connection: borrowing Connection) throws {
    for node in dead {
      _ = try ServerRunTable.noteDeath(of: node.number, heard: node.heartbeat, at: now, in: connection)
      try free(node, in: connection)
    }
  }
}
