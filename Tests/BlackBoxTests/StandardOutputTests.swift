import PullboxTesting
import Testing

@Suite("What becomes of a result that nobody takes")
struct StandardOutputTests {
  private func shell(_ command: String) async throws -> Executables.Outcome {
    try await Executables.run(
      "/bin/bash", ["-c", command, "bash", "\(Executables.directory)/pullbox"], in: try TemporaryDirectory())
  }

  @Test("a result that has no room is no result", arguments: ["--help", "publish --help"])
  func full(arguments: String) async throws {
    let outcome = try await shell("\"$1\" \(arguments) >/dev/full; echo \"exit $?\"")
    #expect(outcome.output == "exit 5\n")
    #expect(outcome.errors.contains("standard output was not written: write: No space left on device"))
  }

  @Test(
    "every program says the version that all of them share",
    arguments: ["pullbox", "pullbox-server", "pullbox-agent", "pullbox-sandbox"])
  func version(program: String) async throws {
    let outcome = try await Executables.run(
      Executables.path(program), ["--version"], in: try TemporaryDirectory())
    #expect(outcome.succeeded)
    #expect(outcome.output == "\(program) 0.1.0\n")
  }

  @Test("a reader that has seen enough ends nothing badly")
  func closed() async throws {
    let outcome = try await shell("\"$1\" --help | head -n 1; echo \"exit ${PIPESTATUS[0]}\"")
    #expect(outcome.output == "Usage: pullbox [OPTIONS] COMMAND\nexit 0\n")
    #expect(outcome.errors.isEmpty)
  }
}
