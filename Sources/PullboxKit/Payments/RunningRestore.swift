import Commerce
import PullboxAPI

/// A restore that is not over: its products, and how their downloads ended. A pure value.
struct RunningRestore: Sendable {
  /// Nil until the agent has said which they are.
  private var products: [ProductIdentifier]?
  private var restored: Set<ProductIdentifier> = []
  private var failed: [ProductIdentifier: ContentDownload] = [:]

  /// Whether the agent has said which products it fetches.
  var hasBegun: Bool { products != nil }

  /// The agent fetches these.
  mutating func begin(_ products: [ProductIdentifier]) { self.products = products }

  /// A download of whatever product has ended. One that is tried again after it failed counts by its last end. One of a section counts for
  /// nothing: it is not the content.
  mutating func note(_ download: ContentDownload) {
    guard download.section == nil else { return }
    if download.state == .finished {
      restored.insert(download.product)
      failed[download.product] = nil
    } else {
      failed[download.product] = download
    }
  }

  /// Whether the restore is of the product, and has not brought it.
  func awaits(_ product: ProductIdentifier) -> Bool {
    !restored.contains(product) && products?.contains(product) == true
  }

  /// The library holds these versions whole, and nothing of their products is on its way. Of a product whose download has failed only the
  /// version of that download counts: an earlier one was there before.
  mutating func noteHeld(_ held: [ProductIdentifier: Set<ContentVersion>]) {
    for product in products ?? [] {
      guard let versions = held[product] else { continue }
      if let download = failed[product] {
        guard let version = download.version, versions.contains(version) else { continue }
      }
      restored.insert(product)
      failed[product] = nil
    }
  }

  /// Nil until a download of each product has ended.
  var outcome: Result<[ProductIdentifier], RestoreFailure>? {
    guard let products, products.allSatisfy({ restored.contains($0) || failed[$0] != nil }) else {
      return nil
    }
    let failures = products.compactMap { failed[$0] }
    guard !failures.isEmpty else { return .success(products) }
    return .failure(
      RestoreFailure(
        error: nil, restored: products.filter { restored.contains($0) }, downloads: failures))
  }
}
