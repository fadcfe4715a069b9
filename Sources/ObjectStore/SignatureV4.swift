public import CoreTypes
public import Crypto
import ServiceRuntime

/// Signs requests to S3 by AWS Signature Version 4 (`AWS4-HMAC-SHA256`), in fields of the head or in the query of an
/// address that is handed on. A plain value without a clock: the same arguments have the same signature.
///
/// ```swift
/// let signer = SignatureV4(credentials: credentials, region: "eu-central-1")
/// let request = SignatureV4.Request(method: "GET", host: "store.example", path: "/comics/packages/ab/cdef")
/// let fields = signer.fields(for: request, payload: .empty, at: now)
/// let query = signer.presignedQuery(for: request, seconds: 60, at: now)
/// ```
public struct SignatureV4: Sendable {
  /// The keys that a signature is made with.
  public var credentials: ObjectStoreCredentials
  /// A part of what is signed; stores compare it with their own.
  public var region: String
  /// The service's name in what is signed: `s3`.
  public var service: String

  /// A signer for one region of a service.
  public init(credentials: ObjectStoreCredentials, region: String, service: String = "s3") {
    self.credentials = credentials
    self.region = region
    self.service = service
  }

  /// The parts of a request that are signed, as they are meant: nothing is percent-encoded here.
  public struct Request: Sendable {
    /// The method in capitals.
    public var method: String
    /// The value of `Host`: with the port unless it is the scheme's own.
    public var host: String
    /// With a slash in front. Slashes are kept, and nothing is normalized.
    public var path: String
    /// In any order. An item without a value has the empty one.
    public var query: [(name: String, value: String)]
    /// Fields beside `Host` and those of the signature itself; the request must have them with these values.
    public var headers: [(name: String, value: String)]

    /// A request without a query and without further fields, unless given.
    public init(
      method: String, host: String, path: String, query: [(name: String, value: String)] = [],
      headers: [(name: String, value: String)] = []
    ) {
      self.method = method
      self.host = host
      self.path = path
      self.query = query
      self.headers = headers
    }
  }

  /// The part of a request's body in its signature.
  public enum Payload: Hashable, Sendable {
    /// The body's SHA-256: a store refuses any other body.
    case digest(SHA256Digest)
    /// Nothing (`UNSIGNED-PAYLOAD`).
    case unsigned

    /// No body.
    public static let empty = Payload.digest(.of([]))

    /// The last line of the canonical request: the digest in hexadecimal digits, or the word for none.
    var text: String {
      switch self {
      case .digest(let digest): digest.hexadecimal
      case .unsigned: "UNSIGNED-PAYLOAD"
      }
    }
  }

  /// The longest time that a presigned address may count, in seconds: a week.
  public static let longestLifetime = 604_800

  /// The fields to send beside those of `request`: `x-amz-content-sha256`, `x-amz-date`, with temporary keys
  /// `x-amz-security-token`, and `Authorization`, which is secret for as long as stores accept it (15 minutes).
  public func fields(
    for request: Request, payload: Payload, at date: Timestamp
  ) -> [(name: String, value: String)] {
    let moment = SignatureDate(date)
    var fields = [(name: "x-amz-content-sha256", value: payload.text), ("x-amz-date", moment.text)]
    if let token = credentials.sessionToken { fields.append(("x-amz-security-token", token.revealed)) }
    let headers = SignedHeaders([("host", request.host)] + request.headers + fields)
    let signature = signature(
      of: CanonicalRequest.text(request, query: request.query, headers: headers, payload: payload), at: moment
    )
    let credential = "\(credentials.accessKey)/\(scope(at: moment))"
    let value =
      "\(Self.algorithm) Credential=\(credential),SignedHeaders=\(headers.names),Signature=\(signature)"
    return fields + [("Authorization", value)]
  }

  /// The query by which `request` is allowed to any client that has it, for `seconds` (1 to ``longestLifetime``) from
  /// `date` on: encoded, without the question mark, the items of the request among the others. Fields of the request
  /// are signed along, and the client must send them.
  public func presignedQuery(for request: Request, seconds: Int, at date: Timestamp) -> String {
    let moment = SignatureDate(date)
    let headers = SignedHeaders([("host", request.host)] + request.headers)
    var query = request.query
    query += [
      ("X-Amz-Algorithm", Self.algorithm),
      ("X-Amz-Credential", "\(credentials.accessKey)/\(scope(at: moment))"),
      ("X-Amz-Date", moment.text), ("X-Amz-Expires", String(seconds)), ("X-Amz-SignedHeaders", headers.names),
    ]
    if let token = credentials.sessionToken { query.append(("X-Amz-Security-Token", token.revealed)) }
    let signature = signature(
      of: CanonicalRequest.text(request, query: query, headers: headers, payload: .unsigned), at: moment)
    return "\(PercentEncoding.query(query))&X-Amz-Signature=\(signature)"
  }

  /// The algorithm's name, the first line of what is signed.
  static let algorithm = "AWS4-HMAC-SHA256"

