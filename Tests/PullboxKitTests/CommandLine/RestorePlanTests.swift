import Commerce
import CoreTypes
import Crypto
import PullboxAPI
import Testing

@testable import pullbox

@Suite("What a restore would do, and what it waits for")
struct RestorePlanTests {
  private func owned(
    _ product: String, version: String = "1.0", of transaction: String = "1", on date: String? = nil
  ) throws -> EntitledProduct {
    EntitledProduct(
      product: try #require(ProductIdentifier(product)), version: try #require(ContentVersion(version)),
      length: ByteCount(100), because: "purchased",
      transaction: try #require(TransactionIdentifier(transaction)), state: "not-granted",
      publicationDate: date.flatMap { Timestamp(rfc3339: "\($0)T00:00:00Z") })
  }

  private func held(_ product: String, version: String = "1.0", _ state: LibraryItem.State = .present) throws
    -> LibraryItem
  {
    LibraryItem(
      product: try #require(ProductIdentifier(product)), version: try #require(ContentVersion(version)),
      path: "/\(product)", digest: .of([]), length: ByteCount(100),
      placedAt: Timestamp(millisecondsSinceEpoch: 0), state: state)
  }

  private func texts(_ plan: RestorePlan) -> [String] {
    plan.entries.map { "\($0.owned.product) \($0.owned.transaction) \($0.step.rawValue)" }
  }

  @Test("each product is there once, with what would be done about it")
  func steps() throws {
    let plan = RestorePlan(
      of: [
        try owned("a"), try owned("a", of: "2"), try owned("b"), try owned("c"), try owned("d"),
        try owned("e", version: "1.1"), try owned("f"),
      ],
      held: [try held("a"), try held("e"), try held("f", .damaged)],
      live: [
        try Sample.download(id: "1", product: "b", .active),
        try Sample.download(id: "2", product: "c", .paused),
      ])
    #expect(
      texts(plan) == [
        "a 1 here", "b 1 under way", "c 1 paused", "d 1 download", "e 1 download", "f 1 download",
      ])
    #expect(
      texts(
        RestorePlan(
          of: [try owned("a"), try owned("b")], wanted: [try #require(ProductIdentifier("b"))],
          held: [], live: [])) == ["b 1 download"])
  }

  @Test("with --latest it is what would be downloaded, the newest first")
  func latest() throws {
    let all = [
      try owned("a", on: "2026-01-01"), try owned("b", on: "2026-03-01"), try owned("c"),
      try owned("d", on: "2026-02-01"),
    ]
    let held = [try held("b")]
    #expect(texts(RestorePlan(of: all, latest: 1, held: held, live: [])) == ["d 1 download"])
    #expect(
      texts(RestorePlan(of: all, latest: 5, held: held, live: []))
        == ["d 1 download", "a 1 download", "c 1 download"])
  }

  @Test("a restore waits for what ran before, and says what is paused, of what was asked for")
  func standing() throws {
    let live = [
      try Sample.download(id: "1", product: "a", .active),
      try Sample.download(id: "2", product: "b", .paused),
      try Sample.download(id: "3", product: "c", .waiting),
    ]
    func standing(_ request: AgentRestoreRequest, started: [String] = []) throws -> (String, String) {
      let standing = DownloadStanding(
        of: live, request: request, started: try started.map { try #require(ProductIdentifier($0)) })
      return (
        standing.running.map(\.product.description).joined(),
        standing.paused.map(\.product.description).joined()
      )
    }
    #expect(try standing(AgentRestoreRequest()) == ("ac", "b"))
    #expect(try standing(AgentRestoreRequest(), started: ["c"]) == ("ac", "b"))
    let one = AgentRestoreRequest(products: [try #require(ProductIdentifier("a"))])
    #expect(try standing(one) == ("a", ""))
    // The latest alone were asked for, unless there is nothing to start: then what runs is them.
    #expect(try standing(AgentRestoreRequest(order: .newest, limit: 1), started: ["c"]) == ("c", ""))
    #expect(try standing(AgentRestoreRequest(order: .newest, limit: 1)) == ("ac", "b"))
  }
}
