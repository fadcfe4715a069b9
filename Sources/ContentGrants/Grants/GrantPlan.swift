import Commerce
import ContentCatalog
import ContentDelivery
import ContentPackage
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import Entitlements
import PaymentStores
import PullboxAPI
import ServiceAPI

/// An order for a grant: a product, and where the request names them the version and the transaction that pays.
/// One request has 1 to 200 of them, each of another product.
struct GrantOrder: Sendable {
  /// The product whose content is wanted; the catalog may not have it.
  var product: ProductIdentifier
  /// Nil for the newest that is released to the device.
  var version: ContentVersion?
  /// Nil for the strongest that pays.
  var transaction: TransactionIdentifier?
}

/// The plan of an order, with all that the answer needs: it is read in one go, and ``GrantStore`` carries it out.
struct GrantPlan: Sendable {
  /// The facts that a write makes the grant from.
  var basis: GrantStore.Basis
  /// The grant that there is, where nothing is to be written. With it, the order is answered without a write.
  var standing: GrantRecord?
  /// The keys whose signatures the product's content needs; nil where the product names none.
  var publisherKeys: [PublisherKeyIdentifier]?
  /// The signatures of the manifest by these keys; empty where there are none.
  var signatures: [PublisherSignature]
  /// The newest other version that the device has completed, whose files it may keep; nil where there is none.
  var previous: PreviousContent?
  /// Until when the content is open, as far as is known; nil for good.
  var openUntil: Timestamp?
}

/// Makes plans from what a store vouches for, held against the catalog, and what the database says of the
/// device. The rules are evaluated once, when the planner is made. It holds as long as its catalog is the
/// database's (``isCurrent(in:)``); its plans rest also on rows, so that they are made in the transaction that
/// uses them.
struct GrantPlanner: Sendable {
  /// The device that asks, with the key that it brings.
  let device: Device
  /// The request's account and consent, and the store's rules.
  let conditions: GrantConditions
  private let orders: [GrantOrder]
  private let catalog: CatalogSnapshot
  private let stopped: RevocationList.StoppedContents
  private let report: EntitlementReport
  private let record: EntitlementRecord
  /// Asked about what is refused alone.
  private let explain: @Sendable (ProductIdentifier) -> EntitlementExplanation
  /// By their names: those of one proof are of one environment.
  private let transactions: [TransactionIdentifier: VerifiedTransaction]

  /// Evaluates the rules for all orders.
  ///
  /// - Parameters:
  ///   - rules: the rules of entitlements, with the default policy of publications.
  ///   - transactions: those of one store and environment; of two with one number the one of the earlier word
  ///     is charged.
  ///   - record: the issues that runs among the transactions unlocked.
  ///   - orders: the products that are wanted, in the order of the answer.
  ///   - device: the device that asks.
  ///   - conditions: what the request says beside its proof, and the rules of its store.
  ///   - catalog: the products, issues and policies to hold the transactions against.
  ///   - stopped: content that is withdrawn or damaged.
  ///   - now: the moment at which the rules are asked.
  init(
    rules: EntitlementRules, transactions: [VerifiedTransaction], record: EntitlementRecord,
    orders: [GrantOrder], device: Device, conditions: GrantConditions = GrantConditions(),
    catalog: CatalogSnapshot, stopped: RevocationList.StoppedContents, now: Timestamp
  ) {
    self.device = device
    self.conditions = conditions
    self.orders = orders
    self.catalog = catalog
    self.stopped = stopped
    self.record = record
    self.transactions = Dictionary(
      transactions.map { ($0.id, $0) }, uniquingKeysWith: { $0.asOf <= $1.asOf ? $0 : $1 })
    let related = catalog.related(
      to: transactions.map(\.product) + orders.map(\.product) + record.products)
    report = rules.evaluate(
      transactions, catalog: related, policies: catalog.policies, record: record, now: now)
    explain = { product in
      rules.explain(
        product, by: transactions, catalog: related, policies: catalog.policies, record: record, now: now)
    }
  }

  /// Whether the transactions pay for everything that is ordered.
  var coversOrders: Bool { orders.allSatisfy { report[$0.product].isOwned } }

  /// The transactions that pay for what is ordered; of a consumable all that could. One may be there more than once.
  var paying: [VerifiedTransaction] {
    orders.flatMap { order in
      isDeliveredOnce(order)
        ? (report.claims[order.product] ?? []).compactMap { transactions[$0.transaction] }
        : [try? transaction(for: order)].compactMap(\.self)
    }
  }

