package import Commerce
import ContentCatalog
import CoreTypes
import Crypto
package import Database
package import DeliveryModel
import DeliveryRecords
import Entitlements
package import HTTPServer
import PaymentStores
package import PullboxAPI
import PullboxAPIServer
package import RouteAccess
import ServiceAPI

/// Why a customer may have a product at an instant, for operators: from the ledger alone, no store is asked.
/// Follows docs/entitlements.md ("Explanations").
package struct ExplanationRoutes: Sendable {
  /// Findings of an answer on each side, at most.
  static let maximumFindings = 200

  package let grants: GrantService
  /// Where a transaction is looked for that comes without its store.
  package let stores: [StoreIdentifier]

  package init(grants: GrantService, stores: [StoreIdentifier]) {
    self.grants = grants
    self.stores = stores
  }

  private static let query: Set<String> = [
    "customer", "transaction", "device", "account", "store", "environment", "product", "at",
  ]

  /// Adds `GET /v1/operator/explain` and `GET /v1/operator/entitlements`, which need the scope `read`. `at` is a time of RFC 3339.
  package func add(to routes: inout ScopedRoutes) {
    routes.on(.get, "/v1/operator/explain", requires: .read, query: Self.query) { request, _, _ in
      guard let product = try request.filter("product", { ProductIdentifier($0) }) else {
        throw Problem(.requestMalformed, "product is missing")
      }
      return try .json(
        try await grants.explain(
          product, of: try subject(of: request), at: try request.filter("at") { Timestamp(rfc3339: $0) }))
    }
    let listed = Self.query.subtracting(["product"]).union(HTTPRequest.pageQuery)
    routes.on(.get, "/v1/operator/entitlements", requires: .read, query: listed) { request, _, _ in
      try .page(
        await grants.owned(
          by: try subject(of: request), at: try request.filter("at") { Timestamp(rfc3339: $0) },
          after: try request.cursor("after") { ProductIdentifier($0) }, limit: try request.pageLimit()),
        of: request)
    }
  }

  /// Returns whom the request asks about. Throws `request-malformed` unless it names exactly one of customer,
  /// transaction, device and account, with the parameters that belong to it.
  package func subject(of request: HTTPRequest) throws(Problem) -> GrantService.Subject {
    let customer = try request.filter("customer") { CustomerIdentifier(hexadecimal: $0) }
    let transaction = try request.filter("transaction") { TransactionIdentifier($0) }
    let device = try request.filter("device") { DeviceIdentifier($0) }
    let store = try request.filter("store") { StoreIdentifier($0) }
    let environment = try request.filter("environment") { StoreEnvironment(rawValue: $0) }
    let account = try request.filter("account") { ApplicationAccount($0) }
    let environments = environment.map { [$0] } ?? StoreEnvironment.allCases
    let named = store.map { [$0] } ?? stores
    switch (customer, transaction, device, account) {
    case (let customer?, nil, nil, nil) where store == nil && environment == nil: return .customer(customer)
    case (nil, nil, let device?, nil) where environment == nil:
      return .device(device, at: store)
    case (nil, let transaction?, nil, nil):
      return .transaction(
        named.flatMap { store in
          environments.map { TransactionKey(store: store, environment: $0, id: transaction) }
        })
    case (nil, nil, nil, let account?): return .account(account, at: named, in: environments)
    default:
      throw Problem(
        .requestMalformed,
        "one of customer, transaction and account (with store and environment if need be) and device (with store) is needed"
      )
    }
  }
}

extension GrantService {
  /// The customers whose purchases are looked at.
  package enum Subject: Sendable {
    /// This customer, or the one that it was merged into.
    case customer(CustomerIdentifier)
    /// The customer of the one of these that is known.
    case transaction([TransactionKey])
    /// The customers whose proofs the device showed last: at the store, or at every one, those of before among them.
    case device(DeviceIdentifier, at: StoreIdentifier?)
    /// The customers who bought for an application's user of that name at one of these stores, or claimed a purchase as it
    /// (``CustomerTable/customers(of:at:in:_:)``).
    case account(ApplicationAccount, at: [StoreIdentifier], in: [StoreEnvironment])
  }

