import CoreTypes
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

/// Serialized: each test moves tens of megabytes, and what is measured is bytes, not how well they share a machine.
@Suite("SIGKILL in the middle of a download", .serialized, .timeLimit(.minutes(10)))
struct KillTests {
  private static let product = "com.example.killed"
  private static let pieces = 24
  /// Complete before the kill.
  private static let verifiedPieces = 10
  private static let length = Int64(pieces) * pieceLength - 12_345
  /// Sent by the server for this grant but lost with a connection: socket buffers and the piece at the hold.
  private static let inFlight = ByteCount.mebibytes(6)

  @Test(
    "whatever is killed, the download goes on, fetches no verified piece again, and its transaction is finished",
    arguments: [[Stack.Part.agent], [.server], [.store], [.store, .server, .agent]])
  func resumes(killed: [Stack.Part]) async throws {
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: Self.length, in: stack.directory)
      try await stack.publish(file, as: Self.product)
      stack.serverProxy.hold(at: Int64(Self.verifiedPieces) * pieceLength + 4321)
      _ = try await stack.agent.buy(Self.product)
      let verified = ByteCount(Int64(Self.verifiedPieces) * pieceLength)
      _ = try await stack.agent.download(of: Self.product) { $0.bytesVerified >= verified }

      for part in killed { await stack.kill(part) }
      stack.serverProxy.release()
      for part in killed { try await stack.start(part) }

      let download = try await stack.agent.finishedDownload(of: Self.product)
      #expect(download.state == .finished)
      _ = try await stack.agent.finishedTransaction(of: Self.product)
      #expect(try await stack.unfinishedTransactions().isEmpty)
      #expect(
        try Material.digests(of: try #require(download.contentPath)) == (try Material.digests(of: file)))

      let times = stack.serverProxy.timesForwarded(pieces: Self.pieces)
      #expect(times.prefix(Self.verifiedPieces).allSatisfy { $0 == 1 }, "\(times)")
      let grant = try #require(try await stack.deliveries(of: Self.product).first)
      #expect(grant.state == .finished)
      #expect(grant.bytesDelivered <= grant.length + Self.inFlight)
      // A server that is killed forgets what it counted in its last half second.
      if !killed.contains(.server) { #expect(grant.bytesDelivered >= grant.length) }
    }
  }

  @Test("a folder's verified pieces survive the agent's death as a file's do")
  func folderResumes() async throws {
    try await Stack.with { stack in
      let folder = try await Material.folder(
        "folder", product: Self.product, length: Self.length, images: 60, in: stack.directory)
      try await stack.publishByCommand(folder, as: Self.product)
      stack.serverProxy.hold(at: Int64(Self.verifiedPieces) * pieceLength + 4321)
      _ = try await stack.agent.buy(Self.product)
      let verified = ByteCount(Int64(Self.verifiedPieces) * pieceLength)
      _ = try await stack.agent.download(of: Self.product) { $0.bytesVerified >= verified }
      await stack.kill(.agent)
      stack.serverProxy.release()
      try await stack.start(.agent)

      let download = try await stack.agent.finishedDownload(of: Self.product)
      _ = try await stack.agent.finishedTransaction(of: Self.product)
      var expected = try Material.digests(of: folder)
      expected["product.json5"] = nil
      #expect(try Material.digests(of: try #require(download.contentPath)) == expected)
      let times = stack.serverProxy.timesForwarded(pieces: Self.pieces)
      #expect(times.prefix(Self.verifiedPieces).allSatisfy { $0 == 1 }, "\(times)")
    }
  }
}
