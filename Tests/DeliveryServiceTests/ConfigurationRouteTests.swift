import Files
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import DeliveryService

/// docs/operations.md, "The server itself".
@Suite("The configuration in effect", .timeLimit(.minutes(2)))
struct ConfigurationRouteTests {
  private func write(_ text: String, to path: String) throws {
    let bytes = Array(text.utf8)
    try DurableFile.write(bytes.span, to: path)
  }

  private func settings(_ server: ServerHarness) async throws -> [String: OperatorConfiguration.Setting] {
    let found: OperatorConfiguration = try await server.operatorAPI.get("/v1/operator/configuration")
    return Dictionary(found.settings.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
  }

  @Test("each value is told with its place, and no secret is")
  func places() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("server.json5")
    try write(
      "{ requireSecondKey: true, operatorKeys: [{ name: 'ada', key: 'a-secret-of-ada-that-none-can-guess', scopes: ['read'] }] }",
      to: path)
    try await ServerHarness.run(options: ["--config", path, "--console", "everywhere"]) { server in
      let settings = try await settings(server)
      let second = try #require(settings["requireSecondKey"])
      #expect(second.value == "true" && second.origin == .file && second.place == "\(path):1:21")
      let console = try #require(settings["console"])
      #expect(console.origin == .option && console.place == "--console")
      #expect(settings["refundPoll"]?.origin == .fallback && settings["refundPoll"]?.place == nil)
      #expect(settings["publicURL"]?.origin == nil && settings["publicURL"]?.value == nil)
      for key in ["operatorKeys", "store.credential", "operatorKey"] {
        #expect(settings[key]?.isSecret == true && settings[key]?.value == nil, "\(key)")
      }
      let document = try await server.operatorAPI.exchange("GET", "/v1/operator/configuration")
      #expect(!String(decoding: document.body, as: UTF8.self).contains("a-secret-of-ada-that-none-can-guess"))

      let browser = ConsoleBrowser(server)
      try await browser.signIn()
      let page = try await browser.get("/console/house")
      #expect(page.text.contains("requireSecondKey") && page.text.contains("\(path):1:21"))
      #expect(
        !page.text.contains("a-secret-of-ada-that-none-can-guess")
          && !page.text.contains(ServerHarness.operatorKey))
      let reader = ConsoleBrowser(server)
      try await reader.signIn("a-secret-of-ada-that-none-can-guess")
      #expect(try await reader.get("/console/house").text.contains("requireSecondKey") == false)
    }
  }

  @Test("a reload is told as far as it counts")
  func reload() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("server.json5")
    try write("{ ticketLifetime: '10m', storeCalls: 4 }", to: path)
    try await ServerHarness.run(options: ["--config", path]) { server in
      try write("{ ticketLifetime: '20m', storeCalls: 5 }", to: path)
      await server.server.reload(from: server.source)
      let settings = try await settings(server)
      #expect(settings["ticketLifetime"]?.value == "\"20m\"")
      #expect(settings["ticketLifetime"]?.waitsForRestart == false)
      #expect(settings["storeCalls"]?.value == "4" && settings["storeCalls"]?.waitsForRestart == true)
    }
  }
}
