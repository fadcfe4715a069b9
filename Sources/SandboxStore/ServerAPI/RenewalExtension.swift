import Commerce
import CoreTypes
import Database
import Monitoring
import PullboxAPI
import SandboxRecords
import ServiceRuntime

/// How long, and why, the renewals of subscriptions are put off.
struct RenewalExtension: Hashable, Sendable {
  /// 1 to 90, each a thirtieth of the store's month.
  let days: Int
  /// 0 undeclared, 1 customer satisfaction, 2 another, 3 an outage.
  let reason: Int
  /// The caller's name for the request, of at most 128 bytes.
  let request: String

  /// Reads the members that both requests have. Throws the error of the first that cannot be. The order is
  /// days, reason, request.
  init(_ members: [String: JSONScalar]) throws(ServerAPIError) {
    guard let days = members["extendByDays"]?.integer, (1...90).contains(days) else {
      throw .invalidExtendByDays
    }
    guard let reason = members["extendReasonCode"]?.integer, (0...3).contains(reason) else {
      throw .invalidExtendReasonCode
    }
    guard let request = members["requestIdentifier"]?.text, (1...128).contains(request.utf8.count) else {
      throw .invalidRequestIdentifier
    }
    self.init(days: Int(days), reason: Int(reason), request: request)
  }

  /// From a row: the values are not checked again.
  init(days: Int, reason: Int, request: String) {
    self.days = days
    self.reason = reason
    self.request = request
  }

  /// The largest number of extensions of one subscription in a year.
  static let maximumPerYear = 2

  /// Puts off the renewal of a subscription and returns when it now is. Throws 4030004 for one that does not run, 4030005
  /// after ``maximumPerYear``. The last period's transaction ends with the subscription then. The row of the
  /// extension is what repeats are answered from, and what the yearly bound counts.
  func apply(
    to subscription: StoredSubscription, at now: Timestamp, by calendar: StoreCalendar,
    in connection: borrowing Connection
  ) throws -> Timestamp {
    guard
      let last = try TransactionTable.last(
        in: connection, account: subscription.account, originalID: subscription.originalID),
      subscription.life.phase == .active, last.sale?.revocation == nil
    else { throw ServerAPIError.extensionIneligible }
    let year = calendar.contracted(.seconds(365 * 86_400))
    let made = try connection.first(
      "SELECT count(*) AS count FROM extensions WHERE original_id = ? AND extended > ?",
      [.integer(subscription.originalID), .timestamp(now - year)]
    )?.integer("count")
    guard (made ?? 0) < Self.maximumPerYear else { throw ServerAPIError.extensionMaximum }
    var subscription = subscription
    subscription.life.extend(by: calendar.contracted(.seconds(days * 86_400)))
    try ChangeRecorder.put(subscription, in: connection)
    try TransactionTable.endLastPeriod(of: subscription, in: connection)
    try connection.execute(
      "INSERT INTO extensions (original_id, request, days, reason, extended, effective) VALUES (?, ?, ?, ?, ?, ?)",
      [
        .integer(subscription.originalID), .text(request), .integer(days), .integer(reason), .timestamp(now),
        .timestamp(subscription.life.expires),
      ])
    return subscription.life.expires
  }
}

/// A request to extend every subscription of a product, as far as it has come. Product and identifier name
/// it. It is written down after each batch, so that a store that ends goes on at its next start.
struct MassExtension: Hashable, Sendable {
  let product: ProductIdentifier
  let terms: RenewalExtension
  /// None: all.
  let storefronts: [String]
  /// Subscriptions whose renewal was put off.
  var succeeded: Int64 = 0
  /// Subscriptions of the product that run and could not be extended. Others do not count.
  var failed: Int64 = 0
  /// Nil while it goes on.
  var completed: Timestamp?

  /// The last subscription that was looked at.
  fileprivate var cursor: Int64 = 0

  /// Reads the body. Throws the error of the first member that cannot be. A list of storefronts that is there
  /// has 1 to 300 codes of three capital letters.
  init(_ body: [UInt8]) throws(ServerAPIError) {
    guard let members = try? APIJSON.decode([String: JSONScalar].self, from: body),
      let lists = try? APIJSON.decode(Storefronts.self, from: body)
    else { throw .badRequest }
    terms = try RenewalExtension(members)
    guard let product = members["productId"]?.text.flatMap(ProductIdentifier.init) else {
      throw .invalidProduct
    }
    self.product = product
    storefronts = lists.storefrontCountryCodes ?? []
    guard lists.storefrontCountryCodes?.isEmpty != true else { throw .emptyStorefronts }
    guard
      storefronts.allSatisfy({ $0.utf8.count == 3 && $0.utf8.allSatisfy { (0x41...0x5A).contains($0) } }),
      storefronts.count <= 300
    else { throw .invalidStorefront }
  }

  private struct Storefronts: Codable {
    var storefrontCountryCodes: [String]?
  }
}

extension MassExtension {
  /// Throws ``StateDirectoryError`` `damaged` for a row without a product.
  fileprivate init(_ row: Row) throws {
    guard let product = ProductIdentifier(try row.text("product")) else {
      throw StateDirectoryError(.damaged, path: "store.sqlite", message: "an extension is of no product")
    }
    self.product = product
    terms = RenewalExtension(
      days: Int(try row.integer("days")), reason: Int(try row.integer("reason")),
      request: try row.text("request"))
    storefronts = try APIJSON.decode([String].self, from: Array(try row.text("storefronts").utf8))
    succeeded = try row.integer("succeeded")
    failed = try row.integer("failed")
    completed = try row.optionalTimestamp("completed")
    cursor = try row.integer("cursor")
  }