  /// The scope of the key that is derived: day, region, service and `aws4_request`.
  private func scope(at moment: SignatureDate) -> String {
    "\(moment.day)/\(region)/\(service)/aws4_request"
  }

  /// The text that is signed: algorithm, time, scope, and the digest of the canonical request.
  func stringToSign(_ canonicalRequest: String, at moment: SignatureDate) -> String {
    let digest = SHA256Digest.of(canonicalRequest.utf8)
    return "\(Self.algorithm)\n\(moment.text)\n\(scope(at: moment))\n\(digest.hexadecimal)"
  }

  /// The signature in hexadecimal digits. The key is derived by an HMAC for each part of the scope, and then signs the
  /// text.
  private func signature(of canonicalRequest: String, at moment: SignatureDate) -> String {
    var key = Array("AWS4\(credentials.secretKey.revealed)".utf8)
    for part in [moment.day, region, service, "aws4_request", stringToSign(canonicalRequest, at: moment)] {
      let message = Array(part.utf8)
      let none: [UInt8] = []
      key = MessageAuthenticationKey(secret: key).authenticate(message.span, none.span).array
    }
    return Hexadecimal.encode(key)
  }
}

/// The form of a request over which a signature is computed.
enum CanonicalRequest {
  /// The lines of the request: method, path, query, header lines, their names, and the payload. Path and query are
  /// encoded once, as S3 wants it.
  static func text(
    _ request: SignatureV4.Request, query: [(name: String, value: String)], headers: SignedHeaders,
    payload: SignatureV4.Payload
  ) -> String {
    [
      request.method, PercentEncoding.path(request.path), PercentEncoding.query(query), headers.lines,
      headers.names, payload.text,
    ].joined(separator: "\n")
  }
}

/// Header fields in their signed form: names in lower case and sorted, values of one name joined by commas, runs of spaces as one.
struct SignedHeaders {
  /// A line for each name, each with a line feed at its end.
  let lines: String
  /// The names with semicolons between them.
  let names: String

  /// Fields in any order and any case of their names.
  init(_ fields: [(name: String, value: String)]) {
    var values: [String: [String]] = [:]
    for field in fields { values[field.name.lowercased(), default: []].append(Self.trimmed(field.value)) }
    let sorted = values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    lines = sorted.map { "\($0.key):\($0.value.joined(separator: ","))\n" }.joined()
    names = sorted.map(\.key).joined(separator: ";")
  }

  /// The value without spaces at its ends, runs of spaces as one.
  private static func trimmed(_ value: String) -> String {
    value.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
  }
}

/// A moment as it stands in a signature: `20130524T000000Z`, in UTC.
struct SignatureDate {
  /// The moment to the second.
  let text: String
  /// The first eight digits.
  let day: String

  /// The moment without its fraction.
  init(_ date: Timestamp) {
    // 2013-05-24T00:00:00.000Z without its marks and its fraction.
    let digits = date.rfc3339.prefix { $0 != "." }.filter { $0 != "-" && $0 != ":" }
    text = "\(digits)Z"
    day = String(digits.prefix(8))
  }
}

/// RFC 3986 in the strict form that signatures need: every byte but the unreserved characters becomes `%` and two upper-case digits.
enum PercentEncoding {
  /// Slashes stay.
  static func path(_ path: String) -> String { encode(path, keepsSlashes: true) }

  /// A name or a value of a query.
  static func component(_ text: String) -> String { encode(text, keepsSlashes: false) }

  /// Sorted by the encoded names, then by the encoded values; every name has its equals sign.
  static func query(_ items: [(name: String, value: String)]) -> String {
    items.map { (name: component($0.name), value: component($0.value)) }
      .sorted { left, right in
        left.name == right.name
          ? left.value.utf8.lexicographicallyPrecedes(right.value.utf8)
          : left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
      }
      .map { "\($0.name)=\($0.value)" }.joined(separator: "&")
  }

  /// Nil for a broken escape and for bytes that are no UTF-8. A plus sign is a space, as stores write it in lists.
  static func decodeForm(_ text: String) -> String? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "+"): bytes.append(0x20)
      case UInt8(ascii: "%"):
        guard let high = rest.next().flatMap(value), let low = rest.next().flatMap(value) else { return nil }
        bytes.append(high << 4 | low)
      default: bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The text with escapes for all other bytes of its UTF-8.
  private static func encode(_ text: String, keepsSlashes: Bool) -> String {
    var encoded: [UInt8] = []
    encoded.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if isUnreserved(byte) || (keepsSlashes && byte == UInt8(ascii: "/")) {
        encoded.append(byte)
      } else {
        encoded += [UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]
      }
    }
    return String(decoding: encoded, as: UTF8.self)
  }

  /// Whether the byte is unreserved (RFC 3986 §2.3).
  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// The hexadecimal digit of a value below 16, in capitals as RFC 3986 §2.1 wants them.
  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10
  }

  /// The value of a hexadecimal digit in any case; nil for another byte.
  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
