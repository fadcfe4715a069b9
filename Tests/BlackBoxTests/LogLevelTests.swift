import Files
import PullboxTesting
import SystemCalls
import Testing

@Suite("How much a daemon says")
struct LogLevelTests {
  @Test(
    "the level of the file and of the environment counts, not that of the flag alone",
    arguments: [("file", ""), ("environment", "error")])
  func level(place: String, variable: String) async throws {
    let directory = try TemporaryDirectory()
    let file = directory.path("config.json5")
    let text = """
      { listen: ["127.0.0.1:0"], state: "\(directory.path("store"))", catalog: "http://127.0.0.1:9",
        serverCredential: "of-the-server-alone" \(variable.isEmpty ? ", logLevel: 'error'" : "") }
      """
    try DurableFile.write(Array(text.utf8).span, to: file, permissions: 0o600)
    let store = try await Daemon.start(
      "pullbox-sandbox", ["--config", file], name: "store", in: directory,
      environment: variable.isEmpty ? [:] : ["PULLBOX_LOG_LEVEL": variable])
    #expect(await store.process.terminateAndWait() == .exited(0))
    #expect(try Executables.text(store.log) == "")
  }
}
