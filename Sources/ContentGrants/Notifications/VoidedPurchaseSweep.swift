package import Commerce
package import CoreTypes
package import Database
import DeliveryModel
package import DeliveryRecords
package import PaymentStores
import PullboxAPI
import Receipts
package import ServiceRuntime

/// Finds refunds of Google Play that were not told: at the start and every hour the store's list of them is read from where it
/// was read last, a page at a time.
package struct VoidedPurchaseSweep: Sendable {
  /// How long after one reading the next begins.
  package static let interval = NotificationHistory.interval
  /// The store lists no more.
  static let depth: Duration = .seconds(30 * 86_400 - 60)
  /// Pages of one reading, at most. The position moves to the end all the same.
  private static let maximumPages = 1000

  /// The stores whose lists of voided purchases are read.
  package let stores: [GoogleStoreClient]
  /// The database with the position up to which each list was read.
  package let database: Database
  package let clock: any WallClock
  /// Tells of lists that could not be read.
  package let log: Log
  /// Without one, no other process uses the database.
  package var lease: WorkerLease?
  /// The one way by which what a store says of transactions takes effect.
  package let takeIn: @Sendable ([VerifiedTransaction]) async throws -> Void

  /// Creates the sweep; ``run(timer:)`` makes it read.
  package init(
    stores: [GoogleStoreClient], database: Database, clock: any WallClock, log: Log,
    lease: WorkerLease? = nil, takeIn: @escaping @Sendable ([VerifiedTransaction]) async throws -> Void
  ) {
    self.stores = stores
    self.database = database
    self.clock = clock
    self.log = log
    self.lease = lease
    self.takeIn = takeIn
  }

  /// Reads the list of each store. One that does not answer is left for the next time. Throws ``DatabaseError``
  /// and what `takeIn` throws.
  package func read() async throws {
    for store in stores {
      do {
        try await read(store)
      } catch let refusal as StoreRefusal {
        warn(store, refusal.cause ?? "the question was given up")
      } catch let failure as GoogleInterfaceClient.Failure {
        warn(store, failure.detail)
      }
    }
  }

  private func warn(_ store: GoogleStoreClient, _ error: String) {
    log.warning(
      "the store's list of refunds cannot be read", ["store": LogValue(store.name), "error": LogValue(error)])
  }

  /// Reads one store's list from the last position to now. The position is written once, after the last page.
  private func read(_ store: GoogleStoreClient) async throws {
    let (name, end) = (store.name, clock.now())
    let position = try await database.read { connection in
      try NotificationHistoryTable.position(of: name, .production, in: connection)?.until
    }
    let start = NotificationHistory.beginning(after: position, at: end, depth: Self.depth)
    guard start < end else { return }
    var (recovered, page) = (0, String?.none)
    for _ in 0..<Self.maximumPages {
      let refunds = try await store.interface.voided(from: start, to: end, page: page)
      for item in refunds.items {
        let transactions: [VerifiedTransaction]
        do throws(StoreRefusal) {
          transactions = try await store.voided(item.order, item.token, nil, at: item.date)
        } catch {
          // One that cannot be read holds up none of those behind it.
          guard case .undetermined(.answered) = error.kind else { throw error }
          warn(store, "\(item.order.id): \(error.cause ?? "unreadable")")
          continue
        }
        let news = try await unknown(transactions)
        guard !news.isEmpty else { continue }
        try await takeIn(news)
        recovered += 1
      }
      guard let next = refunds.nextPage, next != page else { break }
      page = next
    }
    let found = recovered
    try await database.write(locking: []) { connection in
      try NotificationHistoryTable.setPosition(
        name, .production, until: end, recovered: found, in: connection)
    }
    if found > 0 {
      log.info(
        "refunds that were not told were found in the store's list",
        ["store": LogValue(name), "count": LogValue(found)])
    }
  }

  /// Those that are not known as refunded.
  private func unknown(_ transactions: [VerifiedTransaction]) async throws -> [VerifiedTransaction] {
    try await database.read { connection in
      try transactions.filter { transaction in
        try TransactionTable.word(on: transaction.key, in: connection)?.revoked == nil
      }
    }
  }

  /// Reads at once, and then every hour, until the task is cancelled. What fails is logged, and tried again.
  package func run(timer: any MonotonicClock) async {
    guard !stores.isEmpty else { return }
    await Worker(clock: timer).run {
      if try await lease?.isHeld() ?? true { try await read() }
      return .pause(atMost: Self.interval)
    } onFailure: { error in
      log.warning("refunds cannot be looked for", ["error": LogValue(error)])
    }
  }
}
