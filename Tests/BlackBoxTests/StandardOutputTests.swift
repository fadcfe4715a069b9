import CoreTypes
import Files
import PullboxTesting
import SystemCalls
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
    arguments: ["pullbox", "pullbox-server", "pullbox-agent", "pullbox-desktop", "pullbox-sandbox"])
  func version(program: String) async throws {
    let outcome = try await Executables.run(
      Executables.path(program), ["--version"], in: try TemporaryDirectory())
    #expect(outcome.succeeded)
    // A build of the scripts tells its commit as well.
    let rest = outcome.output.dropFirst("\(program) 0.1.0".count)
    #expect(outcome.output.hasPrefix("\(program) 0.1.0"))
    #expect(rest.wholeMatch(of: /( \([0-9a-f]{12}(-dirty)?\))?\n/) != nil)
  }

  @Test("a result that standard output, closed, does not take is a failure (K13)")
  func closedOutput() async throws {
    let outcome = try await shell("\"$1\" --help >&-; echo \"exit $?\"")
    #expect(outcome.output == "exit 1\n")
    #expect(outcome.errors.contains("standard output was not written"))
  }

  @Test(
    "a daemon without standard streams starts, and writes its log into no file of its own (K13)",
    arguments: ["pullbox-server", "pullbox-agent"])
  func closedStreams(program: String) async throws {
    let directory = try TemporaryDirectory()
    let state = directory.path("state")
    let ready = directory.path("ready")
    let token = try AccountTokenFile("token", in: directory)
    let options =
      program == "pullbox-server"
      ? "--listen 127.0.0.1:0 --store-url http://127.0.0.1:9 --store-credential x --operator-key operator-key-of-a-test"
      : "--server http://127.0.0.1:9 --store http://127.0.0.1:9 --socket \(directory.path("agent.sock")) --account-token-file \(token.path)"
    let command = """
      "\(Executables.directory)/\(program)" \(options) --state "\(state)" \
        --ready-file "\(ready)" --log-level debug <&- >&- 2>&- &
      for attempt in $(seq 600); do [ -e "\(ready)" ] && break; kill -0 $! || exit 9; sleep 0.05; done
      for number in 0 1 2; do readlink "/proc/$!/fd/$number"; done
      kill -TERM $!
      wait $!
      echo "exit $?"
      """
    let outcome = try await Executables.run("/bin/bash", ["-c", command], in: directory)
    #expect(outcome.output == "/dev/null\n/dev/null\n/dev/null\nexit 0\n", "\(outcome.errors)")
    #expect(try FileSystem.status(of: "\(state)/lock")?.length == .zero)
  }

  @Test("a reader that has seen enough ends nothing badly")
  func closed() async throws {
    let outcome = try await shell("\"$1\" --help | head -n 1; echo \"exit ${PIPESTATUS[0]}\"")
    #expect(outcome.output == "Usage: pullbox [OPTIONS] COMMAND\nexit 0\n")
    #expect(outcome.errors.isEmpty)
  }
}
