public import HTTPServer
public import PullboxAPI

extension HTTPRequest {
  /// The field by which a client marks the repetitions of one request (draft-ietf-httpapi-idempotency-key-header).
  public static let idempotencyKeyField = "Idempotency-Key"

  /// Returns the key that the client made up for this request and its repetitions, without quotation marks; nil without
  /// the field. Throws `request-malformed` for a request with two of them, or for a value that is neither a string of RFC
  /// 9651 nor the same without its quotation marks.
  public func idempotencyKey() throws(Problem) -> String? {
    let maximumLength = 255
    let values = headers.values(of: Self.idempotencyKeyField)
    guard let value = values.first else { return nil }
    let isQuoted = value.utf8.count >= 2 && value.hasPrefix("\"") && value.hasSuffix("\"")
    let text = isQuoted ? String(value.dropFirst().dropLast()) : value
    // Visible characters of ASCII, but for the two that a string of RFC 9651 escapes.
    let isText = text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    guard values.count == 1, isText, (1...maximumLength).contains(text.utf8.count) else {
      throw Problem(
        .requestMalformed,
        "\(Self.idempotencyKeyField) is one string of 1 to \(maximumLength) visible characters")
    }
    return text
  }
}
