import AgentTesting
import ContentPackage
import CoreTypes
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@testable import DownloadAgent

/// The whole agent against a server that publishes what later versions write.
@Suite(.serialized, .timeLimit(.minutes(10))) struct LaterManifestTests {
  private func outcome(_ change: (String) -> String) async throws -> DownloadStatus {
    let package = try FixturePackage.file(length: 1000)
    let text = String(decoding: package.manifest.canonicalBytes(), as: UTF8.self)
    let changed = change(text)
    #expect(changed != text)
    let server = FakeServer([package])
    server.change { $0.manifestDocument = Array(changed.utf8) }
    let harness = try AgentHarness()
    return try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        return try await agent.ended()
      }
    }
  }

  @Test("what stands under extensions is ignored, and the content is placed")
  func extensions() async throws {
    let status = try await outcome {
      $0.replacing(",\"files\":", with: ",\"extensions\":{\"com.example.later\":{\"a\":[1,2]}},\"files\":")
    }
    #expect(status.state == .finished)
  }

  @Test(
    "sections under a name that is unknown, as they are to readers from before them, are fetched and placed all"
  )
  func unknownSections() async throws {
    let package = try FixturePackage.inSections(pageLength: 5000)
    let server = FakeServer([package])
    let text = String(decoding: package.manifest.canonicalBytes(), as: UTF8.self)
    #expect(text.contains("\"sections\":{") && text.contains("\"section\":\"hires\""))
    let document = text.replacing("\"sections\":{", with: "\"com.example.parts\":{")
      .replacing("\"section\":\"", with: "\"com.example.part\":\"")
    server.change { $0.manifestDocument = Array(document.utf8) }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url, configure: { $0.sections = ["hires=ask"] }) { agent in
        try server.queuePurchase()
        #expect(try await agent.ended().state == .finished)
        let sections = try await harness.get(
          "/v1/library/\(package.manifest.product)/sections", as: ContentSections.self)
        #expect(sections.sections.isEmpty)
        #expect(try await harness.downloads().count == 1)
      }
    }
    #expect(try harness.placed(package))
  }

  @Test("another format, a feature or a member that is unknown fails the download before a byte is fetched")
  func unknown() async throws {
    let changes: [(String, String)] = [
      ("pullbox-manifest/1", "pullbox-manifest/2"),
      (",\"unpackedLength\"", ",\"undefined\":1,\"unpackedLength\""),
      (",\"unpackedLength\"", ",\"requiredFeatures\":[\"layers\"],\"unpackedLength\""),
    ]
    for (old, new) in changes {
      let status = try await outcome { $0.replacing(old, with: new) }
      #expect(status.state == .failed, "\(new)")
      #expect(status.reason == "integrity", "\(new)")
      #expect(status.bytesReceived == .zero, "\(new)")
    }
  }

  @Test("content that cannot be verified is reported to the server, signed and once")
  func reported() async throws {
    let package = try FixturePackage.file(length: 1000)
    let text = String(decoding: package.manifest.canonicalBytes(), as: UTF8.self)
    let server = FakeServer([package])
    server.change {
      $0.manifestDocument = Array(text.replacing("pullbox-manifest/1", with: "pullbox-manifest/2").utf8)
    }
    let harness = try AgentHarness()
    try await server.open { url in
      try await harness.run(server: url) { agent in
        try server.queuePurchase()
        _ = try await agent.ended()
        while server.state.current.failures.isEmpty { await Task.yield() }
      }
    }
    let expected = VerificationFailure(digest: package.manifest.digest, version: package.manifest.version)
    #expect(server.state.current.failures == [expected])
  }
}
