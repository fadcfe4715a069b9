import Commerce
import CoreTypes
import Crypto
import Database
import PullboxAPI

/// The store itself: accounts, their transactions, their receipts. HTTP stands before it, SQLite behind it.
struct PaymentStore: Sendable {
  let database: Database
  let catalog: any StoreCatalog
  let issuer: ReceiptIssuer
  let clock: any WallClock
  let limits: StoreLimits

  init(
    database: Database, catalog: any StoreCatalog, issuer: ReceiptIssuer,
    clock: any WallClock = SystemWallClock(), limits: StoreLimits = StoreLimits()
  ) {
    self.database = database
    self.catalog = catalog
    self.issuer = issuer
    self.clock = clock
    self.limits = limits
  }
}

/// How much the store takes in. What would go beyond is answered `too-many-requests`.
struct StoreLimits: Sendable {
  var accounts = 100_000
  var transactionsPerAccount = 10_000
  /// Transactions in one answer.
  var transactionsPerPage = 1000
}
