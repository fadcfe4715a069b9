import Commerce
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Testing

@testable import PullboxKit

@Suite("A purchase of what is owned already") struct HeldPurchaseTests {
  private static let name = "com.example.heroes.issue42"

  private static func item(_ state: LibraryItem.State?) throws -> LibraryItem {
    LibraryItem(
      product: try #require(ProductIdentifier(name)), version: try #require(ContentVersion("1.0")),
      path: "/library/x", digest: SHA256Digest.of([]), length: ByteCount(1),
      placedAt: Timestamp(millisecondsSinceEpoch: 1_795_249_800_000), state: state)
  }

  /// The result of a purchase at an agent that does what the double says.
  private func purchase(at double: AgentDouble) async throws -> PullboxKit.Product.PurchaseResult {
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    return try await withServer(double, at: .unix(path: path)) { _ in
      let listing = ProductListing(
        id: try #require(ProductIdentifier(Self.name)), type: .nonConsumable, title: "Heroes 42",
        description: "")
      let product = PullboxKit.Product(
        AgentProduct(listing: listing, owned: true),
        account: StoreAccount(
          territory: "USA", currency: "USD", environment: "Sandbox", canMakePayments: true),
        agent: try AgentClient(socketPath: path))
      return try await product.purchase { _ in
        Issue.record("what is owned is not asked about")
        return false
      }
    }
  }

  /// The code of the problem that a purchase throws; nil where it throws none.
  private func problem(at double: AgentDouble) async throws -> ProblemCode? {
    do {
      _ = try await purchase(at: double)
      return nil
    } catch APICallError.problem(let problem) {
      return problem.code
    }
  }

  private static func downloads(
    _ result: PullboxKit.Product.PurchaseResult
  ) -> [String]? {
    guard case .delivering(let transaction) = result else { return nil }
    return transaction.downloads.map(\.description)
  }

  @Test("what is being fetched already is delivering, by the download of the content and not of a section")
  func underWay() async throws {
    let double = AgentDouble()
    double.answer(restored: [])
    double.list(downloads: [
      try Sample.download(id: "d4", product: "com.example.other"),
      try Sample.download(id: "d3", section: "hires"), try Sample.download(id: "d2", .paused, "user"),
      try Sample.download(id: "d1", .failed, "integrity"),
    ])
    #expect(Self.downloads(try await purchase(at: double)) == ["d2"])
  }

  @Test("what begins is delivering, whichever sections came later")
  func begun() async throws {
    let double = AgentDouble()
    let failed = try Sample.download(.failed, "integrity")
    double.answer(restored: [failed.product])
    double.list(downloads: [try Sample.download(id: "d2", section: "hires"), failed])
    #expect(Self.downloads(try await purchase(at: double)) == ["d1"])
  }

  @Test("damaged content is not delivered: its repair is")
  func damaged() async throws {
    let double = AgentDouble()
    double.answer(restored: [], library: [try Self.item(.damaged)])
    double.list(downloads: [try Sample.download()])
    #expect(Self.downloads(try await purchase(at: double)) == ["d1"])
  }

  @Test("what is here is delivered, also by an agent that does not tell its state", arguments: [true, false])
  func present(tells: Bool) async throws {
    let double = AgentDouble()
    let item = try Self.item(tells ? .present : nil)
    double.answer(restored: [], library: [item])
    guard case .delivered(let delivery) = try await purchase(at: double) else {
      Issue.record("it is not delivered")
      return
    }
    #expect(delivery.items == [item] && double.restores.isEmpty)
  }

  @Test("what is neither here nor coming is told as that, not as delivered")
  func absent() async throws {
    let double = AgentDouble()
    double.answer(restored: [])
    double.list(downloads: [try Sample.download(.cancelled, "user")])
    #expect(try await problem(at: double) == .unavailable)
    double.answer(restored: [], library: [try Self.item(.damaged)])
    #expect(try await problem(at: double) == .unavailable)
    double.answer(restored: [], library: [try Self.item(.offline)])
    #expect(try await problem(at: double) == .libraryOffline)
  }
}
