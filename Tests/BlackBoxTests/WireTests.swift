import CoreTypes
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@Suite("What the network does to a download", .serialized, .timeLimit(.minutes(10)))
struct WireTests {
  private static let product = "com.example.wire"

  @Test("a byte that changes on the way costs its piece once more and nothing else")
  func corruptedByte() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: 12 * pieceLength, in: stack.directory)
      try await stack.publish(file, as: Self.product)
      stack.serverProxy.flip(at: 5 * pieceLength + 777)
      _ = try await stack.agent.buy(Self.product)
      let download = try await stack.agent.finishedDownload(of: Self.product)
      #expect(download.state == .finished)
      _ = try await stack.agent.finishedTransaction(of: Self.product)
      #expect(
        try Material.digests(of: try #require(download.contentPath)) == (try Material.digests(of: file)))
      var expected = [Int](repeating: 1, count: 12)
      expected[5] = 2
      #expect(stack.serverProxy.timesForwarded(pieces: 12) == expected)
    }
  }

  @Test("a ticket that expires in the middle of a download is renewed, and no byte is lost")
  func expiringTicket() async throws {
    var options = Stack.Options()
    options.ticketLifetime = "1s"
    try await Stack.with(options) { stack in
      let file = try await Material.file("file.cbz", length: 12 * pieceLength, in: stack.directory)
      try await stack.publish(file, as: Self.product)
      stack.serverProxy.hold(at: 6 * pieceLength)
      stack.serverProxy.cut(at: 6 * pieceLength + 100)
      _ = try await stack.agent.buy(Self.product)
      await stack.serverProxy.waitUntilHeld()
      // A ticket issued now expires after the agent's.
      let device = "device-beside-the-agent"
      let grant: GrantResponse = try await stack.askForGrant(
        of: Self.product, receipt: try await stack.receipt(device: device), device: device
      ).decoded()
      try await eventually {
        let answer = try await stack.server.get(
          "\(grant.download.contentURL)?ticket=\(grant.download.ticket)", headers: [("Range", "bytes=0-0")])
        return answer.problem?.code == .ticketExpired
      }
      stack.serverProxy.release()
      let download = try await stack.agent.finishedDownload(of: Self.product)
      #expect(download.state == .finished)
      _ = try await stack.agent.finishedTransaction(of: Self.product)
      #expect(
        try Material.digests(of: try #require(download.contentPath)) == (try Material.digests(of: file)))
      let times = stack.serverProxy.timesForwarded(pieces: 12)
      #expect(times[1..<6].allSatisfy { $0 == 1 }, "\(times)")
    }
  }

  @Test("a connection that is cut is taken up again at the byte where it was cut, in the middle of a piece")
  func cutConnection() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: 9 * pieceLength, in: stack.directory)
      try await stack.publish(file, as: Self.product)
      stack.serverProxy.cut(at: 2 * pieceLength + 5)
      stack.serverProxy.cut(at: 7 * pieceLength + 500_000)
      _ = try await stack.agent.buy(Self.product)
      let download = try await stack.agent.finishedDownload(of: Self.product)
      #expect(download.state == .finished)
      #expect(
        try Material.digests(of: try #require(download.contentPath)) == (try Material.digests(of: file)))
      #expect(stack.serverProxy.timesForwarded(pieces: 9) == Array(repeating: 1, count: 9))
    }
  }
}
