import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryTesting
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Synchronization
import Testing

@testable import ContentCatalog
@testable import DeliveryRecords

@Suite("The catalog in memory")
struct CatalogSnapshotTests {
  private let file: StateFile
  private let database: Database
  private let cache: CatalogCache
  private let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)

  init() throws {
    file = try StateFile()
    database = try file.open()
    cache = CatalogCache(database: database)
  }

  private func id(_ name: String) throws -> ProductIdentifier {
    try #require(ProductIdentifier("com.example.\(name)"))
  }

  private func put(
    _ name: String, publication: String? = nil, title: String = "", type: ProductType = .nonConsumable
  ) async throws {
    let product = Product(
      id: try id(name), type: type,
      localizations: ["en-US": Product.Localization(title: title, description: "")],
      publication: try publication.map { try id($0) })
    let now = now
    try await database.write(locking: [.product(product.id)]) {
      try ProductTable.put(product, at: now, in: $0)
    }
  }

  @Test("names that no product has for its application share one list; those of products have one each")
  func inventedApplications() async throws {
    let owner = try #require(ApplicationIdentifier("com.example.owner"))
    let product = Product(id: try id("own"), type: .nonConsumable, application: owner)
    let now = now
    try await database.write(locking: [.product(product.id)]) {
      try ProductTable.put(product, at: now, in: $0)
    }
    let catalog = Catalog(database: database, cache: cache, clock: ManualWallClock(now))
    let made = Counter()
    let documents = ProductListDocuments(of: catalog) { forSale in
      made.count.add(1, ordering: .relaxed)
      return forSale.products.map(\.id)
    }
    func ask(_ application: String) async throws {
      let request = try HTTPRequest(method: .get, rawTarget: "/products_v1.json?application=\(application)")
      #expect(try await documents.response(to: request).status == .ok)
    }
    for number in 0..<100 { try await ask("com.example.invented\(number)") }
    #expect(made.count.load(ordering: .relaxed) == 1)
    for _ in 0..<2 { try await ask("com.example.owner") }
    #expect(made.count.load(ordering: .relaxed) == 2)
  }

  private final class Counter: Sendable {
    let count = Atomic(0)
  }

  @Test("what a proof may entitle to is the product, and of a subscription everything in its publication")
  func related() async throws {
    for name in ["a1", "a2", "b1", "single"] { try await put(name) }
    try await put("a1", publication: "a", type: .freeSubscription)
    try await put("a2", publication: "a")
    try await put("b1", publication: "b", type: .freeSubscription)
    func names(_ asked: [String]) async throws -> [String] {
      try await cache.current().related(to: try asked.map(id)).map(\.id.description)
    }
    #expect(try await names(["a1"]) == ["com.example.a1", "com.example.a2"])
    #expect(
      try await names(["single", "b1", "missing", "b1"]) == ["com.example.b1", "com.example.single"])
    try await put("a2", publication: "b")
    #expect(try await names(["a1"]) == ["com.example.a1"])
    #expect(try await names(["b1"]) == ["com.example.a2", "com.example.b1"])
  }

  @Test("only what has changed is read again, and nothing where nothing has")
  func changes() async throws {
    for number in 0..<20 { try await put("p\(number)") }
    let before = try await cache.current()
    #expect(before.count == 20)
    let unchanged = try await database.read {
      try CatalogSnapshot.Changes.since(before.revision, in: $0) == nil
    }
    #expect(unchanged)
    try await put("p7", title: "Seven")
    let changes = try #require(
      try await database.read { try CatalogSnapshot.Changes.since(before.revision, in: $0) })
    #expect(changes.products.count == 1)
    _ = try before.applying(changes)
    #expect(changes.products.count == 0, "a document stays behind when it is decoded")
    let after = try await cache.current()
    #expect(after.count == 20)
    #expect(after[try id("p7")]?.product.localizations["en-US"]?.title == "Seven")
    #expect(before[try id("p7")]?.product.localizations["en-US"]?.title == "")
  }

  @Test(
    "as long as nothing of the catalog changes, who asks for it asks the database nothing",
    .enabled(if: !TestDatabase.isOnServer))
  func unchanged() async throws {
    for number in 0..<3 { try await put("p\(number)") }
    _ = try await cache.current()
    _ = try await database.read { $0.takeSteps() }
    for _ in 0..<10 { #expect(try await cache.current().count == 3) }
    let asked = try await database.read { $0.takeSteps().map(\.sql) }
    #expect(asked.filter { $0.contains("catalogue_state") } == [])
    try await put("p3")
    #expect(try await cache.current().count == 4)
    let then = try await database.read { $0.takeSteps().map(\.sql) }
    #expect(then.contains { $0.hasPrefix("SELECT revision") })
  }

  @Test("what another process has changed is found where that is asked for")
  func otherProcess() async throws {
    try await put("p0")
    #expect(try await cache.current().count == 1)
    let other = try file.open()
    let product = Product(id: try id("p1"), type: .nonConsumable, localizations: [:])
    try await other.write(locking: [.product(product.id)]) { [now] in
      try ProductTable.put(product, at: now, in: $0)
    }
    other.close()
    #expect(try await cache.renewed().count == 2)
    #expect(try await cache.current().count == 2)
  }

  @Test("a change that was committed is seen by everyone who asks afterwards, also while others load")
  func concurrentLoads() async throws {
    for number in 0..<50 { try await put("p\(number)") }
    for round in 0..<10 {
      try await put("p1", title: "\(round)")
      let product = try id("p1")
      let titles = try await withThrowingTaskGroup(of: String?.self) { group in
        for _ in 0..<8 {
          group.addTask { [cache] in
            try await cache.current()[product]?.product.localizations["en-US"]?.title
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(titles == [String?](repeating: "\(round)", count: 8))
    }
  }

  @Test("a damaged document is an error for those who ask, and the catalog comes back once it is repaired")
  func damage() async throws {
    try await put("a")
    _ = try await cache.current()
    try await put("b")
    try await database.write(locking: [.everything]) {
      try $0.execute("UPDATE products SET document = '{' WHERE id = 'com.example.b'")
    }
    await #expect(throws: (any Error).self) { _ = try await cache.current() }
    try await put("b")
    #expect(try await cache.current().count == 2)
  }
}
