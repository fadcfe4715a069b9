import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Files
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import DownloadAgent

/// The whole agent against a server in the same process.
@Suite(.serialized, .timeLimit(.minutes(10))) struct AgentTests {
  private static let mebibyte = 1 << 20

  @Test("a purchase becomes a placed issue and a finished transaction", arguments: [true, false])
  func chain(isFolder: Bool) async throws {
    let package =
      isFolder ? try FixturePackage.folder() : try FixturePackage.file(length: 3 * Self.mebibyte + 5)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        _ = try await agent.transaction("finished")
        let download = try #require(try await harness.downloads().first)
        #expect(download.state == .finished && download.progress == 1)
        let path = try #require(download.contentPath)
        #expect(
          path
            == (isFolder
              ? "\(harness.library)/\(FixturePackage.product)/1.0"
              : "\(harness.library)/\(FixturePackage.product)/1.0/issue.pdf"))
        #expect(download.bytesReceived == package.manifest.length)
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.map(\.path) == [path] && items.map(\.digest) == [package.manifest.digest])
      }
    }
    #expect(try harness.placed(package))
    #expect(server.timesSent(package).allSatisfy { $0 == 1 })
    #expect(server.state.current.transactions.allSatisfy { $0.finishedDate != nil })
    #expect(try FileSystem.list("\(harness.library)/.staging").isEmpty)
    #expect(try FileSystem.list(harness.directory.path("state/downloads")).isEmpty)
  }

  @Test("no download whose content was placed is told to wait for it again, of all that one job brings it to")
  func eventsAfterPlacing() async throws {
    let package = try FixturePackage.file(length: Self.mebibyte)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    let transactions = (1...3).map { "200000000000000\($0)" }
    try await server.open { url in
      try await harness.run(server: url) { agent in
        let observer = try #require(agent.hub.subscribe())
        defer { agent.hub.unsubscribe(observer) }
        for transaction in transactions { try server.queuePurchase(transaction: transaction) }
        var reasons: [DownloadIdentifier: [String]] = [:]
        var finished: Set<DownloadIdentifier> = []
        while finished.count < transactions.count {
          let status = try await observer.firstValue { event -> DownloadStatus? in
            guard case .download(let status) = event else { return nil }
            return status
          }
          reasons[status.id, default: []].append(status.reason)
          if status.state == .finished { finished.insert(status.id) }
        }
        #expect(reasons.values.contains { $0.contains("placing") })
        for told in reasons.values {
          let later = told.drop { $0 != "placing" }
          #expect(!later.contains("waiting-for-content"), "\(told)")
        }
      }
    }
  }

  @Test("the transaction is finished when the server says so, not before") func storeIsDown() async throws {
    let package = try FixturePackage.file(length: 100_000)
    let server = FakeServer([package])
    server.change { $0.isStoreUp = false }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        let waiting = try await agent.transaction("waiting-for-server", "store-not-answered")
        #expect(try await harness.downloads().map(\.state) == [.finished])
        #expect(waiting.downloads.count == 1)
        server.change { $0.isStoreUp = true }
        _ = try await agent.transaction("finished")
      }
    }
    #expect(server.state.current.reports.count == 1)
  }

  /// Where the chain can be held up, and how it shows.
  static let stations = [
    "POST /v1/grants", "GET /v1/content/manifest", "GET /v1/content", "POST /v1/grants/completion",
  ]

  @Test(
    "an agent that starts again goes on where it was, and fetches no verified piece twice",
    arguments: stations)
  func restarts(_ station: String) async throws {
    let package = try FixturePackage.file(length: 5 * Self.mebibyte + 77)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    let down = Problem(.unavailable)
    try await server.open { url in
      if station == "GET /v1/content" {
        server.change {
          $0.contentFaults =
            [.cut(after: 3 * Self.mebibyte + 9)] + Array(repeating: .problem(.unavailable), count: 1000)
        }
      } else {
        server.change { $0.refusals[station] = [down] }
      }
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        let waiting = try await agent.download(.waiting, "server-unavailable")
        #expect(waiting.error?.code == .unavailable)
        if station == "GET /v1/content" { #expect(waiting.bytesVerified == .mebibytes(3)) }
      }
      // No agent runs any more; what was reached is on disk alone.
      server.change { state in
        state.refusals = [:]
        state.contentFaults = []
      }
      try await harness.run(server: url) { agent in _ = try await agent.transaction("finished") }
    }
    #expect(try harness.placed(package))
    #expect(server.timesSent(package).allSatisfy { $0 == 1 })
    #expect(server.state.current.reports.count == 1)
  }

  @Test("a death between placing and saying so is noticed at the next start") func deathAfterRename()
    async throws
  {
    let package = try FixturePackage.file(length: 2 * Self.mebibyte)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      server.change { $0.refusals["POST /v1/grants/completion"] = [Problem(.unavailable)] }
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        _ = try await agent.download(.waiting, "server-unavailable")
      }
      // The files are placed; put the records back to what they were before the rename.
      let database = try AgentDatabase(path: harness.directory.path("state/agent.sqlite"))
      var record = try #require(try database.allDownloads().first)
      record.machine = DownloadMachine(phase: .content)
      record.placedAt = nil
      record.contentPath = nil
      try database.save(record)
      var job = ContentJobRecord(
        identifier: .random(), grant: try #require(record.grant), terms: try #require(record.terms))
      job.machine = ContentJobMachine(phase: .place, state: .active, reason: .placing)
      try database.save(job)
      // The files in the job's folder are removed only once it has finished.
      try FileSystem.createDirectories(harness.directory.path("state/downloads/\(job.identifier)"))
      try DurableFile.write(
        package.manifest.canonicalBytes().span,
        to: harness.directory.path("state/downloads/\(job.identifier)/manifest"))
      for item in try database.libraryRecords() { try database.remove(item) }
      database.close()
      server.change { $0.refusals = [:] }
      try await harness.run(server: url) { agent in
        _ = try await agent.transaction("finished")
        #expect(try await harness.get("/v1/library", as: LibraryResponse.self).items.count == 1)
      }
    }
    #expect(try harness.placed(package))
    #expect(server.timesSent(package).allSatisfy { $0 == 1 })
  }

  @Test("content that vanished before it was reported is fetched again") func contentLost() async throws {
    let package = try FixturePackage.file(length: 2 * Self.mebibyte)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      server.change { $0.refusals["POST /v1/grants/completion"] = [Problem(.unavailable)] }
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        _ = try await agent.download(.waiting, "server-unavailable")
      }
      try FileSystem.removeRecursively("\(harness.library)/\(FixturePackage.product)")
      server.change { $0.refusals = [:] }
      try await harness.run(server: url) { agent in _ = try await agent.transaction("finished") }
    }
    #expect(try harness.placed(package))
  }

  @Test("a ticket that expires in the middle is renewed without losing a byte") func expiredTicket()
    async throws
  {
    let package = try FixturePackage.file(length: 4 * Self.mebibyte)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.cut(after: 2 * Self.mebibyte), .problem(.ticketExpired)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        _ = try await agent.transaction("finished")
      }
    }
    #expect(try harness.placed(package))
    #expect(server.timesSent(package).allSatisfy { $0 == 1 })
    #expect(server.state.current.asked.count { $0 == "POST /v1/grants/tickets" } == 1)
    #expect(server.state.current.asked.count { $0 == "POST /v1/grants" } == 1)
  }

  @Test(
    "a device whose clock is wrong by a day, or by years, corrects itself by the server's after one refusal",
    arguments: [.seconds(86_400), .seconds(-86_400), .seconds(10 * 365 * 86_400)] as [Duration])
  func wrongClock(offset: Duration) async throws {
    let package = try FixturePackage.file(length: 4 * Self.mebibyte)
    let server = FakeServer([package])
    server.change {
      $0.clockOffset = offset
      $0.isStoreUp = false
      $0.contentFaults = [
        .cut(after: 2 * Self.mebibyte), .problem(.ticketExpired), .cut(after: Self.mebibyte),
        .problem(.ticketExpired),
      ]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        // Its state is asked for until the store has answered.
        _ = try await agent.transaction("waiting-for-server")
        server.change { $0.isStoreUp = true }
        _ = try await agent.transaction("finished")
      }
    }
    #expect(try harness.placed(package))
    #expect(server.state.current.wrongTimes == 1)
    #expect(server.state.current.asked.count { $0 == "POST /v1/grants" } == 1)
  }

  @Test("what a device has learned of the server's clock outlives the agent") func keptClock() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change {
      $0.clockOffset = .seconds(86_400)
      $0.isStoreUp = false
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in
        _ = try await agent.transaction("waiting-for-server")
        while server.state.current.wrongTimes == 0 { await Task.yield() }
        while try await agent.transactions.database.serverClockOffset() == .zero { await Task.yield() }
      }
      server.change { $0.isStoreUp = true }
      try await harness.run(server: url) { agent in try await agent.finished(["2000000000000001"]) }
    }
    #expect(server.state.current.wrongTimes == 1)
  }

  @Test("a store that cannot be asked is waited for; a refusal stays until the user asks again")
  func refusals()
    async throws
  {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change {
      $0.refusals["POST /v1/grants"] = [
        Problem(.verificationUndetermined, retryAfterSeconds: 1), Problem(.purchaseRequired),
      ]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        let undetermined = try await agent.download(.waiting, "verification-undetermined")
        #expect(undetermined.error?.code == .verificationUndetermined)
        // Seen in the download itself: a new observer is not told of what is over.
        _ = try await agent.transaction("delivering", "download-failed")
        let failed = try #require(try await harness.downloads().first)
        #expect(failed.state == .failed && failed.reason == "purchase-required")
        #expect(failed.error?.code == .purchaseRequired)
        server.change { $0.refusals = [:] }
        #expect(try await harness.ask("POST", "/v1/downloads/\(failed.id)/resume").status == 200)
        _ = try await agent.transaction("finished")
      }
    }
  }

  @Test(
    "a proxy's page with Retry-After is obeyed: no request comes earlier, and none is repeated more than needed",
    arguments: [429, 503])
  func proxyPages(status: Int) async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let steps = [
      "POST /v1/entitlements", "POST /v1/grants", "GET /v1/content/manifest", "GET /v1/content",
      "POST /v1/grants/completion",
    ]
    server.change { state in
      for step in steps + ["GET /store/v1/transactions"] {
        state.pages[step] = [FakeServer.Page(status: status, retryAfter: 1)]
      }
    }
    let harness = try AgentHarness()
    let quick = Backoff(initial: .milliseconds(20), factor: 1, cap: .milliseconds(20), jitter: 0)
    try await server.open { url in
      try await harness.run(server: url, retry: RetryPolicy(backoff: quick)) { agent in
        try server.queuePurchase()
        _ = try await agent.transaction("finished")
      }
    }
    #expect(try harness.placed(package))
    let polls = try #require(server.state.current.arrivals["GET /store/v1/transactions"])
    #expect(polls.count > 1 && polls[1] - polls[0] >= .seconds(1))
    for step in steps {
      let arrivals = try #require(server.state.current.arrivals[step])
      try #require(arrivals.count == 2, "\(step) was asked \(arrivals.count) times")
      #expect(arrivals[1] - arrivals[0] >= .seconds(1), "\(step)")
    }
  }

  @Test("a completion that the server refuses leaves the transaction unfinished") func mismatch() async throws
  {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change {
      $0.refusals["POST /v1/grants/completion"] = [Problem(.completionMismatch, missingStep: .delivery)]
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        _ = try await agent.transaction("delivering", "download-failed")
        let failed = try #require(try await harness.downloads().first)
        #expect(failed.state == .failed && failed.error?.missingStep == "delivery")
      }
    }
    #expect(server.state.current.transactions.allSatisfy { $0.finishedDate == nil })
  }

  @Test("what is bought before it is released is fetched once it is") func notReleased() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    server.change { $0.isReleased = false }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        _ = try await agent.transaction("planning", "content-not-released")
        server.change { $0.isReleased = true }
        _ = try await agent.transaction("finished")
      }
    }
  }

  @Test("one transaction that pays for three issues ends with the third") func magazine() async throws {
    let package = try (1...3).map {
      try FixturePackage.file(length: 1000 * $0, product: "mag.issue\($0)", seed: UInt64($0))
    }
    let server = FakeServer(package)
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, maximumDownloads: 1) { agent in
        try server.queuePurchase("mag")
        let end = try await agent.transaction("finished")
        #expect(end.downloads.count == 3)
        #expect(
          try await harness.downloads().map(\.product.description).sorted() == [
            "mag.issue1", "mag.issue2", "mag.issue3",
          ])
      }
    }
    #expect(server.state.current.reports.count == 3)
    for issue in package { #expect(try harness.placed(issue)) }
  }

  @Test("a second purchase of what is here needs no bytes, and is finished all the same")
  func secondPurchase() async throws {
    let package = try FixturePackage.file(length: 2 * Self.mebibyte)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase(transaction: "2000000000000001")
        _ = try await agent.transaction("finished")
        try server.queuePurchase(transaction: "2000000000000002")
        let end = try await agent.event { event in
          guard case .transaction(let status) = event else { return false }
          return status.id.description == "2000000000000002" && status.step == "finished"
        }
        #expect(end.name == "transaction")
      }
    }
    #expect(server.timesSent(package).allSatisfy { $0 == 1 })
    #expect(server.state.current.reports.count == 2)
  }

  @Test("of two products with one package, the bytes are fetched once") func sharedPackage() async throws {
    let bytes = FixturePackage.noise(3 * Self.mebibyte, seed: 5)
    let package = try ["com.example.a", "com.example.b"].map { try FixturePackage.file(bytes, product: $0) }
    let server = FakeServer(package)
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase("com.example.a", transaction: "2000000000000001")
        try server.queuePurchase("com.example.b", transaction: "2000000000000002")
        for transaction in ["2000000000000001", "2000000000000002"] {
          _ = try await agent.transaction(transaction, isAt: "finished")
        }
      }
    }
    for product in package { #expect(try harness.placed(product)) }
    #expect(server.timesSent(package[0]).allSatisfy { $0 == 1 })
    #expect(server.state.current.reports.count == 2)
  }

  @Test("a server that is down is waited for") func serverDown() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      let unused = try await FakeServer().open { $0 }
      try server.queuePurchase()
      try await harness.run(server: unused, store: url) { agent in
        _ = try await agent.transaction("planning", "server-unreachable")
        let status = try await harness.get("/v1/status", as: AgentStatus.self)
        #expect(status.server.reachable == false && status.store.reachable == true)
        #expect(status.unfinishedTransactions == 1)
      }
      try await harness.run(server: url) { agent in _ = try await agent.transaction("finished") }
    }
  }
}
