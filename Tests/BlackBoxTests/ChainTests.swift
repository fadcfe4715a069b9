import PullboxAPI
import PullboxTesting
import ServiceAPI
import Testing

@Suite("The chain from purchase to finished transaction", .timeLimit(.minutes(10)))
struct ChainTests {
  @Test(
    "a folder and a file that are bought arrive as they were published, and their transactions are finished")
  func purchaseArrives() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: 3_000_001, in: stack.directory)
      let folder = try await Material.folder(
        "folder", product: "com.example.folder", length: 5_000_000, images: 7, in: stack.directory)
      try await stack.publishByCommand(file, as: "com.example.file")
      try await stack.publishByCommand(folder, as: "com.example.folder")
      for (product, source) in [("com.example.file", file), ("com.example.folder", folder)] {
        let purchase = try await stack.pullbox("buy", product, "--yes", "--wait")
        #expect(purchase.ending == .exited(0), "\(purchase.errors)")
        _ = try await stack.agent.finishedTransaction(of: product)
        let download = try await stack.agent.finishedDownload(of: product)
        #expect(download.state == .finished)
        let placed = try #require(download.contentPath)
        var expected = try Material.digests(of: source)
        expected["product.json5"] = nil
        #expect(try Material.digests(of: placed) == expected)

        let path = try await stack.pullbox("path", product)
        #expect(path.output == placed + "\n")
        let grant = try #require(try await stack.deliveries(of: product).first)
        #expect(grant.state == .finished)
        #expect(grant.bytesDelivered == grant.length)
        #expect(grant.history.map(\.state) == [.granted, .completed, .finished])
      }
      #expect(try await stack.unfinishedTransactions().isEmpty)
    }
  }

  @Test("a purchase made while the agent is away is delivered once it starts")
  func agentCatchesUp() async throws {
    var options = Stack.Options()
    options.parts = [.store, .server]
    try await Stack.with(options) { stack in
      let file = try await Material.file("file.cbz", length: 100_000, in: stack.directory)
      try await stack.publish(file, as: "com.example.file")
      _ = try await stack.store().post("/store/v1/purchases", ["product": "com.example.file"])
      #expect(try await stack.unfinishedTransactions().count == 1)
      try await stack.start(.agent)
      _ = try await stack.agent.finishedTransaction(of: "com.example.file")
      #expect(try await stack.unfinishedTransactions().isEmpty)
    }
  }

  @Test(
    "SIGTERM ends each daemon with exit code 0, also in the middle of a download",
    arguments: Stack.Part.allCases)
  func terminates(part: Stack.Part) async throws {
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: 8 << 20, in: stack.directory)
      try await stack.publish(file, as: "com.example.file")
      stack.serverProxy.hold(at: 3 << 20)
      _ = try await stack.agent.buy("com.example.file")
      await stack.serverProxy.waitUntilHeld()
      async let ending = stack.terminate(part)
      // A draining server waits for its clients, who wait here.
      stack.serverProxy.release()
      #expect(try await ending == .exited(0))
    }
  }
}
