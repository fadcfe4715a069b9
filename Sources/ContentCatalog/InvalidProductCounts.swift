import Commerce
import CoreTypes
import DeliveryRecords
import PullboxAPI
import ServiceAPI
import ServiceRuntime
import Synchronization

/// Counts what apps ask for in vain, since the process began: an operator finds the misspelled identifier of a new app, or the
/// issue that was never released. See docs/catalogue.md ("Reports"). It is kept in memory alone, and safe on
/// any thread.
package final class InvalidProductCounts: Sendable {
  /// Identifiers that are counted by name, each once for each reason. Where there are more, those that were asked for least, and
  /// of these the ones that were asked for first, count together from then on.
  static let capacity = 1000
  /// How many make room at once.
  private static let evicted = capacity / 4
  /// Items of a report.
  static let reportLength = 200
  /// Bytes of an identifier that are kept: those of the longest that can be one.
  static let maximumLength = 255

  private struct Key: Hashable {
    /// The identifier as it was asked for, cut to ``maximumLength`` bytes.
    package var name: String
    /// The reason for which it was not answered.
    package var reason: InvalidProductsReport.Reason
  }

  private struct State {
    /// The identifiers that are counted by name.
    package var counts: [Key: (count: Int, lastAsked: Timestamp)] = [:]
    /// Questions of identifiers that made room.
    package var others = 0

    /// Takes out a quarter of the identifiers, and adds their questions to the rest.
    mutating func makeRoom() {
      let least = counts.sorted { left, right in
        (left.value.count, left.value.lastAsked) < (right.value.count, right.value.lastAsked)
      }.prefix(InvalidProductCounts.evicted)
      for (key, value) in least {
        counts[key] = nil
        others += value.count
      }
    }
  }

  private let state = Mutex(State())
  private let since: Timestamp

  /// Counts from `since` on.
  init(since: Timestamp) {
    self.since = since
  }

  /// `name` was asked for at `now`, and was not answered for `reason`.
  func note(_ name: String, _ reason: InvalidProductsReport.Reason, at now: Timestamp) {
    let kept =
      name.utf8.count <= Self.maximumLength
      ? name : String(decoding: name.utf8.prefix(Self.maximumLength), as: UTF8.self)
    let key = Key(name: kept, reason: reason)
    state.locked { state in
      if let known = state.counts[key] {
        state.counts[key] = (known.count + 1, now)
      } else {
        if state.counts.count >= Self.capacity { state.makeRoom() }
        state.counts[key] = (1, now)
      }
    }
  }

  /// The most frequent first. Reads every identifier of `catalog` where something unknown was asked for, which takes a while
  /// where there are many.
  func report(near catalog: CatalogSnapshot) -> InvalidProductsReport {
    let state = state.locked { $0 }
    let frequent = state.counts.sorted { left, right in
      (right.value.count, left.key.name) < (left.value.count, right.key.name)
    }.prefix(Self.reportLength)
    let near = NearIdentifiers(frequent.filter { $0.key.reason == .unknown }.map(\.key.name))
      .found(in: catalog)
    let items = frequent.map { key, value in
      InvalidProductsReport.Item(
        id: key.name, reason: near[key.name] != nil && key.reason == .unknown ? .misspelled : key.reason,
        count: value.count, lastAsked: value.lastAsked,
        near: key.reason == .unknown ? near[key.name]?.description : nil)
    }
    let rest = state.counts.count - items.count
    let counted = state.counts.values.reduce(0) { $0 + $1.count } - items.reduce(0) { $0 + $1.count }
    return InvalidProductsReport(
      since: since, items: items, others: state.others + (rest > 0 ? counted : 0))
  }
}

/// Finds for misspelled identifiers the products that were meant. Two spellings that differ by two characters or fewer, each
/// in a half of its own or both in one, share their first half or their last: only such pairs are compared.
private struct NearIdentifiers {
  /// Characters by which two identifiers differ at most that are near each other.
  private static let maximumDistance = 2

  /// The misspelled names by their first half, in bytes.
  private var byStart: [String: [String]] = [:]
  /// The misspelled names by their last half.
  private var byEnd: [String: [String]] = [:]
  /// The lengths of the halves that occur.
  private var halves: Set<Int> = []

  /// Names of fewer than four bytes are left out: nearly everything would be near them.
  init(_ names: [String]) {
    for name in names where name.utf8.count >= 4 {
      let half = name.utf8.count / 2
      halves.insert(half)
      byStart[Self.start(of: name, half), default: []].append(name)
      byEnd[Self.end(of: name, half), default: []].append(name)
    }
  }

  /// By the misspelled name.
  func found(in catalog: CatalogSnapshot) -> [String: ProductIdentifier] {
    guard !halves.isEmpty else { return [:] }
    var best: [String: (distance: Int, product: ProductIdentifier)] = [:]
    for entry in catalog.entriesInOrder where entry.row.isOnSale {
      let product = entry.product.id.description
      for half in halves where half <= product.utf8.count {
        let candidates =
          (byStart[Self.start(of: product, half)] ?? []) + (byEnd[Self.end(of: product, half)] ?? [])
        for name in candidates where abs(name.utf8.count - product.utf8.count) <= Self.maximumDistance {
          let distance = EditDistance.distance(name, product)
          guard distance <= Self.maximumDistance, distance < best[name]?.distance ?? .max else { continue }
          best[name] = (distance, entry.product.id)
        }
      }
    }
    return best.mapValues(\.product)
  }

  private static func start(of name: String, _ length: Int) -> String {
    String(decoding: name.utf8.prefix(length), as: UTF8.self)
  }

  private static func end(of name: String, _ length: Int) -> String {
    String(decoding: name.utf8.suffix(length), as: UTF8.self)
  }
}
