import Crypto
import HTTPParsing
public import HTTPServer
import PullboxAPI

/// The conditions of a request on the resource that it is about to change (RFC 9110 §13.1): `If-Match` with the tags of
/// states that it has seen, or `If-None-Match: *` for a resource that must not exist yet.
///
/// The write's transaction checks them against the present state, so that no change in between is lost.
public struct WriteConditions: Sendable {
  private let request: HTTPRequest?

  /// No conditions.
  public static let none = WriteConditions(nil)

  /// The conditions of `request`.
  public init(_ request: HTTPRequest) {
    self.init(
      request.headers.contains("If-Match") || request.headers.contains("If-None-Match") ? request : nil)
  }

  private init(_ request: HTTPRequest?) {
    self.request = request
  }

  /// Whether there are any.
  public var isConditional: Bool { request != nil }

  /// Throws `precondition-failed` where the conditions do not hold for `current`, which is nil for a resource that does
  /// not exist, and what the encoder throws.
  public func check(_ current: (some Encodable)?) throws {
    guard let request else { return }
    guard let current else {
      // RFC 9110 §13.1.1: no tag matches, not even `*`, where there is no representation.
      guard !request.headers.contains("If-Match") else {
        throw Problem(.preconditionFailed, "there is nothing at \(request.path) yet")
      }
      return
    }
    let tag = EntityTag.of(try APIJSON.encode(current))
    let conditions = Preconditions(request, entityTag: tag)
    if conditions.ifMatch == false {
      throw Problem(.preconditionFailed, "it was changed since it was read; read it again")
    }
    if conditions.ifNoneMatch == false { throw Problem(.preconditionFailed, "it exists already") }
  }
}

/// Strong entity tags (RFC 9110 §8.8.3): the SHA-256 of the bytes as they are sent.
public enum EntityTag {
  /// With its quotation marks.
  public static func of(_ bytes: [UInt8]) -> String { "\"\(SHA256Digest.of(bytes))\"" }
}

extension HTTPResponse {
  /// `value` as `application/json` with its `ETag`, after the conditions of a GET or HEAD: 304 for a client that has it,
  /// 412 for one that asks for another state. Throws what the encoder throws.
  public static func json(
    _ value: some Encodable, to request: HTTPRequest, cacheControl: String
  ) throws -> HTTPResponse {
    let bytes = try APIJSON.encode(value)
    let tag = EntityTag.of(bytes)
    let headers: HTTPFields = ["ETag": tag, "Cache-Control": cacheControl]
    switch Preconditions(request, entityTag: tag).verdict {
    case .notModified: return HTTPResponse(status: .notModified, headers: headers)
    case .failed: throw Problem(.preconditionFailed, "what is here has the tag \(tag)")
    case .proceed, .proceedWithoutRange:
      var response = HTTPResponse(status: .ok, headers: headers, body: .bytes(bytes))
      response.headers["Content-Type"] = "application/json"
      return response
    }
  }
}