  /// The locks on the rows that the plans rest on, and the grants that are made by them. The products and what publications open
  /// are left as they are, so that grants are made side by side; the transactions that pay, the first ones of their purchases, and the
  /// accounts that are named are this write's alone. The customers are found on the way.
  var locks: [DatabaseLock] {
    let paying = paying
    let accounts = paying.flatMap { transaction in
      [conditions.account, transaction.account].compactMap(\.self).map {
        DatabaseLock.account($0, in: transaction.environment)
      }
    }
    return [.publications.shared] + orders.map { .product($0.product).shared } + accounts
      + DatabaseLock.statements(on: paying, joiningAccounts: conditions.rules.claims.joinsAccounts)
  }

  /// The transactions of the purchases that the request may take from another account: the grants that they have paid for end then.
  /// Empty where the store's rule gives no purchase to another account, or no account is named. A read finds them for the locks of a
  /// write, and the write finds the same or more: with the first transaction of a purchase locked, no other is added to it. Throws
  /// ``DatabaseError``.
  func transferable(in connection: borrowing Connection) throws -> Set<TransactionKey> {
    guard conditions.rules.claims == .transfer else { return [] }
    var keys: Set<TransactionKey> = []
    for purchase in Set(
      paying.filter { conditions.account ?? $0.account != nil }.map(\.originalKey))
    {
      keys.formUnion(try LedgerTable.keys(ofPurchase: purchase, in: connection))
    }
    return keys
  }

  /// Which issues runs of subscriptions unlocked that was not written down yet, by the transaction that each began with.
  var unlocked: [TransactionKey: [ProductIdentifier: EntitlementRule]] {
    report.issuesUnlocked(beyond: record).named(by: Array(transactions.values))
  }

  /// Whether the product is a consumable, which one device alone gets for each purchase.
  private func isDeliveredOnce(_ order: GrantOrder) -> Bool {
    catalog[order.product]?.product.type == .consumable
  }

  /// The transactions that the plans are made from.
  var shown: [TransactionKey] { transactions.values.map(\.key) }

  /// Whether the catalog is the database's; then the plans are good. To be asked in the transaction that uses
  /// the plans. Throws ``DatabaseError``.
  func isCurrent(in connection: borrowing Connection) throws -> Bool {
    try catalog.isCurrent(in: connection)
  }

  /// A plan for each order, or why there is none. Throws what the database throws. They are in the order of the
  /// orders, and reading them changes nothing.
  func plans(in connection: borrowing Connection) throws -> [Result<GrantPlan, Problem>] {
    var plans: [Result<GrantPlan, Problem>] = []
    for order in orders {
      do {
        plans.append(.success(try plan(order, in: connection)))
      } catch let problem as Problem {
        plans.append(.failure(problem))
      }
    }
    return plans
  }

  /// Makes the plan of one order. Throws the problem that stands against it, or ``DatabaseError``.
  private func plan(_ order: GrantOrder, in connection: borrowing Connection) throws -> GrantPlan {
    let content = try catalog.content(for: order, to: device.id, in: connection)
    if let reason = stopped.reason(for: content.digest) { throw Problem.stopped(reason) }
    // Another node may have stopped it since this one looked.
    if connection.isShared {
      if try BlockedContentTable.contains(content.digest, in: connection) {
        throw Problem.stopped(.contentWithdrawn)
      }
      if try PackageCheckTable.fault(of: content.digest, in: connection) != nil {
        throw Problem.stopped(.contentDamaged)
      }
    }
    let publisherKeys = catalog[order.product]?.product.publisherKeys
    let isDeliveredOnce = isDeliveredOnce(order)
    let transaction =
      try isDeliveredOnce ? undelivered(order, in: connection) : transaction(for: order)
    let owed = report.products(claimedBy: transaction.id).filter { catalog.offered($0, to: device.id) != nil }
    let grants = try GrantTable.all(of: content.product, on: device.id, in: connection)
    let basis = GrantStore.Basis(
      transaction: transaction, content: content, owed: owed,
      unlocked: report.issues(unlockedBy: transaction.id), present: grants,
      isDeliveredOnce: isDeliveredOnce)
    return GrantPlan(
      basis: basis,
      standing: try GrantStore.standing(
        on: basis, among: grants, of: device, under: conditions, in: connection),
      publisherKeys: publisherKeys,
      signatures: try SignatureTable.all(
        of: content.product, content.version, by: publisherKeys, in: connection),
      previous: ReusableContent.previous(of: content.digest, among: grants),
      openUntil: report.ends[order.product])
  }

