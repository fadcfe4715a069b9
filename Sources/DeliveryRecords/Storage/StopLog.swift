package import Commerce
package import CoreTypes
package import Crypto
package import Database
import PullboxAPI
package import ServiceAPI

/// The grants, packages and publications whose stops have changed, in the order of the commits: by it nodes that share a database bring
/// what they refuse in line with what the tables say. The log has names alone. Who applies it looks at what holds now, so that no order
/// of its readers matters and no entry is applied too late.
///
/// The only server of a file sees its own writes in their order, and writes nothing here. All functions run in the caller's transaction
/// and throw ``DatabaseError``.
package enum StopLog {
  /// The thing that was stopped, or is no longer.
  package enum Subject: Hashable, Sendable {
    /// A grant, revoked or reinstated, or paid for again.
    case grant(DeliveryHandle)
    /// A package, blocked or damaged, or no longer.
    case content(SHA256Digest)
    /// A publication, whose policy may close issues.
    case publication(ProductIdentifier)
    /// A transaction that was refunded, beside which issues may close.
    case transaction(TransactionKey)
  }

  /// How long entries are kept. A node that was away for longer reads everything anew.
  package static let memory: Duration = .seconds(3600)

  /// Adds an entry to the write, and tells the other nodes once it is committed. Writes that stop something commit one after the other.
  static func note(_ subject: Subject, at now: Timestamp, in connection: borrowing Connection) throws {
    if connection.isShared { try add(subject, at: now, in: connection) }
  }

  /// Adds an entry, whatever the database is.
  static func add(_ subject: Subject, at now: Timestamp, in connection: borrowing Connection) throws {
    // Behind all that the body counts: a write that waits for the revision holds no row of counters that the one before it may want.
    try connection.enqueueLast(
      """
      INSERT INTO stop_revision (id, revision) VALUES (1, 1)
      ON CONFLICT (id) DO UPDATE SET revision = stop_revision.revision + 1
      """)
    try connection.enqueueLast(
      """
      INSERT INTO stop_log (revision, kind, name, at)
      SELECT revision, ?, ?, ? FROM stop_revision WHERE id = 1
      """,
      [.text(subject.kind), .text(subject.name), .timestamp(now)])
    try connection.noteChange(of: .stops)
  }

  /// A refund of the transaction may close issues that other payments have opened.
  package static func noteRefund(
    of transaction: TransactionKey, at now: Timestamp, in connection: borrowing Connection
  ) throws { try note(.transaction(transaction), at: now, in: connection) }

  /// The grant's issue, which was closed, is paid for again.
  package static func noteReopening(
    of grant: DeliveryHandle, at now: Timestamp, in connection: borrowing Connection
  ) throws { try note(.grant(grant), at: now, in: connection) }

  /// The publication's policy is another one.
  package static func notePolicy(
    of publication: ProductIdentifier, at now: Timestamp, in connection: borrowing Connection
  ) throws { try note(.publication(publication), at: now, in: connection) }

  /// Returns the revision of the last entry that is committed; 0 before the first.
  package static func revision(in connection: borrowing Connection) throws -> Int64 {
    try connection.first("SELECT revision FROM stop_revision WHERE id = 1")?.integer("revision") ?? 0
  }

  /// Part of the log.
  package struct Page: Sendable {
    /// Each once.
    package var subjects: Set<Subject> = []
    /// The revision of the last entry.
    package var last: Int64
    /// Whether entries behind `revision` are gone: everything is to be read anew.
    package var hasGap = false
  }

  /// Returns at most `limit` entries behind the revision. Their standing is to be read in the same transaction.
  package static func page(
    after revision: Int64, limit: Int, in connection: borrowing Connection
  ) throws -> Page {
    var page = Page(last: revision)
    for row in try connection.query(
      "SELECT revision, kind, name FROM stop_log WHERE revision > ? ORDER BY revision LIMIT ?",
      [.integer(revision), .integer(limit)])
    {
      let number = try row.integer("revision")
      if number != page.last + 1 { page.hasGap = true }
      page.last = number
      // A kind that a later version has added says nothing that this one could apply.
      if let subject = Subject(kind: try row.text("kind"), name: try row.text("name")) {
        page.subjects.insert(subject)
      }
    }
    // Also where it went back, with another host of the database that lacks the last commits.
    if page.last == revision, try self.revision(in: connection) != revision { page.hasGap = true }
    return page
  }

  /// Forgets entries from before, `limit` at most. False once none is left.
  package static func forget(
    before cutoff: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> Bool {
    try connection.execute(
      """
      DELETE FROM stop_log WHERE at < ? AND revision IN (
        SELECT revision FROM stop_log ORDER BY revision LIMIT ?)
      """, [.timestamp(cutoff), .integer(limit)]) == limit
  }
}

extension StopLog.Subject {
  fileprivate var kind: String {
    switch self {
    case .grant: "grant"
    case .content: "content"
    case .publication: "publication"
    case .transaction: "transaction"
    }
  }

  fileprivate var name: String {
    switch self {
    case .grant(let handle): Hexadecimal.encode(handle.bytes)
    case .content(let digest): digest.hexadecimal
    case .publication(let id): id.description
    case .transaction(let key): "\(key.store) \(key.environment.rawValue) \(key.id)"
    }
  }

  /// Nil for what this version does not know.
  fileprivate init?(kind: String, name: String) {
    switch kind {
    case "grant":
      guard let bytes = Hexadecimal.decode(name), let handle = DeliveryHandle(bytes) else { return nil }
      self = .grant(handle)
    case "content":
      guard let digest = SHA256Digest(hexadecimal: name) else { return nil }
      self = .content(digest)
    case "publication":
      guard let id = ProductIdentifier(name) else { return nil }
      self = .publication(id)
    case "transaction":
      let parts = name.split(separator: " ", maxSplits: 2).map(String.init)
      guard parts.count == 3, let store = StoreIdentifier(parts[0]),
        let environment = StoreEnvironment(rawValue: parts[1]), let id = TransactionIdentifier(parts[2])
      else { return nil }
      self = .transaction(TransactionKey(store: store, environment: environment, id: id))
    default: return nil
    }
  }
}

extension ChangeTopic {
  /// Whatever ``StopLog`` has.
  package static let stops = ChangeTopic("stops")
}
