import Commerce
import ContentPackage
import CoreTypes
import Crypto
import HTTPClient
import PullboxAPI
import PullboxTesting
import Testing

@testable import ContentLibrary
@testable import DownloadAgent

@Suite("A manifest over connections that break") struct ManifestResumeTests {
  @Test("it is gone on with where it was cut, so that it ends, and no byte of it comes twice (D12)")
  func cuts() async throws {
    let harness = try AgentHarness()
    let package = try FixturePackage.folder()
    let length = package.manifest.canonicalBytes().count
    let server = FakeServer([package])
    server.change { $0.manifestCut = length / 5 }
    try await server.open { url in
      try server.queuePurchase()
      try await harness.run(server: url) { agent in try await agent.finished(["2000000000000001"]) }
    }
    let sent = server.state.current.manifestsSent
    #expect(sent.count >= 5 && sent.first?.lowerBound == 0 && sent.last?.upperBound == length)
    #expect(zip(sent, sent.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
    #expect(try harness.placed(package))
  }

  private func range(_ text: String) -> ResponseFields {
    ResponseFields([.init(name: "Content-Range", value: text)])
  }

  @Test("what came of another manifest, and an answer from elsewhere, are no part of it")
  func others() {
    let partial = PartialManifest()
    partial.keep([1, 2, 3], of: .of([9]))
    #expect(partial.remove(of: .of([8])).isEmpty)
    #expect(partial.remove(of: .of([9])) == [1, 2, 3])
    #expect(partial.remove(of: .of([9])).isEmpty)
    let receiver = ManifestReceiver(known: [1, 2, 3], limit: 5)
    #expect(receiver.receive(head: .init(status: 206, headers: range("bytes 2-4/5"))) == .refuse)
    #expect(receiver.receive(head: .init(status: 206, headers: range("bytes 3-4/5"))) == .accept)
    let rest: [UInt8] = [4, 5]
    #expect(receiver.receive(rest.span) == .consumed && receiver.bytes == [1, 2, 3, 4, 5])
    #expect(receiver.receive(rest.span) == .stop)
    #expect(receiver.receive(head: .init(status: 200)) == .accept && receiver.bytes.isEmpty)
  }
}
