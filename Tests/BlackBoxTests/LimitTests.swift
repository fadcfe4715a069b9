import CoreTypes
import Files
import Foundation
import Glibc
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

/// The limits of downloads with the built programs, killed and told to read their configuration again.
@Suite("How fast, when, and how much a month", .serialized, .timeLimit(.minutes(10)))
struct LimitTests {
  /// Five hours ahead of UTC, without the tz database.
  private static let zone = ["TZ": "<+05>-5"]
  private static let offset = 5 * 3600

  /// The first moment of the next month there.
  private func nextMonth() throws -> Timestamp {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = try #require(TimeZone(secondsFromGMT: Self.offset))
    let month = try #require(calendar.dateInterval(of: .month, for: Date()))
    return Timestamp(millisecondsSinceEpoch: Int64(month.end.timeIntervalSince1970) * 1000)
  }

  /// `HH:MM` there, so many hours from now.
  private func clock(in hours: Int) -> String {
    let seconds = (Int(Date().timeIntervalSince1970) + Self.offset + hours * 3600) % 86_400
    func two(_ number: Int) -> String { String("0\(number)".suffix(2)) }
    return "\(two(seconds / 3600)):\(two(seconds / 60 % 60))"
  }

  @Test("a month's budget holds through three kills, to a piece each, and a person passes it") func budget()
    async throws
  {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let product = "com.example.budget"
      let file = try await Material.file("issue.cbz", length: 32 << 20, in: stack.directory)
      try await stack.publish(file, as: product)
      let limit = ByteCount.mebibytes(12)
      let environment = Self.zone.merging(
        ["PULLBOX_MONTHLY_BUDGET": "12MiB", "PULLBOX_MAXIMUM_RATE": "6MiB"]) { $1 }
      try await stack.start(.agent, environment: environment)
      #expect(try await stack.agent.buy(product).status == 201)
      for round in 1...3 {
        _ = try await stack.agent.download(of: product) {
          $0.bytesVerified >= .mebibytes(Int64(2 * round)) || $0.reason == "budget-spent"
        }
        await stack.kill(.agent)
        try await stack.start(.agent, environment: environment)
      }
      let spent = try await stack.agent.download(of: product) { $0.reason == "budget-spent" }
      #expect(spent.notBefore == (try nextMonth()))
      // Each kill cuts the piece that comes, and counts up to one that does not.
      #expect(spent.bytesVerified <= limit && spent.bytesVerified >= limit - .mebibytes(7))
      let status = try await stack.agent.web.get("/v1/status").decoded(AgentStatus.self)
      let budget = try #require(status.network?.budget)
      #expect(budget.limit == limit && budget.left == .zero && budget.used >= spent.bytesVerified)
      #expect(budget.used <= limit + .kibibytes(16))
      let path = "/v1/downloads/\(spent.id)"
      let asked = try await stack.agent.web.send(
        "PATCH", path, headers: [("Content-Type", "application/json")],
        body: Array(#"{"urgency": "now"}"#.utf8))
      #expect(asked.status == 200)
      let ended = try await stack.agent.finishedDownload(of: product)
      #expect(ended.state == .finished && ended.wantedBy == geteuid())
      let log = try Executables.text(stack.directory.path("agent.log"))
      #expect(log.contains("a person wants a download now") && log.contains("\"uid\":\"\(geteuid())\""))
    }
  }

  @Test("a reload opens a window and lifts the rate, and the download goes on over its connection")
  func reload() async throws {
    try await Stack.with(Stack.Options(parts: [.store, .server])) { stack in
      let product = "com.example.window"
      let file = try await Material.file("issue.cbz", length: 4 << 20, in: stack.directory)
      try await stack.publish(file, as: product)
      let configuration = stack.directory.path("agent.json5")
      func write(_ text: String) throws {
        try DurableFile.write(Array(text.utf8).span, to: configuration, permissions: 0o600)
      }
      try write("{ windows: ['\(clock(in: 3))-\(clock(in: 6))'], maximumRate: '64KiB' }")
      let environment = Self.zone.merging(["PULLBOX_CONFIG": configuration]) { $1 }
      try await stack.start(.agent, environment: environment)
      #expect(try await stack.agent.buy(product).status == 201)
      let waiting = try await stack.agent.download(of: product) { $0.reason == "outside-window" }
      let opens =
        try #require(waiting.notBefore)
        - Timestamp(millisecondsSinceEpoch: Int64(Date().timeIntervalSince1970) * 1000)
      #expect(opens > .seconds(3 * 3600 - 120) && opens <= .seconds(3 * 3600 + 1))
      try write("{ maximumRate: '64KiB' }")
      try await stack.signal(.agent, SIGHUP)
      _ = try await stack.agent.download(of: product) { $0.bytesReceived > .zero }
      try write("{ windows: ['25:00-26:00'] }")
      try await stack.signal(.agent, SIGHUP)
      try await eventually { try Executables.text(stack.directory.path("agent.log")).contains("windows.0") }
      let network = try await stack.agent.web.get("/v1/status").decoded(AgentStatus.self).network
      #expect(network == NetworkLimits(maximumRate: .kibibytes(64)), "what is wrong changes nothing")
      try write("{}")
      try await stack.signal(.agent, SIGHUP)
      let ended = try await stack.agent.finishedDownload(of: product)
      #expect(ended.state == .finished && ended.bytesReceived == ended.bytesTotal)
    }
  }
}
