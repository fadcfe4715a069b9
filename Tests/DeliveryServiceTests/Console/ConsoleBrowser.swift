import Foundation
import HTTPClient
import PullboxAPIClient
import Testing

@testable import DeliveryService

/// A browser without a script: it keeps one cookie, follows no redirect, and sends the forms of the page that it shows.
final class ConsoleBrowser {
  struct Answer {
    var status: Int
    var headers: ResponseFields
    var text: String
    var location: String? { headers["Location"] }
  }

  private let client: HTTPClient
  private let base: String
  var cookie: String?
  /// Fields of every request.
  var headers: [(String, String)] = [("Accept-Language", "en")]

  init(_ server: ServerHarness) {
    client = server.client
    base = server.api.baseURL
  }

  func get(_ path: String, headers: [(String, String)] = []) async throws -> Answer {
    try await send("GET", path, body: .none, headers: headers)
  }

  /// Sends a form as browsers do from pages without a referrer.
  func post(
    _ path: String, _ fields: [(String, String)], headers: [(String, String)]? = nil
  ) async throws -> Answer {
    let body = fields.map { "\(Self.encoded($0.0))=\(Self.encoded($0.1))" }.joined(separator: "&")
    let own = [("Origin", "null"), ("Sec-Fetch-Site", "same-origin")]
    return try await send(
      "POST", path, body: .bytes(Array(body.utf8)),
      headers: [("Content-Type", "application/x-www-form-urlencoded")] + (headers ?? own))
  }

  /// Sends a form with a file.
  func upload(
    _ path: String, _ fields: [(String, String)], file: [UInt8], named name: String
  ) async throws -> Answer {
    let part =
      Array("--b7\r\n\(Self.part)\"file\"; filename=\"\(name)\"\r\n\r\n".utf8) + file + Array("\r\n".utf8)
    return try await form(path, fields, behind: part)
  }

  private static let part = "Content-Disposition: form-data; name="

  /// Sends a form that may have a file, behind whose fields is that part.
  func form(_ path: String, _ fields: [(String, String)], behind: [UInt8] = []) async throws -> Answer {
    var body: [UInt8] = []
    for field in fields {
      body += Array("--b7\r\n\(Self.part)\"\(field.0)\"\r\n\r\n\(field.1)\r\n".utf8)
    }
    body += behind + Array("--b7--\r\n".utf8)
    return try await send(
      "POST", path, body: .bytes(body),
      headers: [
        ("Content-Type", "multipart/form-data; boundary=b7"), ("Origin", "null"),
        ("Sec-Fetch-Site", "same-origin"),
      ])
  }

  /// Sends what the script sends of an upload.
  func tus(
    _ method: String, _ path: String, token: String?, _ fields: [(String, String)] = [],
    content: [UInt8] = [], from site: String = "same-origin"
  ) async throws -> Answer {
    let own = [("Tus-Resumable", "1.0.0"), ("Sec-Fetch-Site", site)]
    return try await send(
      method, path, body: method == "PATCH" ? .bytes(content) : .none,
      headers: own + (token.map { [("X-Pullbox-Form", $0)] } ?? []) + fields)
  }

  /// Signs in with that key, and keeps the cookie.
  @discardableResult
  func signIn(_ key: String = ServerHarness.operatorKey) async throws -> Answer {
    let answer = try await post("/console/sign-in", [("key", key)])
    if let set = answer.headers["Set-Cookie"] { cookie = String(set.prefix { $0 != ";" }) }
    return answer
  }

  /// The value of a hidden field of that page.
  func hidden(_ name: String, of page: String) -> String? {
    guard let field = page.range(of: "type=\"hidden\" name=\"\(name)\" value=\"") else { return nil }
    return String(page[field.upperBound...].prefix { $0 != "\"" })
  }

  /// The hidden fields of the first form of a step on that page: by whom, once, and for which state.
  func state(of page: String) throws -> [(String, String)] {
    try ["token", "once", "tag"].map { name in
      (name, try #require(hidden(name, of: page), "\(name)").replacing("&quot;", with: "\""))
    }
  }

  private func send(
    _ method: String, _ path: String, body: ClientRequest.Body, headers: [(String, String)]
  ) async throws -> Answer {
    let own = self.headers + (cookie.map { [("Cookie", $0)] } ?? [])
    let request = ClientRequest(method: method, url: base + path, headers: own + headers, body: body)
    let response = try await client.send(request)
    return Answer(
      status: response.status, headers: response.headers, text: String(decoding: response.body, as: UTF8.self)
    )
  }

  static func encoded(_ text: String) -> String {
    text.utf8.map { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: String(UnicodeScalar(byte))
      default: "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }.joined()
  }
}
