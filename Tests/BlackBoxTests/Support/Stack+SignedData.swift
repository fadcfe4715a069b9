import CoreTypes
import Crypto
import Files
import HTTPClient
import PullboxAPI
import PullboxTesting
import SystemCalls

/// The App Store Server API of the sandbox store, asked as a server asks it.
extension Stack {
  static let bundle = "com.example.pullbox"
  /// The issuer that the store takes unless told otherwise.
  static let issuer = "6f1d1c8e-7a0b-4c53-9d55-0f4f3f3a2b10"

  /// The key that the store made at its first start.
  func apiKey() throws -> (name: String, path: String) {
    let directory = directory.path("store")
    let prefix = "AuthKey_"
    guard let file = try FileSystem.list(directory).map(\.name).first(where: { $0.hasPrefix(prefix) }) else {
      throw Failure(description: "the store has no key")
    }
    return (String(file.dropFirst(prefix.count).dropLast(3)), "\(directory)/\(file)")
  }

  private func token() throws -> String {
    let (name, path) = try apiKey()
    let pem = String(decoding: try FileSystem.read(path, upTo: .kibibytes(8)), as: UTF8.self)
    guard let key = ES256Key(pem: pem) else { throw Failure(description: "the store's key is none") }
    let header = #"{"alg":"ES256","kid":"\#(name)","typ":"JWT"}"#
    let expires = SystemWallClock().now().secondsSinceEpoch + 300
    let claims =
      #"{"iss":"\#(Self.issuer)","aud":"appstoreconnect-v1","bid":"\#(Self.bundle)","exp":\#(expires)}"#
    let input = [header, claims].map { Base64.encode(Array($0.utf8), .url) }.joined(separator: ".")
    return input + "." + Base64.encode(key.sign(Array(input.utf8)), .url)
  }

  /// The answer of `/inApps`, which must be one.
  func interface(_ method: String, _ path: String, body: String? = nil) async throws -> JSONValue {
    let answer = try await store().send(
      method, "/inApps\(path)", headers: [("Authorization", "Bearer \(token())")],
      body: body.map { Array($0.utf8) })
    guard answer.status == 200 else { throw Failure(description: answer.text) }
    return try answer.decoded(JSONValue.self)
  }

  /// The payload of signed data, whose signature is others' matter.
  static func payload(of signed: String?) throws -> JSONValue {
    let parts = signed?.split(separator: ".") ?? []
    guard parts.count == 3, let bytes = Base64.decode(parts[1], .url) else {
      throw Failure(description: "no signed data")
    }
    return try APIJSON.decode(JSONValue.self, from: bytes)
  }

  /// The signed text by which a customer shows a transaction.
  func signedTransaction(_ id: String) async throws -> String {
    let answer = try await interface("GET", "/v1/transactions/\(id)")
    guard let text = answer["signedTransactionInfo"].text else {
      throw Failure(description: "no signed transaction")
    }
    return text
  }

  /// A control of the store, as tests use it.
  func control(_ path: String) async throws {
    let answer = try await store().post("/sandbox/v1/\(path)")
    guard answer.status == 200 else { throw Failure(description: answer.text) }
  }
}