  /// Returns the transaction that pays. Throws `purchase-required`, `entitlement-expired` or
  /// `entitlement-revoked`.
  private func transaction(for order: GrantOrder) throws(Problem) -> VerifiedTransaction {
    let name = try name(for: order)
    guard let transaction = transactions[name] else {
      preconditionFailure("the rules name transactions of the proof")
    }
    return transaction
  }

  /// Returns one of several purchases of a consumable whose content no other device has; the strongest where there is none.
  private func undelivered(
    _ order: GrantOrder, in connection: borrowing Connection
  ) throws -> VerifiedTransaction {
    let strongest = try transaction(for: order)
    guard order.transaction == nil else { return strongest }
    for claim in report.claims[order.product] ?? [] {
      guard let candidate = transactions[claim.transaction] else { continue }
      let isTaken = try GrantTable.isGranted(
        order.product, paidBy: candidate.key, elsewhereThanOn: device.id, in: connection)
      if !isTaken { return candidate }
    }
    return strongest
  }

  /// Returns the number of the transaction that pays: the one that the order names, if it is among those that
  /// do, else the strongest. Throws as ``transaction(for:)`` does.
  private func name(for order: GrantOrder) throws(Problem) -> TransactionIdentifier {
    switch report[order.product] {
    case .owned(let claim):
      guard let wanted = order.transaction else { return claim.transaction }
      let claims = report.claims[order.product] ?? []
      guard claims.contains(where: { $0.transaction == wanted }) else {
        throw Problem(.purchaseRequired, "transaction \(wanted) does not pay for \(order.product)")
      }
      return wanted
    case .expired: throw Problem(.entitlementExpired, reasons(against: order.product))
    case .revoked: throw Problem(.entitlementRevoked, reasons(against: order.product))
    case .notOwned:
      throw Problem(
        .purchaseRequired,
        reasons(against: order.product) ?? "the receipt holds no purchase of \(order.product)")
    }
  }

  /// Why what was bought does not open the product, which period ended when among it; nil where nothing was bought that could.
  private func reasons(against product: ProductIdentifier) -> String? {
    let findings = explain(product).against.filter { $0.rule != .notBought && $0.rule != .notInCatalog }
    guard !findings.isEmpty else { return nil }
    return "\(product): " + findings.prefix(Self.maximumReasons).map(\.sentence).joined(separator: " ")
  }

  private static let maximumReasons = 3
}

extension CatalogSnapshot {
  /// The content that is ordered. Throws `product-unknown`, `version-unknown` or `content-withdrawn`. Without a
  /// version in the order it is what the catalog offers to the device, else that version if it is released to
  /// it. Throws also ``DatabaseError``.
  func content(
    for order: GrantOrder, to device: DeviceIdentifier, in connection: borrowing Connection
  ) throws -> ReleasedContent {
    let (product, version) = (order.product, order.version)
    guard self[product] != nil else { throw Problem(.productUnknown, "no product is named \(product)") }
    let content =
      if let version {
        try VersionTable.available(product, version, to: device, in: connection)
      } else {
        offered(product, to: device)
      }
    if let content { return content }
    if try VersionTable.isWithdrawn(product, version, in: connection) { throw Problem(.contentWithdrawn) }
    throw try Self.notReleased(product, version, in: connection)
  }

  /// Tells a device that a partial release does not reach yet from one that asks for what no device gets.
  private static func notReleased(
    _ product: ProductIdentifier, _ version: ContentVersion?, in connection: borrowing Connection
  ) throws -> Problem {
    let part = try VersionTable.releasedToPart(of: product, in: connection)
    if let part, version == nil || version == part {
      return Problem(
        .versionUnknown,
        "\(product) \(part) is released to a part of the devices so far, and this device is not among them; ask again later"
      )
    }
    return Problem(
      .versionUnknown,
      version.map { "\(product) has no version \($0) that is released to this device" }
        ?? "no version of \(product) is released yet")
  }
}
