import PullboxTesting
import Testing

@Suite("A reader buys with pullbox", .timeLimit(.minutes(10)))
struct ShopTests {
  @Test("without a terminal buy needs --yes, says what it costs, and charges nothing for what is owned")
  func buying() async throws {
    try await Stack.with { stack in
      let file = try await Material.file("file.cbz", length: 100_000, in: stack.directory)
      try await stack.publish(file, as: "com.example.file")

      let unasked = try await stack.pullbox("buy", "com.example.file")
      #expect(unasked.ending == .exited(2))
      #expect(unasked.errors.contains("--yes"))
      #expect(try await stack.unfinishedTransactions().isEmpty)

      let bought = try await stack.pullbox("buy", "com.example.file", "--yes", "--wait")
      #expect(bought.ending == .exited(0), "\(bought.errors)")
      #expect(bought.errors.contains("free (Sandbox)"))

      let again = try await stack.pullbox("buy", "com.example.file", "--yes")
      #expect(again.ending == .exited(0))
      #expect(again.output.contains("owned already"))
      #expect(try await stack.unfinishedTransactions().isEmpty)

      let unknown = try await stack.pullbox("buy", "com.example.none", "--yes")
      #expect(unknown.ending == .exited(1))
      #expect(unknown.errors.contains("not for sale"))
    }
  }
}
