import Commerce
import CoreTypes
import Database
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentCatalog
@testable import DeliveryRecords

@Suite("What is made of the whole catalog is made once for each change of its basis")
struct CatalogDerivedTests {
  private let file: StateFile
  private let database: Database
  private let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)
  private let made = Locked(0)

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  private func derived(from basis: CatalogBasis) -> CatalogDerived<[ProductIdentifier]> {
    CatalogDerived(from: basis) { [made] catalog, _ in
      made.withLock { $0 += 1 }
      return catalog.entriesInOrder.map(\.product.id)
    }
  }

  private func put(_ name: String, until end: Timestamp? = nil) async throws {
    var product = Product(id: try #require(ProductIdentifier(name)), type: .nonConsumable)
    product.availableUntil = end
    let (wanted, now) = (product, now)
    try await database.write(locking: [.everything]) {
      try ProductTable.put(wanted, sale: .cleared, at: now, in: $0)
    }
  }

  private func remove(_ name: String) async throws {
    let (id, now) = (try #require(ProductIdentifier(name)), now)
    try await database.write(locking: [.everything]) { try ProductTable.remove(id, at: now, in: $0) }
  }

  @Test("the names are kept at a date of sale and where a product changes, and not where one comes or goes")
  func names() async throws {
    let cache = CatalogCache(database: database)
    let names = derived(from: .names)
    func value(at time: Timestamp) async throws -> [String] {
      try await names.value(of: try await cache.current(), at: time).map(\.description)
    }
    try await put("a", until: now + .seconds(10))
    try await put("b")
    #expect(try await value(at: now) == ["a", "b"])
    #expect(try await value(at: now + .seconds(10)) == ["a", "b"])
    try await put("b", until: now + .seconds(20))
    #expect(try await value(at: now + .seconds(20)) == ["a", "b"])
    #expect(made.current == 1)

    try await put("c")
    #expect(try await value(at: now) == ["a", "b", "c"])
    try await remove("a")
    #expect(try await value(at: now) == ["b", "c"])
    #expect(made.current == 3)
    // One that goes and comes again before the next question.
    try await remove("b")
    try await put("b")
    #expect(try await value(at: now) == ["b", "c"])
    #expect(made.current == 3)
  }

  @Test(
    "what depends on products is made for each of their changes, and what depends on sale at dates as well")
  func bases() async throws {
    let cache = CatalogCache(database: database)
    let (products, sale) = (derived(from: .products), derived(from: .sale))
    try await put("a", until: now + .seconds(10))
    for (value, atDate) in [(products, 1), (sale, 2)] {
      made.withLock { $0 = 0 }
      _ = try await value.value(of: try await cache.current(), at: now)
      _ = try await value.value(of: try await cache.current(), at: now + .seconds(9))
      #expect(made.current == 1)
      _ = try await value.value(of: try await cache.current(), at: now + .seconds(10))
      #expect(made.current == atDate)
      try await put("a", until: now + .seconds(10))
      _ = try await value.value(of: try await cache.current(), at: now + .seconds(10))
      #expect(made.current == atDate + 1)
    }
  }
}
