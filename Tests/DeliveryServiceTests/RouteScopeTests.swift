import HTTPServer
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import ContentDelivery
@testable import ContentPublishing
@testable import DeliveryService
@testable import RouteAccess

@Suite("Routes and the operator scopes they need")
struct RouteScopeTests {
  private struct Unparsed: Error {}

  /// Scope, method and pattern of each route in the server's table of docs/routes.md, but for the uploads,
  /// whose scope hangs on the request, and for the Metalink document, which the route of the content answers.
  private static func documented() throws -> [(scope: String, method: String, pattern: String)] {
    let text = try RepositoryFile("docs/routes.md").text
    let sections = text.split(separator: "\n## ").filter { $0.hasPrefix("The delivery server") }
    let rows = try #require(sections.first).split(separator: "\n").filter { $0.hasPrefix("| `") }
    return try rows.map { row in
      let cells = row.split(separator: " | ")
      let route = try #require(cells.first).split(separator: "`")[1].split(separator: " ")
      try #require(cells.count >= 3 && route.count >= 2)
      let scope = cells[1].split(separator: "`").first.map(String.init) ?? ""
      return (
        OperatorScope(rawValue: scope)?.rawValue ?? "open", String(route[0]), String(route[route.count - 1])
      )
    }.filter { !$0.pattern.hasPrefix(UploadRoutes.path) && !$0.pattern.hasSuffix(".meta4") }
  }

  /// Every route of a server that is opened and not started.
  static func declarations() throws -> [ScopedRoutes.Declaration] {
    let directory = try TemporaryDirectory()
    let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
    guard
      case .run(let parsed) = try parser.parse([
        "--listen", "127.0.0.1:0", "--state", directory.path("state"), "--store-credential", "s",
      ])
    else { throw Unparsed() }
    let configuration: DeliveryConfiguration = try ConfigurationLoader.load(arguments: parsed)
    return try DeliveryServer(configuration, log: Log(level: .error)).routeDeclarations
  }

  private func line(_ declaration: ScopedRoutes.Declaration) -> String {
    let scope =
      switch declaration.access {
      case .open: "open"
      case .key(let scope): scope.rawValue
      case .byRequest(let scopes): scopes.map(\.rawValue).sorted().joined(separator: "|")
      }
    return "\(scope) \(declaration.method.rawValue) \(declaration.pattern)"
  }

  @Test("each route needs the scope that is documented, and no other route is there")
  func table() throws {
    let lines = try Self.declarations().filter { !$0.pattern.hasPrefix(UploadRoutes.path) }.map(line)
    let expected = try Self.documented().map { "\($0.scope) \($0.method) \($0.pattern)" }
    #expect(expected.count > 30)
    #expect(lines.sorted() == expected.sorted())
  }

  @Test("uploads ask for the scope that their request's method needs, of those that are documented")
  func uploads() throws {
    let lines = try Self.declarations().filter { $0.pattern.hasPrefix(UploadRoutes.path) }.map(line)
    let methods = ["OPTIONS", "POST", "GET", "HEAD", "PATCH", "PUT", "DELETE"]
    let expected = methods.flatMap {
      ["publish|read \($0) /v1/operator/uploads", "publish \($0) /v1/operator/uploads/{id}"]
    }
    #expect(lines.sorted() == expected.sorted())
  }

  @Test(
    "each operator route refuses a key without its scope, and a request without a key",
    arguments: OperatorScope.allCases)
  func refusals(scope: OperatorScope) async throws {
    let others = OperatorScope.allCases.filter { $0 != scope && $0 != .admin }.map { "'\($0.rawValue)'" }
    let key =
      "{name: 'ada', key: 'lacking-what-the-route-needs', scopes: [\(others.joined(separator: ", "))]}"
    let routes = try Self.documented().filter { $0.scope == scope.rawValue }
    #expect(!routes.isEmpty)
    try await ServerHarness.run(options: ["--named-operator-key", key]) { server in
      let lacking = APIClient(
        baseURL: server.api.baseURL, credential: "lacking-what-the-route-needs", client: server.client)
      for route in routes {
        let path = route.pattern.replacing("{id}", with: "com.example.a")
          .replacing("{version}", with: "1.0").replacing("{grant}", with: "AAAAAAAAAAAAAAAAAAAAAA")
          .replacing("{name}", with: "tier").replacing("{n}", with: "1")
        let forbidden = try await server.problem { _ = try await lacking.exchange(route.method, path) }
        #expect(forbidden.code == .forbidden, "\(route.method) \(route.pattern)")
        let unauthorized = try await server.problem {
          _ = try await server.api.exchange(route.method, path)
        }
        #expect(unauthorized.code == .unauthorized, "\(route.method) \(route.pattern)")
      }
    }
  }
}
