import Commerce
import CoreTypes
import Database
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import Receipts
import ServiceAPI
import Testing

@testable import ContentGrants
@testable import DeliveryRecords
@testable import DeliveryService
@testable import RouteAccess

@Suite("The feed of a device")
struct FeedTests {
  static let subscription = "com.example.heroes.monthly"
  static let month: Duration = .seconds(20 * 86_400)
  let package = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 3) }

  func issue(_ number: Int) -> String { "com.example.heroes.\(number)" }

  /// Releases an issue that appears at that time.
  func publish(
    _ number: Int, version: String = "1.0", dated date: Timestamp, on server: ServerHarness
  ) async throws {
    let magazine = try #require(ProductIdentifier("com.example.heroes"))
    try await server.publish(
      package + [UInt8(number)] + Array(version.utf8), as: issue(number), version: version,
      description: ProductDescription(publication: magazine, publicationDate: date))
  }

  /// A magazine with an issue of yesterday, and a subscription that began now.
  func subscribe(on server: ServerHarness) async throws -> InAppPurchase {
    let magazine = try #require(ProductIdentifier("com.example.heroes"))
    let description = ProductDescription(
      type: .autoRenewableSubscription, publication: magazine, period: BillingPeriod("P1M"), onSale: true)
    _ = try await server.operatorAPI.call(
      "PUT", "/v1/operator/products/\(Self.subscription)", body: description, as: OperatorProduct.self)
    try await publish(0, dated: server.clock.now() - .seconds(86_400), on: server)
    return server.purchase(of: Self.subscription, expires: server.clock.now() + Self.month)
  }

  func show(
    _ purchases: [InAppPurchase], of device: Device? = nil, to server: ServerHarness
  ) async throws -> FeedReference {
    let device = device ?? server.device
    let receipt = try server.store.receipt(of: purchases, device: device.id)
    let answer: EntitlementsResponse = try await server.api.call(
      "POST", "/v1/entitlements",
      body: EntitlementsRequest(proof: Proof(store: "sandbox", receipt: receipt), device: device)
    ).value
    return try #require(answer.feed)
  }

  func read(
    _ feed: FeedReference, after cursor: String? = nil, wait: Int = 0, as device: Device? = nil,
    of server: ServerHarness
  ) async throws -> FeedResponse {
    let query =
      [("device", (device ?? server.device).id.description), ("wait", "\(wait)")]
      + (cursor.map { [("after", $0)] } ?? [])
    return try await server.api.call(
      "GET", feed.url, query: query, body: EmptyBody?.none,
      headers: [("Authorization", "Bearer \(feed.token)")]
    ).value
  }

  func kinds(_ answer: FeedResponse) -> [String] {
    answer.entries.map { "\($0.kind) \($0.product.description.split(separator: ".").last ?? "")" }
  }

  @Test("an issue, its correction and its withdrawal are told, each once, behind the cursor")
  func course() async throws {
    try await ServerHarness.run { server in
      let bought = try await subscribe(on: server)
      let feed = try await show([bought], to: server)
      var answer = try await read(feed, of: server)
      #expect(answer.isWhole && kinds(answer) == ["issue-available 0"])
      let entry = try #require(answer.entries.first)
      #expect(entry.transaction.description == bought.transactionIdentifier)
      #expect(entry.publication?.description == "com.example.heroes" && entry.version?.description == "1.0")
      #expect(entry.length != nil && entry.notBefore == nil)

      answer = try await read(feed, after: answer.cursor, of: server)
      #expect(!answer.isWhole && answer.entries.isEmpty)

      let now = server.clock.now()
      try await publish(1, dated: now, on: server)
      answer = try await read(answer.feed, after: answer.cursor, of: server)
      #expect(kinds(answer) == ["issue-available 1"])
      try await publish(1, version: "1.1", dated: now, on: server)
      answer = try await read(answer.feed, after: answer.cursor, of: server)
      #expect(kinds(answer) == ["correction-available 1"])
      #expect(answer.entries.first?.version?.description == "1.1")
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/products/\(issue(1))/versions/1.1/withdraw", body: ReasonBody(),
        as: VersionRecord.self)
      answer = try await read(answer.feed, after: answer.cursor, of: server)
      #expect(kinds(answer) == ["withdrawn 1"])
      #expect(answer.entries.first?.version == nil)
      #expect(try await read(feed, after: answer.cursor, of: server).entries.isEmpty)
      // A cursor that is not this feed's is answered with everything, each product once.
      for cursor in ["1-1", "nonsense", "-1", ""] {
        answer = try await read(feed, after: cursor, of: server)
        #expect(answer.isWhole && kinds(answer) == ["issue-available 0", "withdrawn 1"])
      }
    }
  }

  @Test("a request that waits is answered as soon as there is something to tell")
  func waits() async throws {
    try await ServerHarness.run { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let cursor = try await read(feed, of: server).cursor
      async let answer = read(feed, after: cursor, wait: 300, of: server)
      while server.server.components.feeds.waiters.count == 0 { await Task.yield() }
      try await publish(1, dated: server.clock.now(), on: server)
      #expect(kinds(try await answer) == ["issue-available 1"])
    }
  }

  @Test("many devices that wait for one release are all told of it, each once, and those of others wait on")
  func together() async throws {
    try await ServerHarness.run { server in
      let bought = try await subscribe(on: server)
      try await server.publish(package, as: "com.example.issue1")
      let single = server.purchase(id: "2000000000000077")
      let devices = try (0..<40).map { Device(id: try #require(DeviceIdentifier("waiting-\($0)"))) }
      var feeds: [(device: Device, feed: FeedReference, cursor: String)] = []
      for (place, device) in devices.enumerated() {
        let feed = try await show([place < 36 ? bought : single], of: device, to: server)
        feeds.append((device, feed, try await read(feed, as: device, of: server).cursor))
      }
      let answers = try await withThrowingTaskGroup(of: (Int, FeedResponse).self) { group in
        for (place, waiting) in feeds.enumerated() {
          group.addTask {
            (
              place,
              try await read(
                waiting.feed, after: waiting.cursor, wait: place < 36 ? 300 : 3, as: waiting.device,
                of: server
              )
            )
          }
        }
        while server.server.components.feeds.waiters.count < 40 { await Task.yield() }
        try await publish(1, dated: server.clock.now(), on: server)
        var answers: [Int: FeedResponse] = [:]
        for try await (place, answer) in group { answers[place] = answer }
        return answers
      }
      for (place, answer) in answers {
        #expect(kinds(answer) == (place < 36 ? ["issue-available 1"] : []))
        let waiting = feeds[place]
        let again = try await read(answer.feed, after: answer.cursor, as: waiting.device, of: server)
        #expect(again.entries.isEmpty && !again.isWhole)
      }
      #expect(server.server.components.feeds.waiters.count == 0)
    }
  }

  @Test("a wait that hears of nothing is answered when its time is over, and leaves its place")
  func timeOver() async throws {
    try await ServerHarness.run(options: ["--admission-class", "{class: 'feed', inProgress: 1}"]) { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let cursor = try await read(feed, of: server).cursor
      for _ in 0..<2 {
        async let waiting = read(feed, after: cursor, wait: 1, of: server)
        while server.server.components.feeds.waiters.count == 0 { await Task.yield() }
        // It has the only place while it waits.
        let refused = try await server.problem { _ = try await read(feed, after: cursor, of: server) }
        #expect(refused.code == .unavailable)
        let answer = try await waiting
        #expect(answer.entries.isEmpty && !answer.isWhole && answer.cursor == cursor)
        #expect(server.server.components.feeds.waiters.count == 0)
        while server.server.components.admission.counts[.feed]?.inProgress != 0 { await Task.yield() }
      }
    }
  }

  @Test(
    "a clock that steps back takes nothing back, and tells nothing twice; one that steps ahead tells what has come"
  )
  func clockSteps() async throws {
    try await ServerHarness.run(options: ["--release-window", "1h"]) { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      var answer = try await read(feed, of: server)
      let now = server.clock.now()
      try await publish(1, dated: now, on: server)
      try await publish(2, dated: now + .seconds(7200), on: server)
      answer = try await read(feed, after: answer.cursor, of: server)
      #expect(kinds(answer) == ["issue-available 1"])
      let slot = answer.entries.first?.notBefore
      let told = answer.cursor
      for step: Duration in [.seconds(-3600), .seconds(-86_400), .seconds(90_000)] {
        server.clock.advance(by: step)
        let again = try await read(feed, after: told, of: server)
        #expect(again.entries.isEmpty && again.cursor == told)
      }
      // The device keeps the slot that it was told, whatever the clock did meanwhile.
      #expect(try await read(feed, after: "0-0", of: server).entries.last?.notBefore == slot)
      server.clock.advance(by: .seconds(7200))
      answer = try await read(feed, after: told, of: server)
      #expect(kinds(answer) == ["issue-available 2"])
    }
  }

  @Test(
    "a token holds by the server's clock: past its end it is refused, and where that steps back it holds again"
  )
  func tokenClock() async throws {
    try await ServerHarness.run { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      server.clock.advance(by: FeedService.lifetime + .seconds(1))
      let refused = try await server.problem { _ = try await read(feed, of: server) }
      #expect(refused.status == 401)
      server.clock.advance(by: .seconds(-10))
      let told = try await read(feed, of: server)
      // It was made by a clock that was ahead: it ends when it says, not earlier.
      server.clock.advance(by: .zero - FeedService.lifetime)
      #expect(try await read(told.feed, of: server).cursor == told.cursor)
    }
  }

  @Test("a later request of the same feed ends one that waits, and so does the server's end")
  func ends() async throws {
    try await ServerHarness.run { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let cursor = try await read(feed, of: server).cursor
      async let first = read(feed, after: cursor, wait: 300, of: server)
      while server.server.components.feeds.waiters.count == 0 { await Task.yield() }
      async let second = read(feed, after: cursor, wait: 300, of: server)
      #expect(try await first.entries.isEmpty)
      server.server.components.feeds.close()
      #expect(try await second.entries.isEmpty)
    }
  }

  @Test("when a period ends its end is told, and with a newer receipt that it goes on, and its issues")
  func renewal() async throws {
    try await ServerHarness.run { server in
      let bought = try await subscribe(on: server)
      let feed = try await show([bought], to: server)
      var answer = try await read(feed, of: server)
      server.clock.advance(by: Self.month)
      answer = try await read(answer.feed, after: answer.cursor, of: server)
      #expect(kinds(answer) == ["subscription-ended monthly"])
      #expect(answer.entries.first?.until == bought.expiresDate)
      // In the gap, as far as the server has heard.
      try await publish(1, dated: server.clock.now(), on: server)
      answer = try await read(answer.feed, after: answer.cursor, of: server)
      #expect(answer.entries.isEmpty)

      var renewal = server.purchase(
        of: Self.subscription, id: "2000000000000002", expires: server.clock.now() + Self.month)
      renewal.originalTransactionIdentifier = bought.transactionIdentifier
      _ = try await show([bought, renewal], to: server)
      answer = try await read(answer.feed, after: answer.cursor, of: server)
      #expect(Set(kinds(answer)) == ["issue-available 1", "reinstated monthly"])
      let entry = try #require(answer.entries.first { $0.kind == "issue-available" })
      #expect(entry.transaction.description == "2000000000000002")
      server.clock.advance(by: Self.month)
      try await publish(2, dated: server.clock.now(), on: server)
      answer = try await read(answer.feed, after: answer.cursor, of: server)
      #expect(kinds(answer) == ["subscription-ended monthly"])
    }
  }

  @Test("the plan of a restore says since when a subscription runs without a lapse")
  func subscribedSince() async throws {
    try await ServerHarness.run { server in
      let bought = try await subscribe(on: server)
      server.clock.advance(by: Self.month)
      var renewal = server.purchase(
        of: Self.subscription, id: "2000000000000002", expires: server.clock.now() + Self.month)
      renewal.originalTransactionIdentifier = bought.transactionIdentifier
      func since(_ purchases: [InAppPurchase]) async throws -> [String: Timestamp]? {
        let receipt = try server.store.receipt(of: purchases, device: server.device.id)
        return try await server.api.call(
          "POST", "/v1/entitlements",
          body: EntitlementsRequest(proof: Proof(store: "sandbox", receipt: receipt), device: server.device),
          as: EntitlementsResponse.self
        ).value.subscribedSince
      }
      #expect(try await since([bought, renewal]) == [Self.subscription: bought.purchaseDate])
      server.clock.advance(by: Self.month * 3)
      #expect(try await since([bought, renewal]) == nil)
    }
  }

  @Test("the end of a season is told seven days before it comes, once, and so is that another one follows")
  func season() async throws {
    try await ServerHarness.run { server in
      let season = "com.example.heroes.season"
      _ = try await subscribe(on: server)
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(season)",
        body: ProductDescription(
          type: .nonRenewingSubscription, publication: ProductIdentifier("com.example.heroes"),
          period: BillingPeriod("P30D"), onSale: true), as: OperatorProduct.self)
      let day: Duration = .seconds(86_400)
      let first = server.purchase(of: season, id: "5")
      let end = first.purchaseDate + day * 30
      let feed = try await show([first], to: server)
      var answer = try await read(feed, of: server)
      server.clock.advance(by: day * 22)
      answer = try await read(answer.feed, after: answer.cursor, of: server)
      #expect(answer.entries.isEmpty)
      server.clock.advance(by: day)
      answer = try await read(answer.feed, after: answer.cursor, of: server)
      #expect(kinds(answer) == ["subscription-ending season"])
      #expect(answer.entries.first?.until == end)
      server.clock.advance(by: day)
      answer = try await read(answer.feed, after: answer.cursor, of: server)
      #expect(answer.entries.isEmpty)
      _ = try await show([first, server.purchase(of: season, id: "6")], to: server)
      answer = try await read(answer.feed, after: answer.cursor, of: server)
      #expect(kinds(answer) == ["reinstated season"])
      #expect(answer.entries.first?.until == end + day * 30)
    }
  }

  @Test("a wait of more than five minutes is refused")
  func longWait() async throws {
    try await ServerHarness.run { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let refused = try await server.problem { _ = try await read(feed, wait: 301, of: server) }
      #expect(refused.code == .requestMalformed)
    }
  }

  @Test("a refund that another device's proof shows is told as well")
  func refund() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let feed = try await show([server.purchase()], to: server)
      let answer = try await read(feed, of: server)
      #expect(kinds(answer) == ["issue-available issue1"])
      _ = try await server.grantForPurchase()
      server.clock.advance(by: .seconds(600))
      let other = Device(id: try #require(DeviceIdentifier("other-device")))
      var refunded = server.purchase()
      refunded.cancellationDate = server.clock.now()
      _ = try await show([refunded], of: other, to: server)
      #expect(kinds(try await read(feed, after: answer.cursor, of: server)) == ["revoked issue1"])
    }
  }

  @Test("a refund before a device first asks is told where the issue was granted, and nowhere else")
  func refundBeforeTheFirstAnswer() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let feed = try #require(try await server.grantForPurchase().feed)
      let other = Device(id: try #require(DeviceIdentifier("other-device")))
      let others = try await show([server.purchase()], of: other, to: server)
      server.clock.advance(by: .seconds(600))
      var refunded = server.purchase()
      refunded.cancellationDate = server.clock.now()
      let third = Device(id: try #require(DeviceIdentifier("third-device")))
      _ = try await show([refunded], of: third, to: server)
      let answer = try await read(feed, of: server)
      #expect(kinds(answer) == ["revoked issue1"])
      #expect(try await read(feed, after: answer.cursor, of: server).entries.isEmpty)
      #expect(try await read(others, as: other, of: server).entries.isEmpty)
    }
  }

  @Test("a token of another device, or altered, is refused with 403, an expired one or none with 401")
  func tokens() async throws {
    try await ServerHarness.run { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      func status(_ feed: FeedReference, as device: Device? = nil) async throws -> Int {
        try await server.problem { _ = try await read(feed, as: device, of: server) }.status
      }
      let other = Device(id: try #require(DeviceIdentifier("other-device")))
      let others = try await show([], of: other, to: server)
      #expect(try await read(others, as: other, of: server).entries.isEmpty)
      #expect(try await status(others) == 403)
      #expect(try await status(feed, as: other) == 403)
      var altered = feed
      altered.token = String(feed.token.dropLast()) + (feed.token.hasSuffix("A") ? "B" : "A")
      #expect(try await status(altered) == 403)
      altered.token = ""
      #expect(try await status(altered) == 401)
      // The answer brings a token that lasts on.
      server.clock.advance(by: FeedService.lifetime - .seconds(1))
      let renewed = try await read(feed, of: server).feed
      server.clock.advance(by: .seconds(1))
      #expect(try await status(feed) == 401)
      #expect(try await read(renewed, of: server).feed.expires > renewed.expires)
    }
  }

  @Test("a client that has everything is answered 304")
  func notModified() async throws {
    try await ServerHarness.run { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let cursor = try await read(feed, of: server).cursor
      let url = server.api.url(
        feed.url, query: [("device", server.device.id.description), ("after", cursor)])
      let request = ClientRequest(
        method: "GET", url: url,
        headers: [("Authorization", "Bearer \(feed.token)"), ("If-None-Match", "\"\(cursor)\"")])
      let answer = try await server.client.send(request)
      #expect(answer.status == 304 && answer.headers["ETag"] == "\"\(cursor)\"")
      // Once half of the token's time is over there is an answer with another one.
      server.clock.advance(by: FeedService.lifetime * 0.6)
      let renewed = try await server.client.send(request)
      #expect(renewed.status == 200)
      let body = try APIJSON.decode(FeedResponse.self, from: renewed.body)
      #expect(body.entries.isEmpty && body.feed.expires > feed.expires)
    }
  }

  @Test("over a restart of the server nothing is lost and nothing told twice")
  func restart() async throws {
    let directory = try TemporaryDirectory()
    let held = Locked<(feed: FeedReference, cursor: String)?>(nil)
    try await ServerHarness.run(in: directory) { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let cursor = try await read(feed, of: server).cursor
      held.withLock { $0 = (feed, cursor) }
      try await publish(1, dated: server.clock.now(), on: server)
    }
    try await ServerHarness.run(in: directory) { server in
      let (feed, cursor) = try #require(held.current)
      let answer = try await read(feed, after: cursor, of: server)
      #expect(!answer.isWhole && kinds(answer) == ["issue-available 1"])
      #expect(try await read(feed, after: answer.cursor, of: server).entries.isEmpty)
    }
  }

  @Test("an issue that is dated back later does not take the place of the one that was delivered")
  func backDated() async throws {
    try await ServerHarness.run { server in
      let bought = try await subscribe(on: server)
      let receipt = try server.store.receipt(of: [bought], device: server.device.id)
      _ = try await server.grant(issue(0), receipt: receipt)
      try await publish(9, dated: server.clock.now() - .seconds(3600), on: server)
      #expect(try await server.grant(issue(0), receipt: receipt).status == 200)
      // Another device of the same reader as well.
      let other = Device(id: try #require(DeviceIdentifier("other-device")))
      let same = try server.store.receipt(of: [bought], device: other.id)
      #expect(try await server.grant(issue(0), receipt: same, device: other).status == 201)
      let refusal = try await server.problem {
        _ = try await server.grant(issue(9), receipt: same, device: other)
      }
      #expect(refusal.code == .purchaseRequired)
      #expect(kinds(try await read(show([bought], to: server), of: server)) == ["issue-available 0"])
    }
  }

  @Test("within a release's window each device is told its slot")
  func window() async throws {
    try await ServerHarness.run(options: ["--release-window", "30s"]) { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let slot = try #require(try await read(feed, of: server).entries.first?.notBefore)
      #expect(slot > server.clock.now() && slot < server.clock.now() + .seconds(30))
    }
  }

  @Test("each customer has a feed of the device: another's proof neither opens, changes nor ends it")
  func anotherCustomer() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      try await server.publish(package + [1], as: "com.example.other")
      _ = try await server.grantForPurchase()
      let first = try await show([server.purchase()], to: server)
      let answer = try await read(first, of: server)
      #expect(kinds(answer) == ["issue-available issue1"])
      // Another reader, whom the server knows by another device.
      let bought = server.purchase(of: "com.example.other", id: "2000000000000009")
      let elsewhere = Device(id: try #require(DeviceIdentifier("other-device")))
      let receipt = try server.store.receipt(of: [bought], device: elsewhere.id)
      #expect(try await server.grant("com.example.other", receipt: receipt, device: elsewhere).status == 201)
      let second = try await show([bought], to: server)
      #expect(kinds(try await read(second, of: server)) == ["issue-available other"])
      // The first goes on where it was.
      try await server.publish(
        package + [2], version: "1.1", description: ProductDescription())
      let later = try await read(answer.feed, after: answer.cursor, of: server)
      #expect(!later.isWhole && kinds(later) == ["correction-available issue1"])
      let again = try await show([server.purchase()], to: server)
      #expect(try await read(again, after: later.cursor, of: server).entries.isEmpty)
    }
  }

  @Test("a proof without a purchase brings a feed that tells nothing, whatever the device's customer owns")
  func stranger() async throws {
    try await ServerHarness.run { server in
      let bought = try await subscribe(on: server)
      let own = try await show([bought], to: server)
      let cursor = try await read(own, of: server).cursor
      let strange = try await show([], to: server)
      for cursor in [nil, cursor] {
        #expect(try await read(strange, after: cursor, of: server).entries.isEmpty)
      }
      try await publish(1, dated: server.clock.now(), on: server)
      #expect(try await read(strange, of: server).entries.isEmpty)
      #expect(kinds(try await read(own, after: cursor, of: server)) == ["issue-available 1"])
    }
  }

  @Test(
    "the feed of a proof without a purchase ends once its device shows one with: who has its token reads nothing"
  )
  func strangerBefore() async throws {
    try await ServerHarness.run { server in
      let strange = try await show([], to: server)
      let place = try await read(strange, of: server).cursor
      let bought = try await subscribe(on: server)
      let waiting = Task { try await read(strange, after: place, wait: 300, of: server) }
      while server.server.components.feeds.waiters.count == 0 { await Task.yield() }
      let own = try await show([bought], to: server)
      let refused = try await server.problem { _ = try await waiting.value }
      #expect(refused.status == 401)
      // A device whose first purchase that is goes on at its place.
      let answer = try await read(own, after: place, of: server)
      #expect(!answer.isWhole && kinds(answer) == ["issue-available 0"])
      #expect(try await read(show([], to: server), of: server).entries.isEmpty)
      #expect(try await read(own, after: answer.cursor, of: server).entries.isEmpty)
    }
  }

  @Test("what a run unlocked is written down when it is told, though nothing was granted")
  func backDatedUngranted() async throws {
    try await ServerHarness.run { server in
      let bought = try await subscribe(on: server)
      let receipt = try server.store.receipt(of: [bought], device: server.device.id)
      func owned() async throws -> [String] {
        let answer: EntitlementsResponse = try await server.api.call(
          "POST", "/v1/entitlements",
          body: EntitlementsRequest(proof: Proof(store: "sandbox", receipt: receipt), device: server.device)
        ).value
        return answer.products.map(\.product.description)
      }
      #expect(try await owned() == [issue(0)])
      try await publish(9, dated: server.clock.now() - .seconds(3600), on: server)
      #expect(try await owned() == [issue(0)])
      #expect(kinds(try await read(show([bought], to: server), of: server)) == ["issue-available 0"])
    }
  }

  @Test(
    "what a subscription opened stays granted when its issue is dated back, unless an operator took it back",
    arguments: [false, true])
  func grantedBefore(isRevoked: Bool) async throws {
    try await ServerHarness.run { server in
      let bought = try await subscribe(on: server)
      let receipt = try server.store.receipt(of: [bought], device: server.device.id)
      try await publish(1, dated: server.clock.now(), on: server)
      let grant = try await server.grant(issue(1), receipt: receipt).value
      if isRevoked {
        _ = try await server.operatorAPI.call(
          "POST", "/v1/operator/grants/\(server.shortName(of: grant))/revoke",
          body: ReasonBody(reason: "a mistake"), as: OperatorGrant.self)
      }
      let magazine = try #require(ProductIdentifier("com.example.heroes"))
      _ = try await server.operatorAPI.call(
        "PUT", "/v1/operator/products/\(issue(1))",
        body: ProductDescription(
          publication: magazine, publicationDate: server.clock.now() - .seconds(2 * 86_400)),
        as: OperatorProduct.self)
      let answer: EntitlementsResponse = try await server.api.call(
        "POST", "/v1/entitlements",
        body: EntitlementsRequest(proof: Proof(store: "sandbox", receipt: receipt), device: server.device)
      ).value
      let found = answer.products.first { $0.product.description == issue(1) }
      #expect(found?.because == (isRevoked ? nil : "granted-before"))
    }
  }

  @Test("without a window a release is spread over as long as its bandwidth takes")
  func bandwidth() async throws {
    // One device, and a package of some hundred bytes at least.
    try await ServerHarness.run(options: ["--release-bandwidth", "1"]) { server in
      let feed = try await show([try await subscribe(on: server)], to: server)
      let entry = try #require(try await read(feed, of: server).entries.first)
      let slot = try #require(entry.notBefore)
      let length = try #require(entry.length)
      #expect(slot > server.clock.now() && slot < server.clock.now() + .seconds(length.rawValue))
    }
  }

  @Test("a feed that was not asked for long is forgotten, and its device shows its proof again")
  func forgotten() async throws {
    try await ServerHarness.run { server in
      let bought = try await subscribe(on: server)
      let feed = try await show([bought], to: server)
      let database = server.server.components.infrastructure.database
      let used = server.clock.now()
      func forget(before cutoff: Timestamp) async throws -> Int {
        try await database.write(locking: [.everything]) {
          try FeedTable.forget(unusedSince: cutoff, limit: 10, in: $0)
        }
      }
      #expect(try await forget(before: used) == 0)
      #expect(kinds(try await read(feed, of: server)) == ["issue-available 0"])
      #expect(try await forget(before: used + .milliseconds(1)) == 1)
      #expect(try await server.problem { _ = try await read(feed, of: server) }.status == 401)
      let answer = try await read(show([bought], to: server), of: server)
      #expect(answer.isWhole && kinds(answer) == ["issue-available 0"])
    }
  }

  @Test(
    "what a receipt shows no more is owned by the ledger, on all devices of the customer, but no consumable")
  func remembered() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      try await server.publish(
        package + [1], as: "com.example.coins", description: ProductDescription(type: .consumable))
      try await server.publish(package + [2], as: "com.example.single")
      let coins = server.purchase(of: "com.example.coins", id: "2000000000000002")
      let single = server.purchase(of: "com.example.single", id: "2000000000000003")
      _ = try await show([server.purchase(), coins, single], to: server)
      // Another device, whose receipt has lost two of them.
      let other = Device(id: try #require(DeviceIdentifier("other-device")))
      let receipt = try server.store.receipt(of: [server.purchase()], device: other.id)
      #expect(try await server.grant("com.example.single", receipt: receipt, device: other).status == 201)
      let refusal = try await server.problem {
        _ = try await server.grant("com.example.coins", receipt: receipt, device: other)
      }
      #expect(refusal.code == .purchaseRequired)
      let feed = try await show([server.purchase()], of: other, to: server)
      #expect(
        Set(kinds(try await read(feed, as: other, of: server)))
          == ["issue-available issue1", "issue-available single"])
    }
  }
}
