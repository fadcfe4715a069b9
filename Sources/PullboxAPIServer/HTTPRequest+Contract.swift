public import CoreTypes
import Crypto
import HTTPParsing
public import HTTPServer
public import PullboxAPI

extension HTTPRequest {
  /// The body as JSON. Throws `request-too-large` past `limit`, `request-malformed` naming the member at
  /// fault, or for what ``document(upTo:)`` refuses.
  public func decode<Value: Decodable>(
    _ type: Value.Type, upTo limit: ByteCount = .mebibytes(1)
  ) async throws(Problem) -> Value {
    let bytes = try await document(upTo: limit)
    do {
      return try APIJSON.decode(type, from: bytes)
    } catch {
      throw Problem(.requestMalformed, APIJSON.explain(error, ofDocument: bytes))
    }
  }

  /// Does what ``decode(_:upTo:)`` does, but answers nil for an empty body.
  public func decodeIfPresent<Value: Decodable>(
    _ type: Value.Type, upTo limit: ByteCount = .mebibytes(1)
  ) async throws(Problem) -> Value? {
    let bytes = try await document(upTo: limit)
    guard !bytes.isEmpty else { return nil }
    do {
      return try APIJSON.decode(type, from: bytes)
    } catch {
      throw Problem(.requestMalformed, APIJSON.explain(error, ofDocument: bytes))
    }
  }

  /// The whole body, which is to be decoded as JSON. Throws like ``bytes(upTo:)``, and `request-malformed` where a text in it has the
  /// character U+0000: not every database can keep it, and for some readers the text ends there.
  public func document(upTo limit: ByteCount) async throws(Problem) -> [UInt8] {
    let bytes = try await bytes(upTo: limit)
    guard !JSONString.hasNull(inDocument: bytes) else { throw Problem.nullInDocument }
    return bytes
  }

  /// Throws `request-malformed`, naming the first, for a parameter of the query that has the character U+0000, as no text of a
  /// document may have it.
  func requireTextInQuery() throws(Problem) {
    for parameter in query where parameter.name.utf8.contains(0) || parameter.value.utf8.contains(0) {
      throw Problem(.requestMalformed, "\(parameter.name.filter { $0 != "\0" }) has the character U+0000")
    }
  }

  /// The whole body. Throws `request-too-large` past `limit`, `request-timeout` for one that comes too slowly,
  /// `unavailable` when there is no room for it, `request-malformed` for one that does not arrive whole.
  public func bytes(upTo limit: ByteCount) async throws(Problem) -> [UInt8] {
    do {
      return try await body.collect(upTo: limit)
    } catch {
      throw error.problem(readingUpTo: limit)
    }
  }

  /// The value of a field that may occur once; nil without it. Throws `request-malformed` when it is there
  /// twice, even with one value: which of them counts would be for proxies to decide.
  public func onlyValue(of name: String) throws(Problem) -> String? {
    let values = headers.values(of: name)
    guard values.count <= 1 else { throw Problem(.requestMalformed, "\(name) occurs more than once") }
    return values.first
  }

  /// The credential of `Authorization: Bearer …`; nil without one, or with more than one.
  public var bearerToken: String? { credential(scheme: "Bearer") }

  /// Returns the credential after `scheme` in `Authorization`, without the spaces around it; nil with another scheme,
  /// without the field, or with more than one.
  public func credential(scheme: String) -> String? {
    let values = headers.values(of: "Authorization")
    guard values.count == 1, let value = values.first else { return nil }
    let parts = value.utf8.split(separator: 0x20, maxSplits: 1).map { Substring($0) }
    guard parts.count == 2, parts[0].lowercased() == scheme.lowercased() else { return nil }
    return parts[1].trimmingSpaces
  }

  /// Throws `request-malformed`, naming the first, for parameters of the query that are not among `names`: ignored, a
  /// misspelled filter would show everything. The same for one that is there twice and is not among `repeatable`: which of
  /// them counts would be for proxies to decide.
  public func requireQuery(
    only names: Set<String>, repeatable: Set<String> = []
  ) throws(Problem) {
    var seen: Set<String> = []
    for name in query.lazy.map(\.name) {
      guard names.contains(name) else {
        let known = names.isEmpty ? "there are none" : "there are " + names.sorted().joined(separator: ", ")
        throw Problem(.requestMalformed, "\(name): there is no such parameter; \(known)")
      }
      guard seen.insert(name).inserted || repeatable.contains(name) else {
        throw Problem(.requestMalformed, "\(name) occurs more than once")
      }
    }
  }

  /// A parameter of the query as a number within `range`; `fallback` when it is not there. Throws
  /// `request-malformed` for anything else.
  public func number(
    _ name: String, in range: ClosedRange<Int>, default fallback: Int
  ) throws(Problem) -> Int {
    guard let text = queryValue(name) else { return fallback }
    // One number has one form: no sign that says nothing, and no zeros before it.
    guard let number = Int(text), range.contains(number), text == String(number) else {
      throw Problem(
        .requestMalformed, "\(name) is a number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}

extension Problem {
  /// The refusal of a document that `JSONString.hasNull(inDocument:)` has found.
  public static let nullInDocument = Problem(
    .requestMalformed, "the document has the character U+0000 in a text, or is not in UTF-8")
}

extension RequestBodyError {
  /// The refusal that a client is given; `limit` is what it might have sent.
  public func problem(readingUpTo limit: ByteCount) -> Problem {
    switch code {
    case .tooLarge: Problem(.requestTooLarge, "at most \(limit.rawValue) bytes are read here")
    case .timedOut: Problem(.requestTimeout, description)
    case .noRoom: Problem(.unavailable, description, retryAfterSeconds: 1)
    default: Problem(.requestMalformed, description)
    }
  }
}

extension Substring {
  fileprivate var trimmingSpaces: String {
    let start = utf8.drop { $0 == 0x20 }
    return String(
      Substring(
        start.prefix(upTo: start.lastIndex { $0 != 0x20 }.map { start.index(after: $0) } ?? start.startIndex))
    )
  }
}
