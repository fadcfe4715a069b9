package import Commerce
package import CoreTypes
package import Database
import PullboxAPI

/// The notifications that are still to be posted, written down with the change that they tell of.
package enum GoogleMessageTable {
  /// Those that are kept, at most: the newest.
  static let maximumCount: Int64 = 10_000

  /// The JSON of a notification (`DeveloperNotification`) before the sender fills in the package. One of the
  /// four members is there.
  package struct Data: Codable, Sendable {
    /// `subscriptionId` is there for a subscription, `sku` for a one-time product.
    struct Purchase: Codable, Sendable {
      var version = "1.0"
      var notificationType: Int
      var purchaseToken: String
      var subscriptionId: String?
      var sku: String?
    }
    struct Voided: Codable, Sendable {
      var purchaseToken: String
      var orderId: String
      /// 1 a subscription, 2 a one-time purchase.
      var productType: Int
      /// 1 all of it.
      var refundType = 1
    }
    struct Test: Codable, Sendable { var version = "1.0" }

    var version = "1.0"
    package var packageName = ""
    /// Milliseconds since the epoch.
    var eventTimeMillis: String
    var subscriptionNotification: Purchase?
    var oneTimeProductNotification: Purchase?
    var voidedPurchaseNotification: Voided?
    var testNotification: Test?
  }

  /// - Parameter due: when it is posted, where that is later than what it tells of.
  ///
  /// The oldest beyond ``maximumCount`` are removed with it.
  package static func insert(
    _ event: GoogleEvent, of token: PurchaseToken, _ product: ProductIdentifier, at date: Timestamp,
    due: Timestamp? = nil, in connection: borrowing Connection
  ) throws {
    var data = Data(eventTimeMillis: String((due ?? date).millisecondsSinceEpoch))
    var kind: Int?
    switch event {
    case .subscription(let type):
      kind = type.rawValue
      data.subscriptionNotification = .init(
        notificationType: type.rawValue, purchaseToken: token.token, subscriptionId: product.description)
    case .product(let type):
      data.oneTimeProductNotification = .init(
        notificationType: type.rawValue, purchaseToken: token.token, sku: product.description)
    case .voided(let order):
      data.voidedPurchaseNotification = .init(
        purchaseToken: token.token, orderId: order, productType: token.kind == .subscription ? 1 : 2)
    }
    try insert(data, of: token.token, kind: kind, due: due ?? date, in: connection)
  }

  /// It belongs to no token.
  package static func insertTest(at date: Timestamp, in connection: borrowing Connection) throws {
    var data = Data(eventTimeMillis: String(date.millisecondsSinceEpoch))
    data.testNotification = .init()
    try insert(data, of: "", kind: nil, due: date, in: connection)
  }

  /// - Parameter kind: the number of a subscription's event, by which it can be taken back; nil for all
  ///   others.
  private static func insert(
    _ data: Data, of token: String, kind: Int?, due: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "INSERT INTO google_messages (token, kind, document, next_attempt) VALUES (?, ?, ?, ?)",
      [
        .text(token), .optional(kind, { .integer($0) }),
        .text(String(decoding: try APIJSON.encode(data), as: UTF8.self)), .timestamp(due),
      ])
    try connection.execute(
      "DELETE FROM google_messages WHERE id <= ?",
      [.integer(connection.lastInsertedRowID - maximumCount)])
  }

  /// Removes the pending notifications of an event of a subscription that will not happen any more. One that
  /// is being posted already may arrive all the same.
  static func cancel(
    _ event: GoogleEvent.Subscription, of token: PurchaseToken, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "DELETE FROM google_messages WHERE token = ? AND kind = ?",
      [.text(token.token), .integer(event.rawValue)])
  }

  /// The earliest attempt first.
  package static func due(
    at now: Timestamp, limit: Int, in connection: borrowing Connection
  ) throws -> [GoogleMessage] {
    try connection.query(
      "SELECT * FROM google_messages WHERE next_attempt <= ? ORDER BY next_attempt, id LIMIT ?",
      [.timestamp(now), .integer(limit)]
    ).map {
      GoogleMessage(
        id: try $0.integer("id"), document: try $0.text("document"),
        attempts: Int(try $0.integer("attempts")))
    }
  }

  /// Nil where none waits.
  package static func nextAttempt(in connection: borrowing Connection) throws -> Timestamp? {
    try connection.first("SELECT min(next_attempt) AS due FROM google_messages")?.optionalTimestamp("due")
  }

  package static func remove(_ id: Int64, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM google_messages WHERE id = ?", [.integer(id)])
  }

  /// Removes also those that are due later.
  package static func removeAll(in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM google_messages")
  }

  /// Counts an attempt that was not taken.
  package static func postpone(
    _ id: Int64, until next: Timestamp, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "UPDATE google_messages SET attempts = attempts + 1, next_attempt = ? WHERE id = ?",
      [.timestamp(next), .integer(id)])
  }
}
