import HTTPServer
import PullboxAPI
import PullboxAPIServer

extension HTTPRequest {
  /// The reason in the body, which may be left out with its body. Throws like ``checkedReason(_:)`` and ``decode(_:upTo:)``.
  func reason() async throws(Problem) -> String? {
    try Self.checkedReason(try await decodeIfPresent(ReasonBody.self)?.reason)
  }

  /// Empty counts as none. Throws `request-malformed` for one that is longer than the audit log keeps.
  static func checkedReason(_ text: String?) throws(Problem) -> String? {
    guard let text, !text.isEmpty else { return nil }
    guard text.utf8.count <= ReasonBody.maximumLength else {
      throw Problem(.requestMalformed, "a reason has at most \(ReasonBody.maximumLength) bytes")
    }
    return text
  }
}

extension ReasonBody {
  /// Bytes of UTF-8.
  static let maximumLength = 2000
}
