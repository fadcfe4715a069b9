package import Commerce
package import CoreTypes
import Foundation
package import HTTPClient
import PullboxAPI
import PullboxAPIClient
package import Receipts

/// The App Store Server API: what a store knows of a customer beyond what was shown. Every transaction in an answer is
/// verified as one that a customer shows.
///
/// Which environment a transaction is of is found out by asking: production first, and the sandbox once when that does not
/// know it.
package struct StoreInterfaceClient: Sendable {
  /// A store's answer about a subscription.
  package struct SubscriptionStatus: Sendable {
    /// 1 active, 2 expired, 3 the store tries to be paid, 4 in grace, 5 revoked.
    package var status: Int?
    package var transaction: SignedTransaction?
    package var renewal: SignedRenewalInfo?
  }

  /// Why there is no answer.
  package struct Failure: Error, Sendable {
    /// The reason, as far as it decides what is done next. Two of ``untrusted(_:)`` count as equal.
    package enum Kind: Hashable, Sendable {
      /// The store's own word, by its number.
      case refused(Int)
      /// Not reached, or not able to answer; `retryAfter` when it said for how long.
      case unavailable(retryAfter: Duration?)
      /// Ended at this side.
      case abandoned
      /// The answer is not signed as the store's data must be.
      case untrusted(StoreRefusal)

      package static func == (left: Kind, right: Kind) -> Bool {
        switch (left, right) {
        case (.refused(let left), .refused(let right)): left == right
        case (.unavailable(let left), .unavailable(let right)): left == right
        case (.abandoned, .abandoned), (.untrusted, .untrusted): true
        default: false
        }
      }

      package func hash(into hasher: inout Hasher) {
        if case .refused(let code) = self { hasher.combine(code) }
      }
    }

    package var kind: Kind
    package var detail: String
  }

  /// The largest number of pages that are read of a list, of 20 transactions each.
  private static let maximumPages = 250
  /// The largest number of pages that one question reads, of 20 notifications each. A history with more pages ends the
  /// question; the notifications that came before are taken all the same.
  private static let maximumNotificationPages = 10_000

  package let gate: SignedDataGate
  package let access: SignedStoreAccess.Interface
  package let client: HTTPClient
  package let clock: any WallClock
  package let timer: any MonotonicClock

  package init(
    gate: SignedDataGate, access: SignedStoreAccess.Interface, client: HTTPClient, clock: any WallClock,
    timer: any MonotonicClock
  ) {
    self.gate = gate
    self.access = access
    self.client = client
    self.clock = clock
    self.timer = timer
  }

  /// Where it can be asked, production first.
  package var environments: [StoreEnvironment] {
    [.production, .sandbox].filter { access.addresses[$0] != nil }
  }
}

// MARK: What can be asked

extension StoreInterfaceClient {
  private struct TransactionInfo: Decodable {
    var signedTransactionInfo: String?
  }

  private struct TransactionPage: Decodable {
    var revision: String?
    var hasMore: Bool?
    var signedTransactions: [String]?
  }

  private struct Statuses: Decodable {
    struct Group: Decodable {
      struct Item: Decodable {
        var status: Int?
        var signedTransactionInfo: String?
        var signedRenewalInfo: String?
      }
      var lastTransactions: [Item]?
    }
    var data: [Group]?
  }

  private struct NotificationPage: Decodable {
    struct Item: Decodable {
      var signedPayload: String?
    }
    var paginationToken: String?
    var hasMore: Bool?
    var notificationHistory: [Item]?
  }

  private struct NotificationQuery: Encodable {
    var startDate: SignedDate
    var endDate: SignedDate
  }

  /// A statement of how much of a purchase was delivered, for a store that decides on a refund.
  package struct Consumption: Codable, Hashable, Sendable {
    var customerConsented: Bool
    var deliveryStatus: String
    var sampleContentProvided: Bool
    /// In thousandths of a percent.
    var consumptionPercentage: Int

    /// Creates the body of a statement; its customer has agreed that the store learns of it.
    package init(_ statement: ConsumptionStatement) {
      customerConsented = true
      deliveryStatus = statement.isDelivered ? "DELIVERED" : "UNDELIVERED_OTHER"
      sampleContentProvided = statement.hadSample
      consumptionPercentage = statement.share
    }
  }

  /// One transaction as it stands.
  package func transaction(_ id: TransactionIdentifier) async throws(Failure) -> SignedTransaction {
    let info = try await get("/inApps/v1/transactions/\(id)", as: TransactionInfo.self)
    return try await verified(info.signedTransactionInfo)
  }

  /// A store's list of transactions, as far as it was read.
  package struct Transactions: Sendable {
    package var transactions: [SignedTransaction] = []
    /// Whether that is all of it.
    package var isComplete = true
  }

