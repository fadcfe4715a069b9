import Commerce
import CoreTypes
import Crypto
import Database
import PullboxAPI

/// The notifications that are still to be posted, written down with the change that they tell of.
enum GoogleMessageTable {
  /// Those that are kept, at most: the newest.
  static let maximumCount: Int64 = 10_000

  struct Data: Codable, Sendable {
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
    var packageName = ""
    var eventTimeMillis: String
    var subscriptionNotification: Purchase?
    var oneTimeProductNotification: Purchase?
    var voidedPurchaseNotification: Voided?
    var testNotification: Test?
  }

  /// - Parameter due: when it is posted, where that is later than what it tells of.
  static func insert(
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

  static func insertTest(at date: Timestamp, in connection: borrowing Connection) throws {
    var data = Data(eventTimeMillis: String(date.millisecondsSinceEpoch))
    data.testNotification = .init()
    try insert(data, of: "", kind: nil, due: date, in: connection)
  }

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

  /// Removes the pending notifications of an event of a subscription that will not happen any more.
  static func cancel(
    _ event: GoogleEvent.Subscription, of token: PurchaseToken, in connection: borrowing Connection
  ) throws {
    try connection.execute(
      "DELETE FROM google_messages WHERE token = ? AND kind = ?",
      [.text(token.token), .integer(event.rawValue)])
  }

  static func due(
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

  static func nextAttempt(in connection: borrowing Connection) throws -> Timestamp? {
    try connection.first("SELECT min(next_attempt) AS due FROM google_messages")?.optionalTimestamp("due")
  }

  static func remove(_ id: Int64, in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM google_messages WHERE id = ?", [.integer(id)])
  }

  static func removeAll(in connection: borrowing Connection) throws {
    try connection.execute("DELETE FROM google_messages")
  }

  static func postpone(_ id: Int64, until next: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      "UPDATE google_messages SET attempts = attempts + 1, next_attempt = ? WHERE id = ?",
      [.timestamp(next), .integer(id)])
  }
}

/// Writes down the notifications that a change calls for, of purchases that have a token, in the database transaction of the
/// change.
enum GoogleMessageRecorder {
  static func transactionDidChange(
    from earlier: StoredTransaction?, to transaction: StoredTransaction, in connection: borrowing Connection
  ) throws {
    if case .failed = transaction.life.state, earlier?.sale == nil {
      guard
        let token = try PurchaseTokenTable.covering(transaction.id, chain: transaction.id, in: connection)
      else { return }
      try GoogleMessageTable.insert(
        token.kind == .subscription ? .subscription(.pendingPurchaseCancelled) : .product(.cancelled),
        of: token, transaction.product, at: transaction.requested, in: connection)
      return
    }
    if earlier?.sale == nil { try PurchaseTokenTable.bind(transaction, in: connection) }
    guard let sale = transaction.sale, sale.reason != .restore, let chain = transaction.chain,
      var token = try PurchaseTokenTable.covering(transaction.id, chain: chain, in: connection)
    else { return }
    if earlier?.sale == nil, token.first == transaction.id {
      // It was pending.
      token.deadline = try CalendarTable.current(in: connection).acknowledgementEnd(from: sale.date)
      try PurchaseTokenTable.update(token, in: connection)
      try GoogleMessageTable.insert(
        token.kind == .subscription ? .subscription(.purchased) : .product(.purchased), of: token,
        transaction.product, at: sale.date, in: connection)
    }
    guard earlier?.sale?.revocation == nil, let revocation = sale.revocation else { return }
    if token.deadline != nil {
      token.deadline = nil
      try PurchaseTokenTable.update(token, in: connection)
    }
    let number = try PurchaseTokenTable.transactions(of: token, in: connection)
      .firstIndex { $0.id == transaction.id }
    let order = OrderName.text(
      first: token.first, renewal: number.flatMap { $0 == 0 ? nil : $0 - 1 })
    try GoogleMessageTable.insert(
      .voided(order: order), of: token, transaction.product, at: revocation.date, in: connection)
    if token.kind == .subscription {
      try GoogleMessageTable.insert(
        .subscription(.revoked), of: token, transaction.product, at: revocation.date, in: connection)
    }
  }

  static func subscriptionDidChange(
    from earlier: StoredSubscription?, to subscription: StoredSubscription,
    in connection: borrowing Connection
  ) throws {
    guard let before = earlier?.life,
      let token = try PurchaseTokenTable.covering(
        .max, chain: subscription.originalID, in: connection)
    else { return }
    let life = subscription.life
    func tell(
      _ event: GoogleEvent.Subscription, at date: Timestamp, due: Timestamp? = nil,
      in connection: borrowing Connection
    ) throws {
      try GoogleMessageTable.insert(
        .subscription(event), of: token, life.plan.product, at: date, due: due, in: connection)
    }
    if before.phase == .retrying, life.phase != .retrying {
      try GoogleMessageTable.cancel(.onHold, of: token, in: connection)
    }
    switch (before.phase, life.phase) {
    case (.active, .retrying):
      if let grace = life.graceEnd {
        try tell(.inGracePeriod, at: before.expires, in: connection)
        try tell(.onHold, at: grace, due: grace, in: connection)
      } else {
        try tell(.onHold, at: before.expires, in: connection)
      }
    case (.active, .paused): try tell(.paused, at: life.expires, in: connection)
    case (.paused, .retrying): try tell(.onHold, at: life.graceEnd ?? life.expires, in: connection)
    case (.retrying, .active), (.paused, .active): try tell(.recovered, at: life.start, in: connection)
    case (.active, .expired), (.retrying, .expired), (.paused, .expired):
      try tell(.expired, at: before.pauseEnd ?? life.expires, in: connection)
    case (.active, .active) where before.start == life.start && before.pausesNext != life.pausesNext:
      try tell(.pauseScheduleChanged, at: life.start, in: connection)
    case (.active, .active) where before.start != life.start && life.isRenewal(of: before):
      try tell(.renewed, at: life.start, in: connection)
    case (.active, .active) where before.autoRenews && !life.autoRenews:
      try tell(.cancelled, at: life.start, in: connection)
    case (.active, .active) where !before.autoRenews && life.autoRenews:
      try tell(.restarted, at: life.start, in: connection)
    default: break
    }
  }
}

extension SubscriptionLifecycle {
  /// Whether it goes on where the other one ended, or with the same product: what was bought in the middle of a period has a
  /// token of its own.
  fileprivate func isRenewal(of before: SubscriptionLifecycle) -> Bool {
    before.plan.product == plan.product || before.nextPlan?.product == plan.product && start >= before.expires
  }
}
