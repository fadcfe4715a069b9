import AgentRecords
import AgentTesting
import Commerce
import ContentLibrary
import ContentPackage
import CoreTypes
import Glibc
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Testing

@testable import DownloadAgent

/// The whole agent on a machine whose conditions change.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ConditionTests {
  /// Conditions settle at once, so that many of them fit into a test.
  private static let quick: ConditionLedger.Pace = {
    var pace = ConditionLedger.Pace()
    (pace.shortestHold, pace.quiet) = (.zero, .zero)
    return pace
  }()
  private static let all: @Sendable (inout AgentConfiguration) -> Void = { $0.meteredLimit = .init(.zero) }

  private static func tell(
    _ agent: AgentService, _ change: (inout MachineObservation) -> Void
  ) async {
    await agent.conditions.note(MachineObservation(change), from: .networkManager)
  }

  private static func metered(_ agent: AgentService, _ isMetered: Bool) async {
    await tell(agent) {
      $0.way = .open
      $0.isMetered = isMetered
      $0.device = "wwan0"
    }
  }

  @Test("on a metered way a download waits, says who tells it, and goes on at its byte") func metered()
    async throws
  {
    let package = try FixturePackage.file(length: 3 << 20)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 1_500_000)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, sources: [.networkManager], configure: Self.all) { agent in
        await Self.metered(agent, false)
        try server.queuePurchase()
        _ = try await agent.firstDownload { $0.bytesReceived >= ByteCount(1_500_000) }
        await Self.metered(agent, true)
        let waiting = try await agent.download(.waiting, "metered")
        #expect(waiting.condition?.name == .metered && waiting.condition?.source == "NetworkManager")
        #expect(waiting.condition?.device == "wwan0" && waiting.condition?.since != nil)
        let told = try await harness.get("/v1/conditions", as: ConditionsResponse.self)
        let condition = try #require(told.conditions.first { $0.name == .metered })
        #expect(condition.state == .yes && condition.holds == 1 && condition.rule == .wait)
        #expect(told.sources.map(\.name) == ["NetworkManager"] && told.sources[0].state == .speaks)
        #expect(told.conditions.first { $0.name == .batteryLow }?.state == .unknown)
        let status = try await harness.get("/v1/status", as: AgentStatus.self)
        #expect(status.conditions?.map(\.name) == [.metered])
        await Self.metered(agent, false)
        let finished = try await agent.ended()
        #expect(finished.state == .finished && finished.bytesReceived == package.manifest.length)
      }
    }
    #expect(try harness.placed(package))
  }

  @Test("on a busy machine what goes on stands back with its connections, unless a person wants it now")
  func busy() async throws {
    let package = try FixturePackage.file(length: 3 << 20)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 1_500_000)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, sources: [.networkManager], configure: Self.all) { agent in
        func isYielding() async -> Bool? {
          await agent.downloads.jobs.entries.values.first?.context.progress.isYielding
        }
        try server.queuePurchase()
        let active = try await agent.firstDownload { $0.bytesReceived >= ByteCount(1_500_000) }
        #expect(await isYielding() == false)
        await Self.tell(agent) { $0.isBusy = true }
        while await isYielding() != true { await Task.yield() }
        _ = try await harness.ask("PATCH", "/v1/downloads/\(active.id)", #"{"urgency":"now"}"#)
        while await isYielding() != false { await Task.yield() }
      }
    }
  }

  @Test("what a person wants now, or has pass the condition, goes over a metered way") func persons()
    async throws
  {
    let (first, second) = (
      try FixturePackage.file(length: 1 << 20),
      try FixturePackage.file(length: 1 << 20, product: "com.example.other", seed: 2)
    )
    let server = FakeServer([first, second])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, sources: [.networkManager], configure: Self.all) { agent in
        await Self.metered(agent, true)
        try server.queuePurchase()
        let one = try await agent.download(.waiting, "metered")
        #expect(one.bytesReceived == .zero)
        let refused = try await harness.ask("PATCH", "/v1/downloads/\(one.id)", #"{"ignore":["sleep"]}"#)
        #expect(refused.status == 400)
        let asked = try await harness.ask("PATCH", "/v1/downloads/\(one.id)", #"{"ignore":["metered"]}"#)
        #expect(
          try APIJSON.decode(DownloadStatus.self, from: asked.body).ignored == [
            IgnoredCondition(name: .metered, by: geteuid())
          ])
        _ = try await agent.firstDownload { $0.id == one.id && $0.state == .finished }
        try server.queuePurchase("com.example.other", transaction: "2000000000000002")
        let two = try await agent.firstDownload { $0.id != one.id && $0.reason == "metered" }
        _ = try await harness.ask("PATCH", "/v1/downloads/\(two.id)", #"{"urgency":"now"}"#)
        _ = try await agent.firstDownload { $0.id == two.id && $0.state == .finished }
      }
    }
  }

  @Test("a purchase says which conditions its downloads pass, also after a restart") func purchase()
    async throws
  {
    let package = try FixturePackage.file(length: 1 << 20)
    let server = FakeServer([package])
    server.change { $0.isReleased = false }
    let harness = try AgentHarness()
    try await server.open { url in
      let product = package.manifest.product
      try await harness.run(server: url, sources: [.networkManager], configure: Self.all) { agent in
        await Self.metered(agent, true)
        let body = #"{"product":"\#(product)","ignore":["metered"]}"#
        let answer = try await harness.ask("POST", "/v1/purchases", body)
        #expect(answer.status == 201)
      }
      server.change { $0.isReleased = true }
      try await harness.run(server: url, sources: [.networkManager], configure: Self.all) { agent in
        await Self.metered(agent, true)
        let ended = try await agent.ended()
        #expect(ended.state == .finished)
        #expect(ended.ignored == [IgnoredCondition(name: .metered, by: geteuid())])
      }
    }
  }

  @Test(
    "a restore says which conditions its downloads pass, also that of a product that is under way, and no other"
  )
  func restore() async throws {
    let packages = [
      try FixturePackage.file(length: 1 << 20),
      try FixturePackage.file(length: 1 << 20, product: "com.example.other", seed: 2),
    ]
    let server = FakeServer(packages)
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, sources: [.networkManager], configure: Self.all) { agent in
        await Self.metered(agent, true)
        try server.queuePurchase()
        try server.queuePurchase("com.example.other", transaction: "2000000000000002")
        let product = packages[0].manifest.product
        let waiting = try await agent.firstDownload { $0.product == product && $0.reason == "metered" }
        _ = try await agent.firstDownload { $0.product != product && $0.reason == "metered" }
        let sleep = try await harness.ask("POST", "/v1/restore", #"{"ignore":["sleep"]}"#)
        #expect(sleep.status == 400)
        let body = #"{"products":["\#(product)"],"ignore":["metered"]}"#
        #expect(try await harness.ask("POST", "/v1/restore", body).status == 202)
        let ended = try await agent.firstDownload { $0.id == waiting.id && $0.state == .finished }
        #expect(ended.ignored == [IgnoredCondition(name: .metered, by: geteuid())])
        let other = try #require(try await harness.downloads().first { $0.product != product })
        #expect(other.state == .waiting && other.ignored == nil)
        // What was removed comes back over the metered way.
        #expect(try await harness.ask("DELETE", "/v1/library/\(product)").status == 204)
        #expect(try await harness.ask("POST", "/v1/restore", body).status == 202)
        let again = try await agent.firstDownload {
          $0.product == product && $0.id != waiting.id && $0.state == .finished
        }
        #expect(again.ignored == [IgnoredCondition(name: .metered, by: geteuid())])
      }
    }
  }

  @Test("a metered way that comes and goes at every step costs no byte, none comes twice, and all end")
  func everyStep() async throws {
    let package = try FixturePackage.file(length: 3 << 20)
    for seed in ExhaustiveShare.environment.elements(of: UInt64(0)..<200) {
      let server = FakeServer([package])
      let harness = try AgentHarness()
      try await server.open { url in
        try await harness.run(
          server: url, sources: [.networkManager], pace: Self.quick, configure: Self.all
        ) { agent in
          var generator = SplitMix(seed: seed)
          let observer = try #require(agent.hub.subscribe())
          await Self.metered(agent, false)
          try server.queuePurchase()
          var rest = Int.random(in: 0...6, using: &generator)
          var last: DownloadStatus?
          while last?.state != .finished {
            guard case .event(.download(let status))? = await observer.next() else { continue }
            last = status
            rest -= 1
            guard rest < 0, status.state != .finished else { continue }
            rest = Int.random(in: 1...6, using: &generator)
            await Self.metered(agent, true)
            await agent.downloads.rest()
            let before = try await agent.downloads.status(status.id)
            // A question over the socket is time enough for bytes that still came.
            _ = try await harness.get("/v1/status", as: AgentStatus.self)
            let after = try await agent.downloads.status(status.id)
            #expect(before.bytesReceived == after.bytesReceived, "seed \(seed)")
            await Self.metered(agent, false)
          }
          #expect(last?.bytesReceived == package.manifest.length, "seed \(seed)")
          agent.hub.unsubscribe(observer)
        }
      }
      #expect(try harness.placed(package), "seed \(seed)")
    }
  }

  @Test("once a download waits since a way is metered no byte comes any more") func lastByte() async throws {
    let package = try FixturePackage.file(length: 3 << 20)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    let speed = ByteCount.kibibytes(256)
    try await server.open { url in
      try await harness.run(
        server: url, sources: [.networkManager],
        configure: {
          Self.all(&$0)
          $0.maximumSpeed = speed.rawValue
        }
      ) { agent in
        await Self.metered(agent, false)
        try server.queuePurchase()
        let clock = SystemMonotonicClock()
        for threshold in [ByteCount(1), .kibibytes(512)] {
          let running = try await agent.firstDownload {
            $0.state == .active && $0.bytesReceived >= threshold
          }
          await Self.metered(agent, true)
          _ = try await agent.download(.waiting, "metered")
          // The transfer that was stopped may have had bytes at hand.
          while await agent.downloads.runningSteps > 0 { try await clock.sleep(for: .milliseconds(10)) }
          let atOne = try await agent.downloads.status(running.id)
          #expect(atOne.state == .waiting && atOne.bytesReceived < package.manifest.length)
          // Twice as long as the transfer needs for as many bytes.
          try await clock.sleep(for: .seconds(2))
          #expect(try await agent.downloads.status(running.id).bytesReceived == atOne.bytesReceived)
          await Self.metered(agent, false)
        }
      }
    }
  }

  @Test("without a network no request is made at all, and what waits goes on with the way, not by its delay")
  func offline() async throws {
    let package = try FixturePackage.file(length: 1 << 20)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    let slow = RetryPolicy(
      backoff: Backoff(initial: .seconds(60), factor: 1, cap: .seconds(60), jitter: 0))
    // As where the network has been away for longer than a hold lasts at least.
    var pace = ConditionLedger.Pace()
    pace.shortestHold = .zero
    try await server.open { [pace] url in
      try await harness.run(
        server: url, retry: slow, sources: [.networkManager], needsNetwork: true, pace: pace, runs: false
      ) { agent in
        await Self.tell(agent) { $0.way = NetworkWay.none }
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask { try await agent.run() }
          try server.queuePurchase()
          #expect(await agent.transactions.purchaseIsRefused())
          _ = try await harness.get("/v1/status?ask=true", as: AgentStatus.self)
          #expect(server.state.current.arrivals.isEmpty)
          let clock = SystemMonotonicClock()
          let began = clock.now()
          await Self.tell(agent) { $0.way = .open }
          _ = try await agent.ended()
          // No delay of a retry was waited for.
          let first = try #require(server.state.current.arrivals.values.joined().min())
          #expect(first - began < .seconds(30))
          #expect(clock.now() - began < .seconds(30))
          group.cancelAll()
        }
      }
    }
    #expect(try harness.placed(package))
  }

  @Test(
    "a machine that wrongly says that it has no network, or one that wants a log-in, is found out, and what waits goes on",
    arguments: [NetworkWay.none, .portal])
  func wrong(_ way: NetworkWay) async throws {
    let package = try FixturePackage.file(length: 1 << 20)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(
        server: url, sources: [.networkManager], needsNetwork: true, doubt: .milliseconds(200)
      ) { agent in
        await Self.tell(agent) { $0.way = way }
        try server.queuePurchase()
        #expect(try await agent.ended().state == .finished)
        // What is told of other things does not bring it back.
        await Self.tell(agent) {
          $0.way = way
          $0.isOnBattery = true
        }
        #expect(try await harness.get("/v1/status", as: AgentStatus.self).conditions == nil)
      }
    }
    #expect(try harness.placed(package))
  }

  @Test(
    "a machine that sleeps in any step goes on at its byte, after a minute and after three days",
    arguments: [Duration.seconds(60), .seconds(3 * 86_400)])
  func sleep(_ duration: Duration) async throws {
    let package = try FixturePackage.file(length: 3 << 20)
    for step in 0..<12 {
      let server = FakeServer([package])
      let harness = try AgentHarness()
      let wall = ManualWallClock(try #require(Timestamp(rfc3339: "2026-11-29T12:00:00Z")))
      try await server.open { url in
        try await harness.run(
          server: url, wallClock: wall, sources: [.networkManager, .login], pace: Self.quick
        ) { agent in
          let observer = try #require(agent.hub.subscribe())
          try server.queuePurchase()
          var count = 0
          var last: DownloadStatus?
          while count <= step, last?.state != .finished {
            guard case .event(.download(let status))? = await observer.next() else { continue }
            last = status
            count += 1
          }
          agent.hub.unsubscribe(observer)
          await agent.conditions.note(MachineObservation { $0.isLeaving = true }, from: .login)
          #expect(await agent.downloads.runningTransfers == 0)
          wall.advance(by: duration)
          if duration > .seconds(3600) { server.change { $0.ticket = "ticket-2" } }
          let clock = SystemMonotonicClock()
          let woken = clock.now()
          await agent.conditions.note(MachineObservation { $0.isLeaving = false }, from: .login)
          let ended = try await agent.ended()
          #expect(ended.state == .finished && ended.bytesReceived == package.manifest.length, "step \(step)")
          // No time-out of a connection that is dead was waited for.
          #expect(clock.now() - woken < .seconds(15), "step \(step)")
        }
      }
      #expect(try harness.placed(package), "step \(step)")
    }
  }

  @Test("a machine that tells nothing is as before, and the log has one line of it") func nothing()
    async throws
  {
    let package = try FixturePackage.file(length: 1 << 20)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        #expect(try await agent.ended().state == .finished)
        let told = try await harness.get("/v1/conditions", as: ConditionsResponse.self)
        #expect(told.conditions.allSatisfy { $0.state == .unknown && $0.holds == 0 } && told.sources.isEmpty)
        #expect(try await harness.get("/v1/status", as: AgentStatus.self).conditions == nil)
      }
    }
  }

  @Test("other rules count at once") func rules() async throws {
    let package = try FixturePackage.file(length: 1 << 20)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, sources: [.networkManager], configure: Self.all) { agent in
        await Self.metered(agent, true)
        try server.queuePurchase()
        _ = try await agent.download(.waiting, "metered")
        var policy = MachinePolicy()
        policy.metered = .ignore
        await agent.conditions.setPolicy(policy)
        #expect(try await agent.ended().state == .finished)
      }
    }
  }
}

extension TransactionManager {
  /// Whether a purchase fails since the store cannot be reached.
  fileprivate func purchaseIsRefused() async -> Bool {
    guard let product = ProductIdentifier("com.example.other") else { return false }
    do {
      _ = try await purchase(AgentPurchaseRequest(product: product), key: "key")
      return false
    } catch {
      return (error as? Problem)?.status == 503
    }
  }
}

extension DownloadManager {
  /// Jobs whose step transfers.
  fileprivate var runningTransfers: Int { jobs.entries.values.count { $0.record.machine.isTransferring } }
  /// Steps that are not over, also those that were stopped.
  fileprivate var runningSteps: Int { jobs.entries.values.count { $0.step != nil } }
}