  /// Returns the transactions of the customer who made this one, without finished consumables. The one that changed last
  /// comes first; a refund is such a change. At most ``maximumPages`` pages are read.
  package func history(of id: TransactionIdentifier) async throws(Failure) -> Transactions {
    try await pages("/inApps/v2/history/\(id)", query: [("sort", "DESCENDING")])
  }

  /// Returns the refunded transactions of the customer who made this one, of at most ``maximumPages`` pages.
  package func refunds(of id: TransactionIdentifier) async throws(Failure) -> Transactions {
    try await pages("/inApps/v2/refund/lookup/\(id)", query: [])
  }

  /// How the subscriptions of a transaction's customer stand.
  package func statuses(of id: TransactionIdentifier) async throws(Failure) -> [SubscriptionStatus] {
    let answer = try await get("/inApps/v1/subscriptions/\(id)", as: Statuses.self)
    var statuses: [SubscriptionStatus] = []
    for item in (answer.data ?? []).flatMap({ $0.lastTransactions ?? [] }) {
      var status = SubscriptionStatus(status: item.status)
      let transaction = try await verified(item.signedTransactionInfo)
      status.transaction = transaction
      if let renewal = item.signedRenewalInfo {
        status.renewal = try await trusted { () async throws(StoreRefusal) in
          try await gate.renewal(renewal, of: transaction)
        }
      }
      statuses.append(status)
    }
    return statuses
  }

  /// Calls `body` with the signed texts of each page of the notifications that the store made in that time; the next page is
  /// fetched meanwhile.
  package func notifications(
    from start: Timestamp, to end: Timestamp, in environment: StoreEnvironment,
    eachPage body: ([String]) async throws -> Void
  ) async throws {
    let query = try JSONEncoder().encode(
      NotificationQuery(startDate: SignedDate(start), endDate: SignedDate(end)))
    var page = try await notificationPage(query, token: nil, in: environment)
    for _ in 0..<Self.maximumNotificationPages {
      let token = page.hasMore == true ? page.paginationToken : nil
      async let next: NotificationPage? =
        token == nil ? nil : notificationPage(query, token: token, in: environment)
      try await body((page.notificationHistory ?? []).compactMap(\.signedPayload))
      guard let following = try await next, token != following.paginationToken || following.hasMore != true
      else { return }
      page = following
    }
    throw Failure(kind: .abandoned, detail: "the store's history of notifications has no end")
  }

  private func notificationPage(
    _ query: Data, token: String?, in environment: StoreEnvironment
  ) async throws(Failure) -> NotificationPage {
    try await call(
      "POST", "/inApps/v1/notifications/history", in: environment,
      query: token.map { [("paginationToken", $0)] } ?? [], body: query, as: NotificationPage.self)
  }

  /// Says that all that a transaction of that environment pays for was delivered.
  package func finish(_ id: TransactionIdentifier, in environment: StoreEnvironment) async throws(Failure) {
    _ = try await send("POST", "/inApps/v1/transactions/\(id)/finish", in: environment)
  }

  /// Says what was delivered, for a decision on a refund.
  package func send(
    _ consumption: Consumption, for id: TransactionIdentifier, in environment: StoreEnvironment
  ) async throws(Failure) {
    let body: Data
    do {
      body = try JSONEncoder().encode(consumption)
    } catch {
      throw Failure(kind: .abandoned, detail: "\(error)")
    }
    _ = try await send("PUT", "/inApps/v2/transactions/consumption/\(id)", in: environment, body: body)
  }

  /// Reads a list page by page until the store says that it ends. A page that names itself as the next one is a
  /// failure.
  private func pages(
    _ path: String, query: [(String, String)]
  ) async throws(Failure) -> Transactions {
    var read = Transactions()
    var revision: String?
    for _ in 0..<Self.maximumPages {
      let page = try await get(
        path, query: query + (revision.map { [("revision", $0)] } ?? []), as: TransactionPage.self)
      for text in page.signedTransactions ?? [] { read.transactions.append(try await verified(text)) }
      guard page.hasMore == true else { return read }
      guard let next = page.revision, next != revision else {
        throw Failure(
          kind: .unavailable(retryAfter: nil), detail: "the store's list of transactions does not end")
      }
      revision = next
    }
    read.isComplete = false
    return read
  }

  /// Verifies a transaction of an answer, which must be there.
  private func verified(_ text: String?) async throws(Failure) -> SignedTransaction {
    guard let text else {
      throw Failure(kind: .unavailable(retryAfter: nil), detail: "the store's answer holds no transaction")
    }
    return try await trusted { () async throws(StoreRefusal) in try await gate.transaction(text) }
  }

  /// Runs a check of an answer; what it refuses is ``Failure/Kind/untrusted(_:)``, and no fault of the
  /// customer's.
  private func trusted<Value>(
    _ body: () async throws(StoreRefusal) -> Value
  ) async throws(Failure) -> Value {
    do {
      return try await body()
    } catch {
      throw Failure(
        kind: .untrusted(error), detail: error.cause ?? "the store's answer is not signed as it should be")
    }
  }
}
