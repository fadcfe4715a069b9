import ContentDelivery
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import ServiceRuntime
import SystemCalls

/// The ticket keys of servers that share a database: they lie there, and in a copy in each state directory.
struct SharedTicketKeys: Sendable {
  /// How long a new key waits before tickets are sealed with it: every node has it by then.
  static let delay: Duration = .seconds(10)

  let database: Database
  /// The copy.
  let path: String
  private let log: Log

  /// `state` is the directory of the copy. `log` is told where it cannot be written.
  init(database: Database, state: String, log: Log) {
    self.database = database
    self.log = log
    path = TicketKeyFile.path(in: state)
  }

  /// For the start: where the database has none, the keys of the file are taken, so that tickets that are out stay good; without a file,
  /// a first key is made. Blocks. Throws what the database and the file throw.
  func loadOrCreate() throws -> TicketKeys {
    let stored = try database.readBlocking { try TicketKeyTable.all(in: $0) }
    if let keys = try found(in: stored) { return keys }
    let first =
      try TicketKeyFile.records(path)?.map(TicketKeyTable.Key.init)
      ?? [
        TicketKeyTable.Key(id: 1, secret: RandomBytes.make(32), seals: Timestamp(millisecondsSinceEpoch: 0))
      ]
    let keys = try database.writeBlocking(locking: [.lease("ticket keys")]) { connection in
      let found = try TicketKeyTable.all(in: connection)
      guard found.isEmpty else { return found }
      for key in first { try TicketKeyTable.add(key, in: connection) }
      return first
    }
    guard let keys = try found(in: keys) else { preconditionFailure("there is a first key") }
    return keys
  }

  /// For a server that runs. Throws what the database and the file throw.
  func load() async throws -> TicketKeys {
    let rows = try await database.read { try TicketKeyTable.all(in: $0) }
    guard let keys = try await BlockingPool.shared.run({ try found(in: rows) }) else {
      throw ConfigurationError(subject: "database", message: "it has no ticket key")
    }
    return keys
  }

  private func found(in rows: [TicketKeyTable.Key]) throws -> TicketKeys? {
    guard !rows.isEmpty else { return nil }
    let records = rows.map(TicketKeyFile.Record.init)
    do {
      try TicketKeyFile.write(records, to: path)
    } catch {
      // On a full disk tickets go on by the keys of the database.
      log.warning("the copy of the ticket keys cannot be written", ["error": LogValue(error)])
    }
    return TicketKeyFile.keys(of: records)
  }

  /// Adds a new key, which seals after `delay`, and forgets keys of which no ticket is good any more. Returns its number. Blocks.
  func rotate(delay: Duration = SharedTicketKeys.delay) throws -> UInt32 {
    let key = try database.writeBlocking(locking: [.lease("ticket keys")]) { connection in
      let now = try SQLDialect.serverTime(in: connection)
      try TicketKeyTable.forget(retiredBefore: now - TicketKeyFile.memory, in: connection)
      let last = try TicketKeyTable.all(in: connection).first?.id ?? 0
      try TicketKeyTable.retire(at: now + delay, in: connection)
      let key = TicketKeyTable.Key(id: last &+ 1, secret: RandomBytes.make(32), seals: now + delay)
      try TicketKeyTable.add(key, in: connection)
      return key
    }
    return key.id
  }
}

extension TicketKeyTable.Key {
  fileprivate init(_ record: TicketKeyFile.Record) {
    self.init(id: record.identifier, secret: record.secret, seals: record.seals, retired: record.retired)
  }
}

extension TicketKeyFile.Record {
  fileprivate init(_ key: TicketKeyTable.Key) {
    self.init(identifier: key.id, secret: key.secret, seals: key.seals, retired: key.retired)
  }
}

/// Where a server has its ticket keys: in the database that it shares, or in the file of the only server of a file.
struct TicketKeyPlace: Sendable {
  private let shared: SharedTicketKeys?
  private let path: String

  init(database: Database, state: String, log: Log) {
    shared = database.isShared ? SharedTicketKeys(database: database, state: state, log: log) : nil
    path = TicketKeyFile.path(in: state)
  }

  /// For the start: makes a first key unless there is one. Blocks.
  func loadOrCreate() throws -> TicketKeys {
    try shared?.loadOrCreate() ?? TicketKeyFile.loadOrCreate(path)
  }

  /// For a server that runs.
  func load() async throws -> TicketKeys {
    if let shared { return try await shared.load() }
    let path = path
    return try await BlockingPool.shared.run { try TicketKeyFile.load(path) }
  }
}
