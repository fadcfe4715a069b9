import CoreTypes
import HTTPClient
import HTTPServer
import PullboxAPIClient
import Synchronization

/// A service that answers each request as a test says, and remembers the requests.
final class ScriptedService: AsyncHandler {
  private let answer: HTTPResponse
  private let lines = Mutex<[String]>([])

  init(_ status: Int, _ headers: HTTPFields = [:], body: String = "") {
    answer = HTTPResponse(
      status: HTTPStatus(rawValue: status), headers: headers, body: .bytes(Array(body.utf8)))
  }

  /// Method, target, `Authorization`, `Content-Type` and body of each request.
  var requests: [String] { lines.withLock { $0 } }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let body = (try? await request.body.collect(upTo: .mebibytes(1))) ?? []
    let parts = [
      request.method.rawValue, request.rawTarget, request.headers["Authorization"] ?? "-",
      request.headers["Content-Type"] ?? "-", String(decoding: body, as: UTF8.self),
    ]
    lines.withLock { $0.append(parts.joined(separator: " ")) }
    return answer
  }

  /// Runs `body` with a client of this service, on a free port; the server is gone afterwards.
  func run<Value>(_ body: (APIClient) async throws -> Value) async throws -> Value {
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 1
    configuration.drainDeadline = .milliseconds(200)
    let server = HTTPServer(configuration: configuration, handler: self)
    try server.start()
    do {
      let address = server.boundAddresses.first?.description ?? ""
      let client = try HTTPClient()
      let value = try await body(APIClient(baseURL: "http://\(address)/", credential: "k", client: client))
      await server.drain()
      return value
    } catch {
      await server.drain()
      throw error
    }
  }
}
