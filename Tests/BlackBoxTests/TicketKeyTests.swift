import CoreTypes
import Files
import PullboxTesting
import SystemCalls
import Testing

@Suite("Ticket keys, from outside", .timeLimit(.minutes(5)))
struct TicketKeyTests {
  @Test("--rotate-ticket-key adds a key in the state directory of the configuration")
  func configuredState() async throws {
    let directory = try TemporaryDirectory()
    let state = directory.path("state")
    try FileSystem.createDirectories(state)
    let keys = "{\"keys\":[{\"id\":1,\"secret\":\"\(String(repeating: "5a", count: 32))\"}]}"
    let (file, configuration) = (state + "/ticket-keys.json", directory.path("server.json5"))
    let text = "{state: '\(state)', operatorKey: 'KF5xP0rYdJ2mVw8sQb3nTz6hLc9gRa1e'}"
    for (path, text) in [(file, keys), (configuration, text)] {
      try DurableFile.write(Array(text.utf8).span, to: path, permissions: 0o600)
    }
    let outcome = try await Executables.run(
      Executables.path("pullbox-server"), ["--config", configuration, "--rotate-ticket-key"], in: directory)
    #expect(outcome.succeeded, "\(outcome.errors)")
    #expect(outcome.output == "ticket key 2 is in front\n")
    #expect(try Executables.text(file).contains("\"id\":2"))
  }
}
