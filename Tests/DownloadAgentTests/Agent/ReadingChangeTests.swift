import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
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

/// Reading of a download that turns out to bring something else.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ReadingChangeTests {
  /// Takes an answer as it comes.
  private final class Reader: TransferReceiver {
    let hasBegun: AsyncStream<Void>
    private let begin: AsyncStream<Void>.Continuation

    init() {
      (hasBegun, begin) = AsyncStream.makeStream()
    }

    func receive(head: ResponseHead) -> HeadDecision { .accept }

    func receive(_ bytes: Span<UInt8>) -> BodyDecision {
      begin.finish()
      return .consumed
    }
  }

  /// Runs an agent with a download of which two pieces have come, and no more come by themselves.
  private func stalled(
    _ body: @escaping @Sendable (AgentService, AgentHarness, DownloadStatus) async throws -> Void
  ) async throws {
    let server = FakeServer([try FixturePackage.file(length: 6 << 20)])
    server.change { $0.contentFaults = [.stall(after: 2_600_000)] }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        let download = try await agent.firstDownload { $0.bytesVerified >= .mebibytes(2) }
        try await body(agent, harness, download)
      }
    }
  }

  @Test("an answer ends short where what is staged is opened anew under it, as when sections are added")
  func openedAnew() async throws {
    try await stalled { agent, harness, download in
      let files = "/v1/downloads/\(download.id)/files"
      let name = try #require(try await harness.get(files, as: ContentFiles.self).files.first?.path)
      let reader = Reader()
      var request = ClientRequest(url: "http://agent\(files)/\(name)")
      request.unixSocketPath = harness.directory.path("agent.sock")
      let answer = Task { [request] in _ = try await harness.client.stream(request, to: reader) }
      for await _ in reader.hasBegun {}
      await agent.downloads.openStagedAnew()
      await #expect(throws: HTTPClientError.self) { try await answer.value }
    }
  }

  @Test("who asks for a version that is not on its way makes no download more urgent") func otherVersion()
    async throws
  {
    try await stalled { agent, harness, download in
      let files = "/v1/library/\(download.product)/files"
      let name = try #require(try await harness.get(files, as: ContentFiles.self).files.first?.path)
      let first = [("Range", "bytes=0-99")]
      let other = try await harness.ask("GET", "\(files)/\(name)?version=9.9", headers: first)
      #expect(other.status == 404)
      let status = try await agent.downloads.status(download.id)
      #expect(status.urgency == download.urgency && status.urgency != .now)
      let page = try await harness.ask("GET", "\(files)/\(name)?version=1.0", headers: first)
      #expect(page.status == 206)
      #expect(try await agent.downloads.status(download.id).urgency == .now)
    }
  }
}

extension DownloadManager {
  /// Attaches other extents, as a session does that takes the place of another one; nothing is there by them.
  fileprivate func openStagedAnew() {
    for job in jobs.entries.values {
      guard let extents = job.context.demand.extents else { continue }
      job.context.demand.attach(
        StagedExtents(extents.manifest), at: "/nowhere", operations: SystemFileOperations())
    }
  }
}
