import Commerce
import CoreTypes
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@Suite("A feed, while server and device are killed", .serialized, .timeLimit(.minutes(5)))
struct FeedKillTests {
  private static let magazine = ProductIdentifier("com.example.heroes")
  private static let subscription = "com.example.heroes.monthly"

  private func issue(_ number: Int) -> String { "com.example.heroes.issue\(number)" }

  private func release(_ number: Int, dated date: Timestamp, at stack: Stack) async throws {
    let file = try await Material.file(
      "issue\(number).cbz", length: 20_000, seed: number, in: stack.directory)
    try await stack.describe(
      issue(number), ProductDescription(publication: Self.magazine, publicationDate: date))
    try await stack.release(file, as: issue(number))
  }

  @Test(
    "behind the cursors that a device has kept each issue is told once, though answers are lost with the device or the server"
  )
  func told() async throws {
    try await Stack.with { stack in
      try await release(0, dated: SystemWallClock().now() - .seconds(86_400), at: stack)
      try await stack.describe(
        Self.subscription,
        ProductDescription(
          type: .autoRenewableSubscription, publication: Self.magazine, period: BillingPeriod("P1M"),
          onSale: true))
      let device = "reader-by-hand"
      _ = try await stack.buy(Self.subscription, device: device)
      let receipt = try await stack.receipt(device: device)
      let shown = try await stack.server.post(
        "/v1/entitlements",
        EntitlementsRequest(
          proof: Proof(receipt: receipt), device: Device(id: try #require(DeviceIdentifier(device)))))
      var feed = try #require(try shown.decoded(EntitlementsResponse.self).feed)
      var cursor: String?
      var told: [String] = []
      var generator = SplitMix(seed: 13)

      /// Asks for the news of the device; where it is killed, it forgets that it heard them.
      func ask(waiting seconds: Int, isKilled: Bool = false) async throws {
        let after = cursor.map { "&after=\($0)" } ?? ""
        let answer = try await stack.server.get(
          "/v1/feed?device=\(device)&wait=\(seconds)\(after)",
          headers: [("Authorization", "Bearer \(feed.token)")])
        #expect(answer.status == 200, "\(answer.text)")
        guard !isKilled else { return }
        let page = try answer.decoded(FeedResponse.self)
        #expect(page.isWhole == (cursor == nil))
        told += page.entries.map { "\($0.kind) \($0.product)" }
        (feed, cursor) = (page.feed, page.cursor)
      }

      try await ask(waiting: 0)
      for number in 1...6 {
        let isEarly = Bool.random(using: &generator)
        if isEarly { await stack.kill(.server) }
        if isEarly { try await stack.start(.server) }
        try await release(number, dated: SystemWallClock().now(), at: stack)
        // The server has written down what it tells, and the answer, or the server, is lost.
        try await ask(waiting: 5, isKilled: true)
        if Bool.random(using: &generator) {
          await stack.kill(.server)
          try await stack.start(.server)
        }
        try await ask(waiting: 5)
      }
      try await ask(waiting: 0)
      #expect(told == (0...6).map { "issue-available \(issue($0))" })
    }
  }
}
