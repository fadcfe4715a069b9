import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import HTTPClient
import PackageTesting
import PullboxAPI
import Testing

@testable import DownloadAgent

/// Apps that find their own.
@Suite(.serialized, .timeLimit(.minutes(10))) struct SessionTests {
  private static let other = "com.example.other"

  @Test(
    "what an app has bought or made its own bears its name, also after a restart, and lists are filtered by it"
  )
  func lists() async throws {
    let (one, two) = (
      try FixturePackage.file(length: 1000),
      try FixturePackage.file(length: 1000, product: Self.other, seed: 2)
    )
    let server = FakeServer([one, two])
    let harness = try AgentHarness()
    let product = one.manifest.product
    let session = try #require(SessionName("org.example.Reader"))
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let bought = try await harness.ask(
          "POST", "/v1/purchases", #"{"product":"\#(product)","session":"org.example.Reader"}"#)
        #expect(bought.status == 201)
        let transaction = try APIJSON.decode(AgentTransaction.self, from: bought.body)
        #expect(transaction.session == session)
        let mine = try await agent.firstDownload { $0.product == product && $0.state == .finished }
        #expect(mine.session == session && mine.transaction == transaction.id)
        try server.queuePurchase(Self.other, transaction: "2000000000000009")
        let foreign = try await agent.firstDownload { $0.product != product && $0.state == .finished }
        #expect(foreign.session == nil)
        let path = "/v1/downloads/\(foreign.id)"
        #expect(try await harness.ask("PATCH", path, #"{"session":"no name"}"#).status == 400)
        #expect(try await harness.ask("PATCH", path, #"{"session":"tablet"}"#).status == 200)
      }
      try await harness.run(server: url) { _ in
        func downloads(_ query: String) async throws -> [ProductIdentifier] {
          try await harness.get("/v1/downloads?\(query)", as: DownloadsResponse.self).downloads.map(\.product)
        }
        #expect(try await downloads("session=org.example.Reader") == [product])
        #expect(try await downloads("session=tablet&state=over").map(\.description) == [Self.other])
        #expect(try await downloads("session=tablet&state=live").isEmpty)
        #expect(try await downloads("session=phone").isEmpty)
        #expect(try await downloads("").count == 2)
        let transactions = try await harness.get(
          "/v1/transactions?session=org.example.Reader", as: AgentTransactionsResponse.self
        ).transactions
        #expect(transactions.map(\.product) == [product])
        #expect(try await harness.ask("GET", "/v1/downloads?session=a%20b").status == 400)
      }
    }
  }

  @Test("an app that restores has the downloads that begin") func restored() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        _ = try await agent.ended()
        #expect(try await harness.ask("DELETE", "/v1/library/\(package.manifest.product)").status == 204)
        let answer = try await harness.ask("POST", "/v1/restore", #"{"session":"tablet"}"#)
        #expect(answer.status == 202)
        let again = try await agent.firstDownload {
          $0.session?.description == "tablet" && $0.state == .finished
        }
        #expect(again.product == package.manifest.product)
      }
    }
  }
}
