import Commerce
import CoreTypes
import Crypto
import Database
import Monitoring
import PullboxAPI
import PullboxAPIServer
import SandboxRecords
import ServiceRuntime

/// The store itself: accounts, their transactions, their receipts.
///
/// ``StoreRoutes`` calls it for HTTP requests, and SQLite keeps what it sells. Every transaction follows its
/// ``PurchaseLifecycle``, ``StoreCatalog`` says what is for sale, and ``ReceiptIssuer`` makes and checks
/// receipts. Calls throw the `Problem` to answer with.
///
/// ```swift
/// let opened = try await store.openAccount(AccountRequest(name: "Ada", territory: "GBR"))
/// let account = try await store.account(token: opened.token)
/// let bought = try await store.purchase(PurchaseRequest(product: issue), by: account)
/// let receipt = try await store.receipt(for: account, device: device, bundleIdentifier: nil)
/// ```
struct PaymentStore: Sendable {
  /// Whatever opened it closes it, after the last call of the store.
  let database: Database
  let catalog: any StoreCatalog
  let issuer: ReceiptIssuer
  /// The password that `verifyReceipt` asks for; nil where it asks for none.
  let sharedSecret: SecretDigest?
  /// Dates everything that the store sells and signs.
  let clock: any WallClock
  let limits: StoreLimits
  /// Makes renewals at their moments, ``runRenewals(log:)``; woken by what may fall due before it looks again.
  let renewals: Worker
  /// In memory alone: after a restart no purchase is under way.
  let underWay = PurchasesUnderWay()
  let faults = FaultSwitch()
  let questions = WaitingQuestions()
  /// Measures pauses and the latency of faults. It has no part in dates.
  let timer: any MonotonicClock
  /// The environment that the store's transactions and receipts name.
  var environment: StoreEnvironment { issuer.environment }

  init(
    database: Database, catalog: any StoreCatalog, issuer: ReceiptIssuer, sharedSecret: SecretDigest? = nil,
    clock: any WallClock = SystemWallClock(), timer: any MonotonicClock = SystemMonotonicClock(),
    limits: StoreLimits = StoreLimits()
  ) {
    self.database = database
    self.catalog = catalog
    self.issuer = issuer
    self.sharedSecret = sharedSecret
    self.clock = clock
    self.limits = limits
    self.timer = timer
    renewals = Worker(clock: timer)
  }
}

/// Bounds of the store. A request that would exceed one is answered `too-many-requests`.
struct StoreLimits: Sendable {
  /// Accounts are never removed.
  var accounts = 100_000
  /// A bound of what customers begin, redeem and restore. Renewals, shared copies and seats are made all the
  /// same.
  var transactionsPerAccount = 10_000
  /// Purchases in a receipt, the newest: renewals are made also for an account that may begin nothing more.
  var purchasesPerReceipt = 10_000
  /// Products with offers.
  var offers: Int64 = 10_000
  /// Codes are never removed, not even when they are used up.
  var codes: Int64 = 100_000
  /// Transactions in one answer.
  var transactionsPerPage = 1000
}

extension PaymentStore: MetricSource {
  func register(in metrics: inout MetricRegistry) {
    let held: [Metric<(accounts: Int, queued: Int64)>] = [
      .gauge("pullbox_store_accounts", help: "Accounts of the store.") { $0.accounts },
      .gauge(
        "pullbox_store_unfinished_transactions", help: "Transactions that wait in the queues of accounts."
      ) {
        $0.queued
      },
    ]
    metrics.register(held) { [database] in
      try await database.read { (try AccountTable.count(in: $0), try TransactionTable.countInQueues(in: $0)) }
    }
  }
}
