import CoreTypes
import HTTPClient
import PullboxAPI

/// A response as a test looks at it.
struct Answer: Sendable {
  var status: Int
  var headers: ResponseFields
  var body: [UInt8]

  func decoded<Value: Decodable>(_ type: Value.Type = Value.self) throws -> Value {
    try APIJSON.decode(Value.self, from: body)
  }

  /// The refusal this is: a problem document whose status is the response's; nil for anything else.
  var problem: Problem? {
    guard headers["Content-Type"] == "application/problem+json",
      let problem = try? APIJSON.decode(Problem.self, from: body), problem.status == status
    else { return nil }
    return problem
  }

  /// A short form for a test's message.
  var text: String { "\(status) \(String(decoding: body.prefix(500), as: UTF8.self))" }
}

/// Sends requests to one base address.
struct Web: Sendable {
  let base: String
  var credential: String?
  var socket: String?
  let client: HTTPClient

  func get(_ path: String, headers: [(String, String)] = []) async throws -> Answer {
    try await send("GET", path, headers: headers)
  }

  func post(_ path: String, _ value: (some Encodable)) async throws -> Answer {
    try await send(
      "POST", path, headers: [("Content-Type", "application/json")], body: try APIJSON.encode(value))
  }

  func post(_ path: String) async throws -> Answer {
    try await send("POST", path)
  }

  /// `path` may be absolute, as URLs in answers may be.
  func send(
    _ method: String, _ path: String, headers: [(String, String)] = [], body: [UInt8]? = nil,
    limit: ByteCount = .mebibytes(64)
  ) async throws -> Answer {
    var request = ClientRequest(
      method: method, url: path.hasPrefix("http") ? path : base + path, headers: headers,
      body: body.map { .bytes($0) } ?? .none)
    if let credential, !headers.contains(where: { $0.0 == "Authorization" }) {
      request.headers.append(("Authorization", "Bearer \(credential)"))
    }
    request.unixSocketPath = socket
    request.maximumResponseLength = limit
    let response = try await client.send(request)
    return Answer(status: response.status, headers: response.headers, body: response.body)
  }
}
