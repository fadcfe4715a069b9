import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Crypto
import PackageTesting
import PullboxAPI
import PullboxTesting
import Testing

@testable import DownloadAgent

/// The whole agent against a server whose package are signed.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PublisherSignatureTests {
  private static func key(_ byte: UInt8) throws -> SigningKey {
    try #require(SigningKey(seed: [UInt8](repeating: byte, count: 32)))
  }

  private static func id(_ key: SigningKey) -> PublisherKeyIdentifier {
    key.verificationKey.publisherKeyIdentifier
  }

  /// How a server that sells `package` as `prepare` says fares with an agent.
  private func outcome(
    trusting keys: [PublisherKeyIdentifier]? = nil, _ prepare: @Sendable (inout FakeServer.State) -> Void
  ) async throws -> DownloadStatus {
    let server = FakeServer([try FixturePackage.file(length: 1000)])
    server.change(prepare)
    let harness = try AgentHarness()
    return try await server.open { url in
      try await harness.run(server: url, trusting: keys) { agent in
        try server.queuePurchase()
        return try await agent.ended()
      }
    }
  }

  private func expectRefusal(
    _ status: DownloadStatus, _ code: String, _ location: SourceLocation = #_sourceLocation
  ) {
    #expect(status.state == .failed && status.reason == "publisher-signature", sourceLocation: location)
    #expect(status.error?.faults?.map(\.code) == [code], sourceLocation: location)
    #expect(status.bytesReceived == .zero, sourceLocation: location)
  }

  @Test("content signed by a key that the product names is placed") func signed() async throws {
    let key = try Self.key(1)
    let status = try await outcome { state in
      state.publisherKeys = [Self.id(key)]
      state.signingKeys = [key]
    }
    #expect(status.state == .finished)
  }

  @Test("content without its publisher's signature is not fetched") func unsigned() async throws {
    let key = try Self.key(1)
    expectRefusal(try await outcome { $0.publisherKeys = [Self.id(key)] }, "signature-missing")
  }

  @Test("a signature with one changed bit is refused", arguments: [0, 100, 511]) func flipped(_ bit: Int)
    async throws
  {
    let key = try Self.key(1)
    let status = try await outcome { state in
      state.publisherKeys = [Self.id(key)]
      state.signingKeys = [key]
      state.spoilSignature = { signature in
        guard var bytes = Base64.decode(signature.value, .url) else { return }
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        signature.value = Base64.encode(bytes, .url)
      }
    }
    expectRefusal(status, "signature-invalid")
  }

  @Test("a key that the product does not name is refused") func foreign() async throws {
    let (key, other) = (try Self.key(1), try Self.key(2))
    let status = try await outcome { state in
      state.publisherKeys = [Self.id(key)]
      state.signingKeys = [other]
    }
    expectRefusal(status, "signature-key-unknown")
  }

  @Test("an agent told whom to trust takes nothing else") func trusted() async throws {
    let (key, other) = (try Self.key(1), try Self.key(2))
    let refused = try await outcome(trusting: [Self.id(other)]) { state in
      state.publisherKeys = [Self.id(key)]
      state.signingKeys = [key]
    }
    expectRefusal(refused, "signature-key-untrusted")
    expectRefusal(try await outcome(trusting: [Self.id(other)]) { _ in }, "signature-missing")
    #expect(try await outcome(trusting: [Self.id(key)]) { $0.signingKeys = [key] }.state == .finished)
  }

  @Test("keys that signed one version are needed for the next, and may hand over to new ones")
  func pinned() async throws {
    let (old, new) = (try Self.key(1), try Self.key(2))
    let harness = try AgentHarness()
    /// Sells a version signed by `keys`, all of which the product names.
    func queuePurchase(_ version: String, signedBy keys: [SigningKey], _ trust: [SigningKey] = [])
      async throws
      -> DownloadStatus
    {
      let package = try FixturePackage.file(
        length: 1000, version: version, seed: UInt64(version.prefix(1)) ?? 0)
      let server = FakeServer([package])
      server.change { state in
        state.publisherKeys = keys.isEmpty ? nil : keys.map(Self.id)
        state.signingKeys = keys
      }
      return try await server.open { url in
        try await harness.run(server: url, trusting: trust.isEmpty ? nil : trust.map(Self.id)) { agent in
          try server.queuePurchase(transaction: "20000000000000" + version.filter { $0 != "." })
          return try await agent.ended(version)
        }
      }
    }
    #expect(try await queuePurchase("1.0", signedBy: [old]).state == .finished)
    expectRefusal(try await queuePurchase("2.0", signedBy: [new]), "signature-key-changed")
    expectRefusal(try await queuePurchase("3.0", signedBy: []), "signature-missing")
    #expect(try await queuePurchase("4.0", signedBy: [old, new]).state == .finished)
    #expect(try await queuePurchase("5.0", signedBy: [new]).state == .finished)
  }
}
