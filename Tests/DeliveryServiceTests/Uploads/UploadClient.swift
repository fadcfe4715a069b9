import CoreTypes
import DeliveryService
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Testing

/// Says to the server under test what an upload client could say, well-behaved or not.
struct UploadClient: Sendable {
  static let collection = "/v1/operator/uploads"

  let server: ServerHarness

  func send(
    _ method: String, _ path: String = collection, _ headers: [(String, String)] = [], _ body: [UInt8]? = nil
  ) async throws -> ClientResponse {
    var request = server.operatorAPI.request(method, server.operatorAPI.url(path), headers: headers)
    if let body { request.body = .bytes(body) }
    return try await server.client.send(request)
  }

  /// tus.
  func tus(
    _ method: String, _ path: String = collection, _ headers: [(String, String)] = [], _ body: [UInt8]? = nil
  ) async throws -> ClientResponse {
    try await send(method, path, [("Tus-Resumable", "1.0.0")] + headers, body)
  }

  /// A new tus upload's address.
  func create(length: Int) async throws -> String {
    let response = try await tus("POST", Self.collection, [("Upload-Length", String(length))])
    #expect(response.status == 201)
    return try #require(response.headers["Location"])
  }

  func patch(
    _ location: String, at offset: Int, _ bytes: [UInt8], _ headers: [(String, String)] = []
  ) async throws -> ClientResponse {
    try await tus(
      "PATCH", location,
      [("Upload-Offset", String(offset)), ("Content-Type", "application/offset+octet-stream")] + headers,
      bytes)
  }

  func offset(_ location: String) async throws -> String? {
    try await tus("HEAD", location).headers["Upload-Offset"]
  }

  /// The draft's fields.
  func resumable(
    _ method: String, _ path: String = collection, _ headers: [(String, String)] = [], _ body: [UInt8]? = nil
  ) async throws -> ClientResponse {
    try await send(method, path, [("Upload-Draft-Interop-Version", "8")] + headers, body)
  }

  /// The head of a request, for a body that the test sends as it likes.
  func head(_ method: String, _ path: String, _ lines: [String]) -> String {
    let fixed = [
      "\(method) \(path) HTTP/1.1", "Host: x", "Authorization: Bearer \(ServerHarness.operatorKey)",
    ]
    return (fixed + lines).joined(separator: "\r\n") + "\r\n\r\n"
  }

  func connect() throws -> RawConnection {
    let port = try #require(server.server.addresses.first?.split(separator: ":").last.flatMap { UInt16($0) })
    return try RawConnection.tcp(port: port)
  }

  /// Returns once the server holds so many bytes of the upload.
  func wait(for count: Int, in location: String) async throws {
    for _ in 0..<2000 {
      let page = try await server.operatorAPI.get(Self.collection, as: Page<UploadRecord>.self)
      if page.items.first(where: { location.hasSuffix($0.upload) })?.offset == ByteCount(count) { return }
      await Task.yield()
    }
    Issue.record("\(count) bytes never arrived")
  }

  /// The open uploads, as an operator sees them.
  func list() async throws -> [UploadRecord] {
    try await server.operatorAPI.get(Self.collection, as: Page<UploadRecord>.self).items
  }

  func problem(_ response: ClientResponse) throws -> ProblemCode? {
    try APIJSON.decode(Problem.self, from: response.body).code
  }
}
