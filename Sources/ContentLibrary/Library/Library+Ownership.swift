package import AgentRecords
package import Commerce
package import CoreTypes
package import PullboxAPI
package import ServiceAPI
import ServiceRuntime
import Synchronization
import SystemCalls

/// The ownership that the records hold, read by everything that shows an item.
package final class OwnershipRegister: Sendable {
  private let known = Mutex<[ProductIdentifier: KnownOwnership]>([:])
  /// Held by the one who writes, while readers go on.
  private let writing = Mutex<Void>(())

  /// Nil where the server never told of the product.
  package subscript(product: ProductIdentifier) -> KnownOwnership? { known.locked { $0[product] } }

  /// All that the server has told of.
  package var all: [ProductIdentifier: KnownOwnership] { known.locked { $0 } }

  /// In place of all that was known.
  package func load(_ all: [ProductIdentifier: KnownOwnership]) { known.locked { $0 = all } }

  /// Takes in what `news` makes of all that is known, as far as it says anything else, once `save` has saved it: one after the other, so that none
  /// is made of what another is about to change. Returns the products that are owned now and were not, or the other way round; nil without news.
  /// Blocks.
  func update(
    _ news: ([ProductIdentifier: KnownOwnership]) -> [ProductIdentifier: KnownOwnership],
    savedBy save: ([ProductIdentifier: KnownOwnership]) throws -> Void
  ) throws -> Set<ProductIdentifier>? {
    try writing.locked { _ in
      let before = all
      let news = news(before).filter { !$0.value.says(before[$0.key]) }
      try save(news)
      guard !news.isEmpty else { return nil }
      known.locked { $0.merge(news) { $1 } }
      return Set(news.keys.filter { before[$0]?.isOwned ?? true != news[$0]?.isOwned })
    }
  }
}

extension Library {
  /// Notes the ownership from entries of the feed, in its order: the last entry of a product counts. Returns the items
  /// that change by it. They are saved before they count.
  package func noteOwnership(of entries: [FeedEntry]) async throws -> [LibraryItem] {
    let now = clock.now()
    return try await note { known in
      var news: [ProductIdentifier: KnownOwnership] = [:]
      for entry in entries {
        let before = news[entry.product] ?? known[entry.product]
        if let told = KnownOwnership(entry, after: before, at: now) { news[entry.product] = told }
      }
      return news
    }
  }

  /// Notes the products that the server listed as owned when it was asked at `asked`. Later entries of the feed go before
  /// the list. Returns the items that change by it.
  package func noteOwned(_ products: [EntitledProduct], asked: Timestamp) async throws -> [LibraryItem] {
    let now = clock.now()
    return try await note { known in
      var news: [ProductIdentifier: KnownOwnership] = [:]
      for owned in products where (known[owned.product]?.asOf).map({ $0 <= asked }) ?? true {
        news[owned.product] = KnownOwnership(owned, at: now)
      }
      return news
    }
  }

  /// Notes what a license lists that was asked for at `asked`, and the end of what it does not. What was told of a product later than that goes
  /// before it. Saves it by `save`, which is given the news of it alone. Returns the items that change by it.
  package func noteLicensed(
    _ license: License, asked: Timestamp,
    savingBy save: @escaping @Sendable ([ProductIdentifier: KnownOwnership]) throws -> Void
  ) async throws -> [LibraryItem] {
    let now = clock.now()
    return try await note(savingBy: save) { known in
      var news = KnownOwnership.listed(in: license, at: now)
      for (product, told) in news {
        guard let before = known[product] else { continue }
        var told = told
        told.isOffered = before.isOffered
        news[product] = before.isLater(than: asked, at: now) ? nil : told
      }
      return news.merging(KnownOwnership.unlisted(in: license, among: known, asked: asked, at: now)) { $1 }
    }
  }

  /// The server has granted the product, which it was asked for at `asked`: it is owned. Returns the items that change by it.
  package func noteGranted(_ product: ProductIdentifier, asked: Timestamp) async throws -> [LibraryItem] {
    let now = clock.now()
    return try await note { known in
      guard let before = known[product], !before.isOwned, before.asOf <= asked else { return [:] }
      return [
        product: KnownOwnership(
          isOwned: true, because: nil, until: nil, asOf: now, isConsumable: before.isConsumable)
      ]
    }
  }

  /// Saves what `news` makes of all that is known, and answers the items whose ownership is another now.
  private func note(
    savingBy save: (@Sendable ([ProductIdentifier: KnownOwnership]) throws -> Void)? = nil,
    _ news: @escaping @Sendable ([ProductIdentifier: KnownOwnership]) -> [ProductIdentifier: KnownOwnership]
  ) async throws -> [LibraryItem] {
    let changed = try await BlockingPool.shared.run { [ownership, database] in
      try ownership.update(news) { news in
        if let save { try save(news) } else if !news.isEmpty { try database.save(news) }
      }
    }
    guard let changed else { return [] }
    withdrawals.signal()
    guard !changed.isEmpty else { return [] }
    return try await items().filter { changed.contains($0.product) }
  }
}
