import PullboxAPI
import PullboxTesting
import Testing

@Suite("Examples", .timeLimit(.minutes(5)))
struct ExampleTests {
  @Test("the reader's app buys an issue, shows its progress and ends when the store has closed the purchase")
  func reader() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: 3_000_001, in: stack.directory)
      try await stack.publish(file, as: "com.example.file")
      let outcome = try await Executables.run(
        Executables.path("ReaderExample"), [stack.agentSocket, "com.example.file"], in: stack.directory)
      #expect(outcome.ending == .exited(0), "\(outcome.errors)")
      let lines = outcome.output.split(separator: "\n").map(String.init)
      #expect(lines.first == "The agent answers.")
      #expect(lines.last == "com.example.file: finished")
      let download = try await stack.agent.finishedDownload(of: "com.example.file")
      let path = try #require(download.contentPath)
      #expect(lines.contains { $0.hasPrefix("com.example.file: 100 %") && $0.hasSuffix(", \(path)") })
      #expect(try await stack.unfinishedTransactions().isEmpty)
    }
  }

  @Test("the reader's app says why it cannot work")
  func refusals() async throws {
    let directory = try TemporaryDirectory()
    let app = Executables.path("ReaderExample")
    let alone = try await Executables.run(app, [directory.path("agent.sock")], in: directory)
    #expect(alone.ending == .exited(1))
    #expect(alone.errors.hasPrefix("ReaderExample: "))
    let without = try await Executables.run(app, [], in: directory)
    #expect(without.ending == .exited(2))
    #expect(without.errors == "ReaderExample: usage: ReaderExample SOCKET [PRODUCT]\n")
  }
}
