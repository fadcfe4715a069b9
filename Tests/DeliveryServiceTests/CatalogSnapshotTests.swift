import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

@testable import ContentCatalog
@testable import ContentDelivery
@testable import ContentGrants
@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService

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

  private func put(_ name: String) async throws {
    let product = Product(id: try id(name), type: .nonConsumable)
    let now = now
    try await database.write(locking: [.product(product.id)]) {
      try ProductTable.put(product, at: now, in: $0)
    }
  }

  @Test("a server reads its catalog at its start, before anyone asks", .timeLimit(.minutes(1)))
  func readAhead() async throws {
    let directory = try TemporaryDirectory()
    try await ServerHarness.run(in: directory) { server in
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/com.example.one", body: ProductDescription(), as: OperatorProduct.self)
    }
    try await ServerHarness.run(in: directory) { server in
      while server.server.grants.catalog.latest.count == 0 { await Task.yield() }
    }
  }

  private func addVersion(_ version: String, of name: String) async throws {
    let record = VersionRecord(
      product: try id(name), version: try #require(ContentVersion(version)), state: .approved,
      length: ByteCount(1), digest: .of(Array("\(name) \(version)".utf8)), manifestDigest: .of([1]),
      pieces: 1,
      files: 1, created: now)
    try await database.write(locking: [.product(record.product)]) {
      try VersionTable.insert(record, manifest: [1], cover: nil, title: nil, in: $0)
    }
  }

  private func step(_ step: VersionMachine.Step, _ version: String, of name: String) async throws {
    let transition = VersionTransition(
      product: try id(name), version: try #require(ContentVersion(version)), actor: "ada", now: now)
    let basis = try await database.read {
      try VersionTransition.basis(of: step, with: transition.product, transition.version, in: $0)
    }
    try await database.write(locking: transition.locks(on: basis)) {
      _ = try transition.apply(step, on: basis, in: $0)
    }
  }

  /// `device-2` is reached by 10 percent of `com.example.issue1`, `device-1` is not: see ``ServerHarness/early``.
  private func offered() async throws -> [String?] {
    let snapshot = try await cache.current()
    return try ["device-1", "device-2"].map { name in
      snapshot.offered(try id("issue1"), to: try #require(DeviceIdentifier(name)))?.version.description
    }
  }

  @Test("it follows every release and withdrawal, and offers each device what the table does")
  func releases() async throws {
    try await put("issue1")
    #expect(try await offered() == [nil, nil])
    try await addVersion("1.0", of: "issue1")
    try await addVersion("1.1", of: "issue1")
    #expect(try await offered() == [nil, nil])
    let steps: [(VersionMachine.Step, String, [String?])] = [
      (.release(.all), "1.0", ["1.0", "1.0"]),
      (.release(try #require(RolloutPercentage(percentage: 10))), "1.1", ["1.0", "1.1"]),
      (.release(.all), "1.1", ["1.1", "1.1"]),
      (.withdraw(stopsDownloads: false), "1.1", [nil, nil]),
    ]
    for (step, version, expected) in steps {
      try await self.step(step, version, of: "issue1")
      #expect(try await offered() == expected)
      let product = try id("issue1")
      let stored = try await database.read { connection in
        try ["device-1", "device-2"].map { name in
          try DeviceIdentifier(name).flatMap { try VersionTable.offered(product, to: $0, in: connection) }?
            .version.description
        }
      }
      #expect(stored == expected)
    }
  }
}
