import Commerce
import CoreTypes
import Foundation
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import Receipts

/// The App Store Server API: what a store knows of a customer beyond what was shown. Every transaction in an answer is
/// verified as one that a customer shows.
///
/// Which environment a transaction is of is found out by asking: production first, and the sandbox once when that does not
/// know it.
struct StoreInterfaceClient: Sendable {
  /// What a store knows of a subscription.
  struct SubscriptionStatus: Sendable {
    /// 1 active, 2 expired, 3 the store tries to be paid, 4 in grace, 5 revoked.
    var status: Int?
    var transaction: SignedTransaction?
    var renewal: SignedRenewalInfo?
  }

  /// Why there is no answer.
  struct Failure: Error, Sendable {
    enum Kind: Hashable, Sendable {
      /// The store's own word, by its number.
      case refused(Int)
      /// Not reached, or not able to answer; `retryAfter` when it said for how long.
      case unavailable(retryAfter: Duration?)
      /// Ended at this side.
      case abandoned
      /// What came back is not what the store signs.
      case untrusted(StoreRefusal)

      static func == (left: Kind, right: Kind) -> Bool {
        switch (left, right) {
        case (.refused(let left), .refused(let right)): left == right
        case (.unavailable(let left), .unavailable(let right)): left == right
        case (.abandoned, .abandoned), (.untrusted, .untrusted): true
        default: false
        }
      }

      func hash(into hasher: inout Hasher) {
        if case .refused(let code) = self { hasher.combine(code) }
      }
    }

    var kind: Kind
    var detail: String
  }

  private static let attempts = 3
  private static let pause: Duration = .milliseconds(500)
  /// A longer wait is left to those who ask.
  private static let longestWait: Duration = .seconds(2)
  /// Of 20 transactions each.
  private static let maximumPages = 250
  /// Of 20 notifications each: more in one question end it, and what came is taken all the same.
  private static let maximumNotificationPages = 10_000
  private static let timeout: Duration = .seconds(10)
  /// 4040002, 4040004, 4040006 and 5000001 say themselves that trying again may help.
  private static let retriable: Set<Int> = [4_040_002, 4_040_004, 4_040_006, 5_000_001]
  private static let unknownTransaction = 4_040_010
  private static let rateLimited = 4_290_000

  let gate: SignedDataGate
  let access: SignedStoreAccess.Interface
  let client: HTTPClient
  let clock: any WallClock
  let timer: any MonotonicClock

