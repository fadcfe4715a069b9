import AgentRecords
import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import PackageTesting
import PullboxAPI
import Testing

@testable import DownloadAgent

/// The whole agent, and the times of the steps behind a transfer that it learns.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PhaseTimeTests {
  @Test("the times of placing and of reporting are measured, and the next start knows them")
  func measured() async throws {
    let package = try FixturePackage.file(length: 5 << 20)
    let harness = try AgentHarness()
    let server = FakeServer([package])
    let times = try await server.open { url in
      let learned = try await harness.run(server: url) { agent in
        #expect(await agent.downloads.phaseTimes == PhaseTimes(), "nothing is known before")
        try server.queuePurchase()
        _ = try await agent.ended(package.manifest.version.description)
        return await agent.downloads.phaseTimes
      }
      let known = try await harness.run(server: url) { agent in await agent.downloads.phaseTimes }
      return (learned, known)
    }
    #expect(times.0.placing != nil && times.0.reporting != nil)
    #expect(!times.1.differs(from: times.0) && times.1.placing != nil && times.1.reporting != nil)
  }

  @Test("the time of a report that is under way goes by what reports took before") func report() async throws
  {
    let package = try FixturePackage.file(length: 5 << 20)
    let harness = try AgentHarness()
    let server = FakeServer([package])
    server.change { $0.unreadyReports = [package.manifest.product] }
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try await agent.downloads.database.setPhaseTimes(PhaseTimes(placing: 1e-6, reporting: 40))
      }
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        let status = try await agent.download(.active, "reporting")
        let seconds = try #require(status.timeRemaining)
        #expect(seconds <= 40 && seconds > 0)
        server.change { $0.unreadyReports = [] }
        _ = try await agent.ended()
      }
    }
  }
}