  /// Nil where no request of that product has that identifier.
  static func find(
    product: String, request: String, in connection: borrowing Connection
  ) throws -> MassExtension? {
    try connection.first(
      "SELECT * FROM mass_extensions WHERE product = ? AND request = ?", [.text(product), .text(request)]
    ).map(MassExtension.init)
  }

  /// Begins it, unless one of that name has begun.
  func insert(at now: Timestamp, in connection: borrowing Connection) throws {
    try connection.execute(
      """
      INSERT INTO mass_extensions (product, request, days, reason, storefronts, begun) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (product, request) DO NOTHING
      """,
      [
        .text(product.description), .text(terms.request), .integer(terms.days), .integer(terms.reason),
        .text(String(decoding: try APIJSON.encode(storefronts), as: UTF8.self)), .timestamp(now),
      ])
  }

  /// The one that began first.
  fileprivate static func unfinished(in connection: borrowing Connection) throws -> MassExtension? {
    try connection.first("SELECT * FROM mass_extensions WHERE completed IS NULL ORDER BY begun LIMIT 1")
      .map(MassExtension.init)
  }

  /// Subscriptions in one database transaction.
  private static let batch = 200

  /// Extends the next subscriptions; after the last tells the summary. Subscriptions of other products and
  /// storefronts are passed over. A failure is notified and does not end the batch. Cursor and counts are
  /// saved in the same database transaction.
  fileprivate mutating func extendNext(
    at now: Timestamp, by calendar: StoreCalendar, in connection: borrowing Connection
  ) throws {
    let next = try SubscriptionTable.running(after: cursor, limit: Self.batch, in: connection)
    for subscription in next {
      cursor = subscription.originalID
      guard subscription.life.plan.product == product, subscription.life.phase == .active,
        let last = try TransactionTable.last(
          in: connection, account: subscription.account, originalID: subscription.originalID),
        storefronts.isEmpty || last.storefront.map(storefronts.contains) == true
      else { continue }
      do {
        _ = try terms.apply(to: subscription, at: now, by: calendar, in: connection)
        succeeded += 1
      } catch is ServerAPIError {
        failed += 1
        try NotificationRecorder.record(.renewalExtension, .failure, of: last, in: connection)
      }
    }
    if next.count < Self.batch {
      completed = now
      var draft = NotificationTable.Draft(type: .renewalExtension, subtype: .summary)
      draft.content.summary = NotificationPayload.Summary(
        productId: product.description, requestIdentifier: terms.request,
        storefrontCountryCodes: storefronts.isEmpty ? nil : storefronts, succeededCount: succeeded,
        failedCount: failed)
      try NotificationTable.insert(draft, in: connection)
    }
    try connection.execute(
      """
      UPDATE mass_extensions SET cursor = ?, succeeded = ?, failed = ?, completed = ?
      WHERE product = ? AND request = ?
      """,
      [
        .integer(cursor), .integer(succeeded), .integer(failed), .optional(completed),
        .text(product.description), .text(terms.request),
      ])
  }
}

extension PaymentStore {
  /// Extends one subscription. Repeated with the same identifier it changes nothing and answers the same. Throws
  /// 4040005, 4030007 for what a family shares, and what ``RenewalExtension/apply(to:at:by:in:)`` throws. The
  /// account's renewals that have fallen due are made first, in the same database transaction. A renewal that
  /// is put off is notified.
  func extend(originalID: Int64, by terms: RenewalExtension) async throws -> Timestamp {
    try await database.write(locking: [.everything]) { [clock] connection in
      guard let owner = try SubscriptionTable.find(in: connection, originalID: originalID)?.account else {
        let transaction = try TransactionTable.find(in: connection, id: originalID)
        throw transaction?.sharedFrom != nil && transaction?.sale?.type == .autoRenewableSubscription
          ? ServerAPIError.extensionFamily : ServerAPIError.originalTransactionUnknown
      }
      let earlier = try connection.first(
        "SELECT effective FROM extensions WHERE original_id = ? AND request = ?",
        [.integer(originalID), .text(terms.request)])
      if let earlier { return try earlier.timestamp("effective") }
      let now = clock.now()
      let calendar = try CalendarTable.current(in: connection)
      try RenewalRun(now: now, calendar: calendar).run(in: connection, account: owner)
      guard let subscription = try SubscriptionTable.find(in: connection, originalID: originalID) else {
        throw ServerAPIError.originalTransactionUnknown
      }
      let effective = try terms.apply(to: subscription, at: now, by: calendar, in: connection)
      if let last = try TransactionTable.last(in: connection, account: owner, originalID: originalID) {
        try NotificationRecorder.record(.renewalExtended, of: last, in: connection)
      }
      return effective
    }
  }

  /// Does the next part of a request that goes on. Returns whether there was one. All renewals that have
  /// fallen due are made before it.
  func continueMassExtension() async throws -> Bool {
    guard try await database.read({ try MassExtension.unfinished(in: $0) }) != nil else { return false }
    try await catchUp()
    try await database.write(locking: [.everything], waiting: .unlimited) { [clock] connection in
      guard var request = try MassExtension.unfinished(in: connection) else { return }
      try request.extendNext(at: clock.now(), by: CalendarTable.current(in: connection), in: connection)
    }
    return true
  }
}
