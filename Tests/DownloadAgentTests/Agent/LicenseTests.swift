import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary
@testable import DownloadAgent

/// docs/agent.md, "Ownership without a network".
@Suite("Ownership by a license", .serialized, .timeLimit(.minutes(5)))
struct LicenseTests {
  private let harness: AgentHarness
  private let server: FakeServer
  private let package: FixturePackage
  private var product: ProductIdentifier { package.manifest.product }

  init() throws {
    harness = try AgentHarness()
    package = try FixturePackage.file(length: 50_000, product: "com.example.heroes.1")
    server = FakeServer([package])
    server.change {
      $0.feed = []
      $0.licenseKeys = [SigningKey()]
    }
  }

  private func entry(
    _ kind: FeedEntry.Kind = .issueAvailable, until: Timestamp? = nil, keep: Bool? = nil
  ) throws -> FeedEntry {
    FeedEntry(
      kind: kind, product: product, version: package.manifest.version, length: package.manifest.length,
      transaction: try #require(TransactionIdentifier("2000000000000001")), until: until, keep: keep)
  }

  private func run(
    at url: String, clock: any WallClock = SystemWallClock(),
    isFirst: Bool = true, _ body: @escaping @Sendable (AgentService) async throws -> Void
  ) async throws {
    try await harness.run(
      server: url, wallClock: clock,
      configure: { $0.arrivals = .latest }
    ) { agent in
      // A later one is answered once there is something to tell.
      if isFirst { try await agent.arrivals.hasRead() }
      try await body(agent)
    }
  }

  private func ownership(_ product: ProductIdentifier? = nil) async throws -> ProductOwnership {
    try await harness.get(
      "/v1/library/\(product ?? self.product)/ownership", as: ProductOwnership.self)
  }

  /// Asks until the answer is such, at each change that observers hear of.
  private func ownership(
    _ fits: @Sendable (ProductOwnership) -> Bool
  ) async throws -> ProductOwnership {
    while true {
      let answer = try await ownership()
      if fits(answer) { return answer }
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  private var library: String { harness.library }

  @Test(
    "a license is asked for where the feed answers, and says because of what, until when, and when it was heard"
  )
  func licensed() async throws {
    try await server.open { [server, harness] url in
      try await run(at: url) { agent in
        server.tell(try entry(until: Timestamp(millisecondsSinceEpoch: 1_895_249_800_000)))
        let answer = try await ownership { $0.owned && $0.verification == .verified && $0.content != nil }
        #expect(answer.because == "published-during-subscription" && answer.reason == nil)
        #expect(answer.until == Timestamp(millisecondsSinceEpoch: 1_895_249_800_000))
        let license = try #require(answer.license)
        #expect(license.expires - license.issued == .seconds(30 * 86_400))
        #expect(try #require(answer.heard) >= license.issued && answer.content == .present)
        let other = try await ownership(ProductIdentifier("com.example.unknown"))
        #expect(!other.owned && other.because == "not-bought" && other.verification == .verified)
        let malformed = try await harness.ask("GET", "/v1/library/a%20b/ownership")
        #expect(malformed.status == 404)
      }
    }
  }

  @Test(
    "without a network it answers over a restart, to the end of the license, whatever the clock is set to")
  func offline() async throws {
    let clock = ManualWallClock(SystemWallClock().now())
    let address = try await server.open { [server] url in
      try await run(at: url, clock: clock) { _ in
        server.tell(try entry())
        _ = try await ownership { $0.owned && $0.verification == .verified }
      }
      return url
    }
    let issued = clock.now()
    for (days, verification) in [
      (0, ProductOwnership.Verification.verified), (29, .verified), (-400, .verified), (31, .unverified),
      (-400, .unverified),
    ] {
      // As behind a restart of the machine, whose clock alone says what passed while it was off.
      try harness.forgetBoot()
      clock.set(issued + .seconds(86_400 * days))
      try await harness.run(
        server: address, wallClock: clock, configure: { $0.arrivals = .latest }
      ) { _ in
        let answer = try await ownership()
        #expect(answer.verification == verification, "day \(days)")
        #expect(answer.owned && answer.reason == (verification == .verified ? nil : .licenseExpired))
      }
    }
  }

  @Test("short sessions count as long ones do: the time is saved at their starts and at their ends")
  func sessions() async throws {
    let clock = ManualWallClock(SystemWallClock().now())
    let address = try await server.open { [server] url in
      try await run(at: url, clock: clock) { _ in
        server.tell(try entry())
        _ = try await ownership { $0.owned && $0.verification == .verified }
      }
      return url
    }
    let issued = clock.now()
    let session: Duration = .seconds(50 * 60)
    for _ in 0..<3 {
      try harness.forgetBoot()
      let before = try #require(try harness.savedTime())
      clock.set(before + session)
      try await harness.run(
        server: address, wallClock: clock, configure: { $0.arrivals = .latest }
      ) { agent in
        while try agent.library.database.highestTime().highest.map({ $0 < before + session }) ?? true {
          try await Task.sleep(for: .milliseconds(10))
        }
        clock.set(before + session * 2)
      }
      #expect(try #require(try harness.savedTime()) >= before + session * 2)
      clock.set(issued)
    }
  }

  @Test(
    "a revocation that was heard says no and moves the content away, also over a restart; its reversal brings it back"
  )
  func revoked() async throws {
    try await server.open { [server, harness, package] url in
      try await run(at: url) { agent in
        server.tell(try entry())
        _ = try await agent.ended()
        #expect(try harness.placed(package))
        server.tell(try entry(.revoked))
        let answer = try await ownership { $0.content == .withdrawn && $0.verification == .verified }
        #expect(!answer.owned && answer.because == "revoked")
        // The record goes before the rename.
        let place = "\(library)/\(product)/\(package.manifest.version)"
        while try FileSystem.status(of: place) != nil { try await Task.sleep(for: .milliseconds(10)) }
        let refused = try await harness.ask("GET", "/v1/library/\(product)/files")
        #expect(refused.status == 403)
        #expect(try APIJSON.decode(Problem.self, from: refused.body).code == .entitlementRevoked)
        let item = try #require(
          try await harness.get("/v1/library", as: LibraryResponse.self).items.first)
        #expect(item.withdrawn == true && item.state == .offline)
      }
      let sent = server.state.current.sent.count
      try await run(at: url, isFirst: false) { agent in
        #expect(try await ownership().content == .withdrawn)
        server.tell(try entry(.reinstated))
        let answer = try await ownership {
          $0.owned && $0.content == .present && $0.verification == .verified
        }
        #expect(answer.because == "published-during-subscription")
        while try !harness.placed(package) { try await Task.sleep(for: .milliseconds(10)) }
        _ = agent
      }
      #expect(server.state.current.sent.count == sent)
    }
  }

  @Test("a license that was signed for an earlier question is not taken, however good it is") func replayed()
    async throws
  {
    try await server.open { [server] url in
      try await run(at: url) { agent in
        server.tell(try entry())
        _ = try await agent.ended()
        _ = try await ownership { $0.verification == .verified }
        server.change { $0.repeatsLicenses = true }
        let asked = server.state.current.licenseQuestions
        server.tell(try entry(.revoked))
        // The feed's own word counts, and the old license does not take it back.
        let answer = try await ownership { !$0.owned }
        #expect(answer.because == "revoked")
        // It is asked for again with the next answer of the feed: what was answered was refused.
        while server.state.current.licenseQuestions < asked + 2 {
          server.tell(try entry(.revoked))
          try await Task.sleep(for: .milliseconds(50))
        }
        #expect(try await ownership().owned == false)
        _ = agent
      }
    }
  }

  @Test("what its publisher leaves to its buyers is owned no more and stays")
  func kept() async throws {
    try await server.open { [server, harness, package] url in
      try await run(at: url) { agent in
        server.tell(try entry())
        _ = try await agent.ended()
        server.tell(try entry(.revoked, keep: true))
        let answer = try await ownership { !$0.owned && $0.verification == .verified }
        #expect(answer.content == .present)
        #expect(try harness.placed(package))
      }
    }
  }

  @Test(
    "a license for another device, or by a key that nothing leads to, counts for nothing, and a rotated one does"
  )
  func untrusted() async throws {
    let first = try #require(server.state.current.licenseKeys.first)
    try await server.open { [server] url in
      try await run(at: url) { _ in
        server.change { $0.licensedKey = SigningKey().verificationKey }
        server.tell(try entry())
        var answer = try await ownership { $0.owned }
        #expect(answer.verification == .unverified)
        server.change { $0.licensedKey = nil }
        // It is asked again where the feed answers next.
        server.tell(try entry(.correctionAvailable))
        answer = try await ownership { $0.verification == .verified }
        #expect(answer.license != nil)
      }
      // Another server stands in its place.
      server.change { $0.licenseKeys = [SigningKey()] }
      server.tell(try entry(.correctionAvailable))
      try await run(at: url) { _ in
        try await server.asked("GET /v1/license", times: 3)
        let answer = try await ownership()
        #expect(answer.license != nil && answer.owned)
      }
      server.change { $0.licenseKeys = [first, SigningKey()] }
      server.tell(try entry(.revoked))
      try await run(at: url) { _ in
        let answer = try await ownership { !$0.owned && $0.verification == .verified }
        #expect(answer.because == "revoked")
      }
    }
  }

  @Test(
    "a key that was replaced signs nothing that counts behind the first license of the next, also where the configuration names it"
  )
  func replaced() async throws {
    let first = try #require(server.state.current.licenseKeys.first)
    let second = SigningKey()
    try await server.open { [server, harness] url in
      try await run(at: url) { _ in
        server.tell(try entry())
        _ = try await ownership { $0.owned && $0.verification == .verified }
        server.change { $0.licenseKeys = [first, second] }
        let asked = server.state.current.licenseQuestions
        server.tell(try entry(.revoked))
        _ = try await ownership { !$0.owned && $0.verification == .verified }
        #expect(server.state.current.licenseQuestions > asked)
      }
      // Whoever has the key of before stands in the server's place.
      server.change { $0.licenseKeys = [first] }
      try await harness.run(
        server: url,
        configure: {
          $0.arrivals = .latest
          $0.trustedLicenseKeys = [first.verificationKey.text]
        }
      ) { _ in
        let kept = try await ownership()
        #expect(!kept.owned && kept.verification == .verified)
        let asked = server.state.current.licenseQuestions
        server.tell(try entry(.reinstated))
        while server.state.current.licenseQuestions < asked + 2 { await Task.yield() }
        let answer = try await ownership()
        #expect(answer.license?.serial == kept.license?.serial && answer.verification == .unverified)
      }
    }
  }

  @Test(
    "agents that are killed while they renew, move out and move back leave what the server said to the next")
  func killed() async throws {
    try await server.open { [server, harness, package] url in
      try await run(at: url) { agent in
        server.tell(try entry())
        _ = try await agent.ended()
        #expect(try harness.placed(package))
      }
      let sent = server.state.current.sent.count
      for turn in 0..<10 {
        server.tell(try entry(turn % 2 == 0 ? .revoked : .reinstated))
        let licenses = server.state.current.asked.count { $0 == "GET /v1/license" }
        let feeds = server.state.current.asked.count { $0 == "GET /v1/feed" }
        try await harness.run(until: .killed, server: url, arrivals: .latest) {
          // Some end behind the question to the feed, others behind that for a license, and a while later.
          if turn % 4 < 2 {
            try await server.asked("GET /v1/feed", times: feeds + 1)
          } else {
            try await server.asked("GET /v1/license", times: licenses + 1)
          }
          try await Task.sleep(for: .milliseconds(2 * turn))
        }
        let isBack = turn % 2 == 1
        guard turn > 5 else { continue }
        // The next one ends what they began.
        try await run(at: url, isFirst: false) { _ in
          let answer = try await ownership {
            $0.owned == isBack && $0.verification == .verified
              && $0.content == (isBack ? .present : .withdrawn)
          }
          #expect(answer.reason == nil)
          while try harness.placed(package) != isBack { try await Task.sleep(for: .milliseconds(10)) }
        }
      }
      #expect(server.state.current.sent.count == sent)
    }
  }

  @Test("a server without licenses is asked no more for a day, and what was heard is said without one")
  func none() async throws {
    server.change { $0.licenseKeys = [] }
    try await server.open { [server] url in
      try await run(at: url) { agent in
        server.tell(try entry())
        let answer = try await ownership { $0.owned && $0.content == .present }
        #expect(answer.verification == .unverified && answer.reason == .noLicense && answer.license == nil)
        #expect(answer.heard != nil)
        #expect(server.state.current.licenseQuestions == 1)
        // The feed answers again, with news that a license would say.
        server.tell(try entry(.revoked))
        _ = try await ownership { !$0.owned }
        let feeds = server.state.current.asked.count { $0 == "GET /v1/feed" }
        server.tell(try entry(.reinstated))
        _ = try await ownership { $0.owned }
        try await server.asked("GET /v1/feed", times: feeds + 1)
        #expect(server.state.current.licenseQuestions == 1)
        _ = agent
      }
    }
  }

  @Test("a purchase that was taken back is called so among the transactions, and counts again when it does")
  func transactions() async throws {
    try await server.open { [server, harness, package] url in
      try await run(at: url) { agent in
        try server.queuePurchase("com.example.heroes.1", transaction: "2000000000000001")
        _ = try await agent.ended()
        #expect(try harness.placed(package))
        func transaction(_ fits: (AgentTransaction) -> Bool) async throws -> AgentTransaction {
          while true {
            if let found = try await harness.transactions().first, fits(found) { return found }
            try await Task.sleep(for: .milliseconds(10))
          }
        }
        let finished = try await transaction { $0.step == "finished" }
        #expect(finished.state == "purchased" && finished.revoked == nil)
        server.tell(try entry(.revoked))
        let revoked = try await transaction { $0.revoked != nil }
        #expect(revoked.state == "revoked" && revoked.step == "finished")
        server.tell(try entry(.reinstated))
        #expect(try await transaction { $0.revoked == nil }.state == "purchased")
      }
    }
  }
}

extension AgentHarness {
  /// The time as the agent that has ended saved it.
  fileprivate func savedTime() throws -> Timestamp? {
    let database = try AgentDatabase(path: directory.path("state/agent.sqlite"))
    defer { database.close() }
    return try database.highestTime().highest
  }

  /// Lets the time that was saved be of another start of the machine.
  fileprivate func forgetBoot() throws {
    let database = try AgentDatabase(path: directory.path("state/agent.sqlite"))
    defer { database.close() }
    let time = try database.highestTime()
    try database.save(
      HighestTime(highest: time.highest, confirmed: time.confirmed, boot: nil, offset: time.offset))
  }
}
