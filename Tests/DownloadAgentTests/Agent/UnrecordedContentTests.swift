import AgentTesting
import ContentPackage
import CoreTypes
import Files
import Glibc
import HTTPClient
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords

/// Content lies in the library before it has a record. A job that ends between the two and is given up leaves nothing.
@Suite(.serialized, .timeLimit(.minutes(10))) struct UnrecordedContentTests {
  @Test(
    "a download that is cancelled after its content was placed and before that was recorded leaves none of it"
  )
  func cancelled() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.folder()
    let server = FakeServer([package])
    let root = "\(harness.library)/\(package.manifest.product)/\(package.manifest.version)"
    try server.queuePurchase()
    // From the moment in which the content has its name nothing can be read any more, so that it gets no record.
    let isBroken = Locked(true)
    harness.operations.answer { call, name in
      guard isBroken.current, call == .status || call == .open,
        (try? FileSystem.status(of: root)).flatMap({ $0 }) != nil
      else { return nil }
      return EIO
    }
    let hour = Backoff(initial: .seconds(3600), factor: 1, cap: .seconds(3600), jitter: 0)
    let retry = RetryPolicy(backoff: hour, longestRequestedDelay: .seconds(3600), requestedJitter: 0)
    try await server.open { url in
      try await harness.run(server: url, retry: retry) { agent in
        let waiting = try await agent.download(.waiting, "storage-failure")
        #expect(try FileSystem.status(of: root) != nil)
        isBroken.withLock { $0 = false }
        #expect(try await harness.ask("POST", "/v1/downloads/\(waiting.id)/cancel").status == 200)
        _ = try await agent.download(.cancelled)
      }
      try await harness.run(server: url) { _ in
        let items = try await harness.get("/v1/library", as: LibraryResponse.self).items
        #expect(items.isEmpty)
      }
    }
    #expect(try FileSystem.status(of: root) == nil)
    #expect(try FileSystem.status(of: FileSystem.parent(of: root)) == nil)
    #expect(try FileSystem.list("\(harness.library)/.staging").isEmpty)
    #expect(try FileSystem.list("\(harness.library)/.trash").isEmpty)
  }
}
