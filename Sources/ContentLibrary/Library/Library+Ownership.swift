package import AgentRecords
package import Commerce
package import CoreTypes
package import PullboxAPI
import ServiceRuntime
import Synchronization
import SystemCalls

/// The ownership that the records hold, read by everything that shows an item.
package final class OwnershipRegister: Sendable {
  private let known = Mutex<[ProductIdentifier: KnownOwnership]>([:])

  /// Nil where the server never told of the product.
  package subscript(product: ProductIdentifier) -> KnownOwnership? { known.withLock { $0[product] } }

  /// All that the server has told of.
  package var all: [ProductIdentifier: KnownOwnership] { known.withLock { $0 } }

  /// In place of all that was known.
  package func load(_ all: [ProductIdentifier: KnownOwnership]) { known.withLock { $0 = all } }

  /// The news take the place of what was known of their products.
  func take(_ news: [ProductIdentifier: KnownOwnership]) {
    known.withLock { $0.merge(news) { $1 } }
  }
}

extension Library {
  /// Notes the ownership from entries of the feed, in its order: the last entry of a product counts. Returns the items
  /// that change by it. They are saved before they count.
  package func noteOwnership(of entries: [FeedEntry]) async throws -> [LibraryItem] {
    let now = clock.now()
    var news: [ProductIdentifier: KnownOwnership] = [:]
    for entry in entries {
      let known = news[entry.product] ?? ownership[entry.product]
      if let told = KnownOwnership(entry, after: known, at: now) { news[entry.product] = told }
    }
    return try await note(news)
  }

  /// Notes the products that the server listed as owned when it was asked at `asked`. Later entries of the feed go before
  /// the list. Returns the items that change by it.
  package func noteOwned(_ products: [EntitledProduct], asked: Timestamp) async throws -> [LibraryItem] {
    let now = clock.now()
    var news: [ProductIdentifier: KnownOwnership] = [:]
    for owned in products where (ownership[owned.product]?.asOf).map({ $0 <= asked }) ?? true {
      news[owned.product] = KnownOwnership(owned, at: now)
    }
    return try await note(news)
  }

  /// Notes what a license lists that was asked for at `asked`, and the end of what it does not. What was told of a product later than that goes before it. Saves it by
  /// `save`, which is given the news of it alone. Returns the items that change by it.
  package func noteLicensed(
    _ license: License, asked: Timestamp,
    savingBy save: @escaping @Sendable ([ProductIdentifier: KnownOwnership]) throws -> Void
  ) async throws -> [LibraryItem] {
    let now = clock.now()
    var news = KnownOwnership.listed(in: license, at: now)
    for (product, told) in news {
      guard let known = ownership[product] else { continue }
      var told = told
      told.isOffered = known.isOffered
      news[product] = known.isLater(than: asked, at: now) || told.says(known) ? nil : told
    }
    news.merge(KnownOwnership.unlisted(in: license, among: ownership.all, asked: asked, at: now)) { $1 }
    let told = news
    let changed = Set(told.keys.filter { ownership[$0]?.isOwned ?? true != told[$0]?.isOwned })
    try await BlockingPool.shared.run { try save(told) }
    ownership.take(told)
    withdrawals.signal()
    guard !changed.isEmpty else { return [] }
    return try await items().filter { changed.contains($0.product) }
  }

  /// The server has granted the product, which it was asked for at `asked`: it is owned. Returns the items that change by it.
  package func noteGranted(_ product: ProductIdentifier, asked: Timestamp) async throws -> [LibraryItem] {
    guard let known = ownership[product], !known.isOwned, known.asOf <= asked else { return [] }
    return try await note([
      product: KnownOwnership(
        isOwned: true, because: nil, until: nil, asOf: clock.now(), isConsumable: known.isConsumable)
    ])
  }

  /// Saves what differs, and answers the items whose ownership is another now.
  private func note(_ told: [ProductIdentifier: KnownOwnership]) async throws -> [LibraryItem] {
    let news = told.filter { !$0.value.says(ownership[$0.key]) }
    guard !news.isEmpty else { return [] }
    let changed = Set(news.keys.filter { ownership[$0]?.isOwned ?? true != news[$0]?.isOwned })
    try await BlockingPool.shared.run { [database] in try database.save(news) }
    ownership.take(news)
    withdrawals.signal()
    guard !changed.isEmpty else { return [] }
    return try await items().filter { changed.contains($0.product) }
  }
}