  /// Where it can be asked, production first.
  var environments: [StoreEnvironment] {
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

  /// What is delivered, for a store that decides on a refund.
  struct Consumption: Codable, Hashable, Sendable {
    var customerConsented: Bool
    var deliveryStatus: String
    var sampleContentProvided: Bool
    /// In thousandths of a percent.
    var consumptionPercentage: Int

    /// Of a customer who has agreed to it.
    init(_ statement: ConsumptionStatement) {
      customerConsented = true
      deliveryStatus = statement.isDelivered ? "DELIVERED" : "UNDELIVERED_OTHER"
      sampleContentProvided = statement.hadSample
      consumptionPercentage = statement.share
    }
  }

  /// One transaction as it stands.
  func transaction(_ id: TransactionIdentifier) async throws(Failure) -> SignedTransaction {
    let info = try await wherever("/inApps/v1/transactions/\(id)", as: TransactionInfo.self)
    return try await verified(info.signedTransactionInfo)
  }

  /// What a store's list holds, as far as it was read.
  struct Transactions: Sendable {
    var transactions: [SignedTransaction] = []
    /// Whether that is all of it.
    var isComplete = true
  }

  /// What the customer of a transaction bought, finished consumables aside: what changed last comes first, a refund among it. Of
  /// more than ``maximumPages`` the rest is not read.
  func history(of id: TransactionIdentifier) async throws(Failure) -> Transactions {
    try await pages("/inApps/v2/history/\(id)", query: [("sort", "DESCENDING")])
  }

  /// What the customer of a transaction was refunded, as far.
  func refunds(of id: TransactionIdentifier) async throws(Failure) -> Transactions {
    try await pages("/inApps/v2/refund/lookup/\(id)", query: [])
  }

  /// How the subscriptions of a transaction's customer stand.
  func statuses(of id: TransactionIdentifier) async throws(Failure) -> [SubscriptionStatus] {
    let answer = try await wherever("/inApps/v1/subscriptions/\(id)", as: Statuses.self)
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
  func notifications(
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
  func finish(_ id: TransactionIdentifier, in environment: StoreEnvironment) async throws(Failure) {
    _ = try await send("POST", "/inApps/v1/transactions/\(id)/finish", in: environment)
  }

  /// Says what was delivered, for a decision on a refund.
  func send(
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

  private func pages(
    _ path: String, query: [(String, String)]
  ) async throws(Failure) -> Transactions {
    var read = Transactions()
    var revision: String?
    for _ in 0..<Self.maximumPages {
      let page = try await wherever(
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

  private func verified(_ text: String?) async throws(Failure) -> SignedTransaction {
    guard let text else {
      throw Failure(kind: .unavailable(retryAfter: nil), detail: "the store's answer holds no transaction")
    }
    return try await trusted { () async throws(StoreRefusal) in try await gate.transaction(text) }
  }

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

// MARK: How it is asked

extension StoreInterfaceClient {
  private struct Refusal: Decodable {
    var errorCode: Int
    var errorMessage: String?
  }

  private func wherever<Answer: Decodable>(
    _ path: String, query: [(String, String)] = [], as type: Answer.Type
  ) async throws(Failure) -> Answer {
    try await wherever { environment throws(Failure) in
      try await self.call("GET", path, in: environment, query: query, as: type)
    }
  }

  /// The first environment's answer; the other's where the first one does not know the transaction, or does not know the
  /// application yet.
  private func wherever<Answer>(
    _ body: (StoreEnvironment) async throws(Failure) -> Answer
  ) async throws(Failure) -> Answer {
    var last = Failure(kind: .unavailable(retryAfter: nil), detail: "there is no address")
    for environment in environments {
      do {
        return try await body(environment)
      } catch {
        guard error.kind == .refused(Self.unknownTransaction) || error.kind == .refused(401) else {
          throw error
        }
        // A transaction that is unknown here says more than a token that is refused there.
        if last.kind != .refused(Self.unknownTransaction) { last = error }
      }
    }
    throw last
  }

  private func call<Answer: Decodable>(
    _ method: String, _ path: String, in environment: StoreEnvironment, query: [(String, String)] = [],
    body: Data? = nil, as type: Answer.Type
  ) async throws(Failure) -> Answer {
    let response = try await send(method, path, in: environment, query: query, body: body)
    do {
      return try JSONDecoder().decode(type, from: Data(response.body))
    } catch {
      throw Failure(kind: .unavailable(retryAfter: nil), detail: "the store's answer is not understood")
    }
  }

  /// The first answer of success. What may be otherwise in a moment is tried three times.
  private func send(
    _ method: String, _ path: String, in environment: StoreEnvironment, query: [(String, String)] = [],
    body: Data? = nil
  ) async throws(Failure) -> ClientResponse {
    var attempt = 1
    while true {
      do throws(Failure) {
        return try await sendOnce(method, path, in: environment, query: query, body: body)
      } catch {
        guard attempt < Self.attempts, let wait = wait(after: error, attempt: attempt) else { throw error }
        do {
          try await timer.sleep(for: wait)
        } catch {
          throw Failure(kind: .abandoned, detail: "the question was given up")
        }
        attempt += 1
      }
    }
  }

  /// Nil when the failure is final, or the wait too long for one who asks.
  private func wait(after failure: Failure, attempt: Int) -> Duration? {
    switch failure.kind {
    case .refused(let code) where Self.retriable.contains(code): return Self.pause * attempt
    case .unavailable(let retryAfter):
      let wait = max(retryAfter ?? .zero, Self.pause * attempt)
      return wait <= Self.longestWait ? wait : nil
    case .refused, .abandoned, .untrusted: return nil
    }
  }

  private func sendOnce(
    _ method: String, _ path: String, in environment: StoreEnvironment, query: [(String, String)],
    body: Data?
  ) async throws(Failure) -> ClientResponse {
    guard let address = access.addresses[environment] else {
      throw Failure(kind: .abandoned, detail: "there is no address for \(environment.rawValue)")
    }
    let token: String
    do {
      token = try access.key.token(at: clock.now())
    } catch {
      throw Failure(kind: .abandoned, detail: "\(error)")
    }
    let url = APIClient(baseURL: address, client: client).url(path, query: query)
    var request = ClientRequest(
      method: method, url: url,
      headers: [("Authorization", "Bearer \(token)"), ("Accept", "application/json")])
    if let body {
      request.headers.append(("Content-Type", "application/json"))
      request.body = .bytes(Array(body))
    }
    request.totalTimeout = Self.timeout
    request.maximumResponseLength = .mebibytes(8)
    let response: ClientResponse
    do {
      response = try await client.send(request)
    } catch {
      let isOwn = error.code == .cancelled || error.code == .shutDown
      throw Failure(kind: isOwn ? .abandoned : .unavailable(retryAfter: nil), detail: error.message)
    }
    guard !(200..<300).contains(response.status) else { return response }
    throw failure(response)
  }

  /// A body that is not the store's JSON, as that of 401 is, says nothing.
  private func failure(_ response: ClientResponse) -> Failure {
    let refusal = try? JSONDecoder().decode(Refusal.self, from: Data(response.body))
    let detail = "the store refused with \(refusal?.errorCode ?? response.status)"
    if response.status == 429 || refusal?.errorCode == Self.rateLimited {
      return Failure(
        kind: .unavailable(
          retryAfter: StoreWait.duration(response.headers["Retry-After"], at: clock.now())), detail: detail)
    }
    if let refusal { return Failure(kind: kind(of: refusal), detail: detail) }
    guard response.status >= 500 || response.status == 408 else {
      return Failure(kind: .refused(response.status), detail: detail)
    }
    return Failure(kind: .unavailable(retryAfter: nil), detail: detail)
  }

  private func kind(of refusal: Refusal) -> Failure.Kind {
    refusal.errorCode >= 5_000_000 && !Self.retriable.contains(refusal.errorCode)
      ? .unavailable(retryAfter: nil) : .refused(refusal.errorCode)
  }
}

/// What a store's `Retry-After` says: milliseconds since 1970, or seconds from now.
enum StoreWait {
  /// Numbers from here on are moments: as seconds they would be three thousand years.
  private static let firstMoment: Int64 = 100_000_000_000

  /// Nil for what is no number; never negative, at most a day.
  static func duration(_ text: String?, at now: Timestamp) -> Duration? {
    guard let number = text.flatMap({ Int64($0) }) else { return nil }
    let wait: Duration =
      number >= firstMoment ? Timestamp(millisecondsSinceEpoch: number) - now : .seconds(max(number, 0))
    return min(max(wait, .zero), .seconds(86_400))
  }
}

extension StoreInterfaceClient.Failure {
  /// What it means for a proof that was to be verified.
  var refusal: StoreRefusal {
    switch kind {
    case .untrusted(let refusal):
      // The store's own answer: the customer's proof is not at fault.
      .undetermined(
        retryAfter: .seconds(30), cause: refusal.problem.detail ?? detail, outcome: .answered)
    case .refused(4_040_010), .refused(4_000_006):
      .final(.receiptNotAuthentic, "the store does not know the transaction", onStoresWord: true)
    case .refused: .undetermined(retryAfter: .seconds(30), cause: detail, outcome: .answered)
    case .unavailable(let retryAfter):
      .undetermined(
        retryAfter: retryAfter ?? .seconds(30), cause: detail, outcome: .failed(retryAfter: retryAfter))
    case .abandoned: .abandoned
    }
  }

  /// What it means for a call of the outbox.
  var answer: OutboxMachine.Answer {
    switch kind {
    case .refused: .refused
    case .unavailable(let retryAfter): .unavailable(retryAfter: retryAfter)
    case .untrusted: .unavailable(retryAfter: nil)
    case .abandoned: .abandoned
    }
  }
}
