import PullboxTesting
import Testing

@Suite("What the documentation shows")
struct WalkthroughTests {
  @Test("the commands of the pages run as they are written, and print what stands there")
  func publishing() async throws {
    let directory = try TemporaryDirectory()
    let outcome = try await Executables.run(
      "/usr/bin/env",
      [
        "python3", "-B", "\(Executables.root)/scripts/walkthrough", "--check", "--bin", Executables.directory,
      ],
      in: directory)
    #expect(outcome.succeeded, "\(outcome.output)\(outcome.errors)")
  }
}
