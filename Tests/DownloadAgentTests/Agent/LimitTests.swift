import AgentRecords
import AgentTesting
import Commerce
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

/// The whole agent with limits of rate, time and bytes.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LimitTests {
  private static let other = "com.example.other"
  private let utc = LocalCalendar { _ in 0 }

  private func time(_ text: String) throws -> Timestamp { try #require(Timestamp(rfc3339: text)) }

  @Test("two downloads together take no more than the rate, and another rate counts without another request")
  func rate() async throws {
    let (long, short) = (
      try FixturePackage.file(length: 3 << 20),
      try FixturePackage.file(length: 1 << 20, product: Self.other, seed: 2)
    )
    let server = FakeServer([long, short])
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, configure: { $0.maximumRate = .init(.kibibytes(512)) }) { agent in
        try server.queuePurchase()
        try server.queuePurchase(Self.other, transaction: "2000000000000002")
        let began = SystemMonotonicClock().now()
        let status = try await agent.firstDownload { $0.bytesReceived >= .kibibytes(256) }
        #expect(
          try await harness.get("/v1/status", as: AgentStatus.self).network?.maximumRate == .kibibytes(512))
        let both = try await harness.downloads().map(\.bytesReceived).reduce(.zero, +)
        let passed = (SystemMonotonicClock().now() - began).inSeconds
        #expect(Double(both.rawValue) <= (passed * 1.1 + 0.2) * 512 * 1024)
        try await agent.downloads.setLimits(DownloadLimits())
        _ = try await agent.firstDownload { $0.id == status.id && $0.state == .finished }
        _ = try await agent.firstDownload { $0.id != status.id && $0.state == .finished }
        #expect(server.state.current.sent.count == 2, "each came over one answer")
      }
    }
    #expect(try harness.placed(long) && harness.placed(short))
  }

  @Test("a window that ends stops a download, which loses no byte and goes on when the next one begins")
  func window() async throws {
    let package = try FixturePackage.file(length: 3 << 20)
    let server = FakeServer([package])
    server.change { $0.contentFaults = [.stall(after: 1_500_000)] }
    let harness = try AgentHarness()
    let clock = ManualWallClock(try time("2026-11-21T00:59:00Z"))
    try await server.open { [utc] url in
      try await harness.run(
        server: url, wallClock: clock, calendar: utc, configure: { $0.windows = ["01:00-06:00"] }
      ) { agent in
        try server.queuePurchase()
        let early = try await agent.download(.waiting, "outside-window")
        #expect(early.notBefore == Timestamp(rfc3339: "2026-11-21T01:00:00Z") && early.bytesReceived == .zero)
        clock.advance(by: .seconds(60))
        await agent.downloads.lookAtClock()
        _ = try await agent.firstDownload { $0.bytesReceived >= ByteCount(1_500_000) }
        let window = try await harness.get("/v1/status", as: AgentStatus.self).network?.window
        #expect(window?.isOpen == true && window?.until == Timestamp(rfc3339: "2026-11-21T06:00:00Z"))
        clock.advance(by: .seconds(5 * 3600))
        await agent.downloads.lookAtClock()
        let late = try await agent.download(.waiting, "outside-window")
        #expect(late.notBefore == Timestamp(rfc3339: "2026-11-22T01:00:00Z"))
        clock.advance(by: .seconds(19 * 3600))
        await agent.downloads.lookAtClock()
        let ended = try await agent.ended()
        #expect(ended.state == .finished && ended.bytesReceived == package.manifest.length)
      }
    }
    #expect(try harness.placed(package))
  }

  @Test("the agent wakes up by itself when a window begins") func waking() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    try await server.open { url in
      // By the device's zone it is the last second of a minute; with the next one the window begins.
      let start = SystemWallClock().now()
      let shift = (start.secondsSinceEpoch + 1) % 60
      let calendar = LocalCalendar { _ in Int(60 - shift) }
      let next = calendar.local(start + .seconds(1))
      let end = calendar.local(start + .seconds(7200))
      func clock(_ date: UTCDate) -> String {
        let (hour, minute) = ("0\(date.hour)".suffix(2), "0\(date.minute)".suffix(2))
        return "\(hour):\(minute)"
      }
      let window = "\(clock(next))-\(clock(end))"
      try await harness.run(server: url, calendar: calendar, configure: { $0.windows = [window] }) { agent in
        try server.queuePurchase()
        #expect(try await agent.ended().state == .finished)
      }
    }
  }

  @Test("the page of metrics has the limits that are set, and what came of the budget")
  func metrics() async throws {
    let package = try FixturePackage.file(length: 1000)
    let server = FakeServer([package])
    let clock = ManualWallClock(try time("2026-11-14T12:00:00Z"))
    let harness = try AgentHarness()
    try await server.open { [utc] url in
      try await harness.run(
        server: url, wallClock: clock, calendar: utc, configure: { $0.monthlyBudget = .init(.gibibytes(1)) }
      ) { agent in
        func samples() async throws -> [String: Double] {
          let answer = try await harness.ask("GET", "/metrics")
          return try PrometheusPage(String(decoding: answer.body, as: UTF8.self)).samples
        }
        try server.queuePurchase()
        _ = try await agent.ended()
        let first = try await samples()
        #expect(first["pullbox_agent_budget_bytes"] == 1_073_741_824)
        #expect((first["pullbox_agent_budget_used_bytes"] ?? 0) >= 1000)
        #expect(first["pullbox_agent_rate_limit_bytes_per_second"] == nil)
        #expect(first["pullbox_agent_window_open"] == nil)
        let night = try DownloadWindows(["01:00-06:00"])
        try await agent.downloads.setLimits(DownloadLimits(rate: .kibibytes(512), windows: night))
        let second = try await samples()
        #expect(second["pullbox_agent_rate_limit_bytes_per_second"] == 524_288)
        #expect(second["pullbox_agent_window_open"] == 0)
        #expect(second["pullbox_agent_budget_bytes"] == nil)
      }
    }
  }

  @Test(
    "what a person asks for now passes window and budget, and what the agent wants now by itself does not")
  func person() async throws {
    let package = try FixturePackage.file(length: 3 << 20)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    let clock = ManualWallClock(try time("2026-11-21T12:00:00Z"))
    try await server.open { [utc] url in
      try await harness.run(
        server: url, wallClock: clock, calendar: utc,
        configure: {
          $0.windows = ["01:00-06:00"]
          $0.monthlyBudget = .init(.kibibytes(1))
        }
      ) { agent in
        try server.queuePurchase()
        let waiting = try await agent.download(.waiting, "outside-window")
        let own = try await agent.downloads.change(AgentDownloadChange(urgency: .now), of: waiting.id)
        #expect(own.urgency == .now && own.wantedBy == nil)
        #expect(own.state == .waiting && own.reason == "outside-window")
        let asked = try await harness.ask("PATCH", "/v1/downloads/\(waiting.id)", #"{"urgency":"now"}"#)
        #expect(try APIJSON.decode(DownloadStatus.self, from: asked.body).wantedBy == geteuid())
        let ended = try await agent.ended()
        #expect(ended.state == .finished && ended.wantedBy == geteuid())
        let budget = try await harness.get("/v1/status", as: AgentStatus.self).network?.budget
        #expect(budget.map { $0.used >= package.manifest.length && $0.left == .zero } == true, "it counts")
        let less = try await agent.downloads.change(AgentDownloadChange(urgency: .normal), of: waiting.id)
        #expect(less.wantedBy == nil)
      }
    }
  }

  @Test("a month's budget is kept over restarts, and the next month brings the rest") func budget()
    async throws
  {
    let package = try FixturePackage.file(length: 5 << 20)
    let server = FakeServer([package])
    let harness = try AgentHarness()
    let clock = ManualWallClock(try time("2026-11-14T12:00:00Z"))
    let limit = ByteCount(1_300_000)
    let configure: @Sendable (inout AgentConfiguration) -> Void = {
      $0.monthlyBudget = .init(limit)
      $0.budgetDay = 15
    }
    try await server.open { [utc] url in
      try await harness.run(server: url, wallClock: clock, calendar: utc, configure: configure) { agent in
        try server.queuePurchase()
        let spent = try await agent.download(.waiting, "budget-spent")
        #expect(spent.notBefore == Timestamp(rfc3339: "2026-11-15T00:00:00Z"))
        #expect(spent.bytesReceived <= limit + .kibibytes(16))
        let budget = try await harness.get("/v1/status", as: AgentStatus.self).network?.budget
        #expect(budget?.limit == limit && budget?.left == .zero)
      }
      // A clock that is set back brings nothing.
      clock.set(try time("2026-09-01T00:00:00Z"))
      try await harness.run(server: url, wallClock: clock, calendar: utc, configure: configure) { agent in
        let spent = try await agent.download(.waiting, "budget-spent")
        #expect(spent.bytesReceived <= limit + .kibibytes(16))
        clock.set(try time("2026-11-15T00:00:00Z"))
        await agent.downloads.lookAtClock()
        _ = try await agent.firstDownload { $0.bytesReceived >= limit + .kibibytes(600) }
        let more = try await agent.download(.waiting, "budget-spent")
        // The piece that a stop of the agent cuts comes once more.
        #expect(more.bytesReceived <= limit + limit + .kibibytes(32))
        try await agent.downloads.setLimits(DownloadLimits(budget: .init(limit: .gibibytes(1), day: 15)))
        #expect(try await agent.ended().state == .finished)
      }
    }
    #expect(try harness.placed(package))
  }

  @Test("a budget that a reload brings counts at once, and begins at what was counted before")
  func newBudget()
    async throws
  {
    let (first, second) = (
      try FixturePackage.file(length: 2 << 20),
      try FixturePackage.file(length: 5 << 20, product: Self.other, seed: 2)
    )
    let server = FakeServer([first, second])
    let harness = try AgentHarness()
    let clock = ManualWallClock(try time("2026-11-14T12:00:00Z"))
    let limit = ByteCount(1_300_000)
    let spent: @Sendable (AgentService) async throws -> Void = { agent in
      let status = try await agent.download(.waiting, "budget-spent")
      #expect(status.bytesReceived > .zero && status.bytesReceived <= limit + .kibibytes(16))
      let budget = try await harness.get("/v1/status", as: AgentStatus.self).network?.budget
      #expect(budget?.limit == limit && budget?.left == .zero)
    }
    try await server.open { [utc] url in
      try await harness.run(
        server: url, wallClock: clock, calendar: utc, configure: { $0.monthlyBudget = .init(.gibibytes(1)) }
      ) { agent in
        try server.queuePurchase()
        #expect(try await agent.ended().state == .finished)
      }
      clock.set(try time("2026-12-14T12:00:00Z"))
      try await harness.run(server: url, wallClock: clock, calendar: utc) { agent in
        #expect(try await harness.get("/v1/status", as: AgentStatus.self).network == nil)
        try await agent.downloads.setLimits(DownloadLimits(budget: .init(limit: limit)))
        let budget = try await harness.get("/v1/status", as: AgentStatus.self).network?.budget
        #expect(budget?.used == .zero && budget?.left == limit, "what November used is not December's")
        try server.queuePurchase(Self.other, transaction: "2000000000000002")
        try await spent(agent)
      }
      try await harness.run(
        server: url, wallClock: clock, calendar: utc, configure: { $0.monthlyBudget = .init(limit) }
      ) { agent in
        try await spent(agent)
        try await agent.downloads.setLimits(DownloadLimits(budget: .init(limit: .gibibytes(1))))
        _ = try await agent.firstDownload { $0.product == second.manifest.product && $0.state == .finished }
      }
    }
    #expect(try harness.placed(first) && harness.placed(second))
  }

  @Test(
    "settings that cannot work are named",
    arguments: [
      (["windows": "1:00-2:00"], "windows.0"), (["windows": ""], "windows"), (["rate": "100"], "maximumRate"),
      (["budget": "0"], "monthlyBudget"), (["day": "15"], "budgetDay"),
      (["budget": "5GiB", "day": "32"], "budgetDay"),
    ])
  func faults(settings: [String: String], subject: String) throws {
    var configuration = AgentConfiguration(server: "http://a", store: "http://b", state: "/tmp")
    configuration.windows = settings["windows"].map { $0.isEmpty ? [] : [$0] }
    configuration.maximumRate = settings["rate"].flatMap { ConfigurationSize($0) }
    configuration.monthlyBudget = settings["budget"].flatMap { ConfigurationSize($0) }
    configuration.budgetDay = settings["day"].flatMap { Int($0) }
    let error = #expect(throws: ConfigurationError.self) { _ = try configuration.downloadLimits() }
    #expect(error?.faults.map(\.subject) == [subject])
  }
}