  /// Explains by the rules whether a customer may have the product at `moment`, now unless given. The explanation rests on
  /// the ledger until then, without a moment on all of it (a store's clock may be ahead), and on today's catalog and policies. Throws
  /// `transaction-unknown` where the ledger has nothing of the subject, and `request-malformed` for a number that more than one transaction
  /// has.
  func explain(
    _ product: ProductIdentifier, of subject: Subject, at moment: Timestamp?
  ) async throws -> ExplanationResponse {
    let past = moment
    let moment = moment ?? grantStore.clock.now()
    return try await catalog.current { catalog in
      try await grantStore.database.read { connection -> ExplanationResponse? in
        guard try catalog.isCurrent(in: connection) else { return nil }
        let customers = try Self.customers(subject, in: connection)
        let transactions = try customers.flatMap { try LedgerTable.transactions(of: $0, in: connection) }
          .compactMap { Self.standing($0, at: past) }
        let record = try EntitlementRecordTable.record(
          of: catalog.recorded(transactions), until: past, in: connection)
        let explained = rules.explain(
          product, by: transactions, catalog: catalog.related(to: transactions.map(\.product) + [product]),
          policies: catalog.policies, record: record, now: moment)
        return ExplanationResponse(
          product: product, at: moment, customers: customers.map(\.hexadecimal), allowed: explained.isAllowed,
          until: explained.until, because: Self.wire(explained.because),
          against: Self.wire(explained.against),
          readers: try customers.flatMap {
            try ReaderDeliveryTable.all(
              of: product, to: $0, until: moment, limit: ExplanationRoutes.maximumFindings,
              counting: recorder.unrecorded, in: connection)
          })
      }
    }
  }

  /// The purchase as it stood at an instant that was asked about, and as it is known now without one.
  static func standing(_ purchase: VerifiedTransaction, at past: Timestamp?) -> VerifiedTransaction? {
    guard let past else { return purchase }
    return purchase.standing(at: past)
  }

  /// Returns the customers that a subject stands for: one, for a device one for each feed, and for an application's user each that is
  /// known, without repetition. Throws `transaction-unknown` and `request-malformed`.
  package static func customers(
    _ subject: Subject, in connection: borrowing Connection
  ) throws -> [CustomerIdentifier] {
    switch subject {
    case .customer(let customer):
      let current = try CustomerTable.current(customer, in: connection)
      guard try !LedgerTable.transactions(of: current, in: connection).isEmpty else {
        throw Problem(.transactionUnknown, "the ledger has no such customer")
      }
      return [current]
    case .transaction(let keys):
      let found = try keys.compactMap { try LedgerTable.find($0, in: connection) }
      guard found.count <= 1 else {
        let names = found.map { "\($0.transaction.store) \($0.transaction.environment.rawValue)" }
        throw Problem(
          .requestMalformed,
          "\(names.joined(separator: ", ")) have that transaction: say store and environment")
      }
      guard let customer = found.first?.customer else {
        let names = Set(keys.map(\.store.description)).sorted().joined(separator: ", ")
        throw Problem(
          .transactionUnknown,
          "the ledger has no such transaction of \(names); a store that is not configured any more must be named"
        )
      }
      return [try CustomerTable.current(customer, in: connection)]
    case .device(let device, let store):
      var customers: [CustomerIdentifier] = []
      for feed in try FeedTable.all(of: device, in: connection) where store == nil || feed.store == store {
        guard let shown = feed.customer else { continue }
        let current = try CustomerTable.current(shown, in: connection)
        if !customers.contains(current) { customers.append(current) }
      }
      guard !customers.isEmpty else {
        throw Problem(.transactionUnknown, "the device has shown no purchase")
      }
      return customers
    case .account(let account, let stores, let environments):
      let customers = try CustomerTable.customers(of: account, at: stores, in: environments, connection)
      guard !customers.isEmpty else {
        throw Problem(.transactionUnknown, "no purchase names that user of the application")
      }
      return customers
    }
  }

  /// Returns the first ``ExplanationRoutes/maximumFindings`` findings as the contract has them.
  private static func wire(_ findings: [EntitlementFinding]) -> [ExplanationResponse.Finding] {
    findings.prefix(ExplanationRoutes.maximumFindings).map { finding in
      ExplanationResponse.Finding(
        rule: finding.rule, transaction: finding.transaction,
        period: finding.period.map { .init(start: $0.start, end: $0.end) }, sentence: finding.sentence)
    }
  }
}
