import HTTPServer
package import PullboxAPI
import PullboxAPIServer
import ServiceAPI

extension HTTPRequest {
  /// The reason in the body, which may be left out with its body. Throws like ``checkedReason(_:)`` and ``decode(_:upTo:)``.
  package func reason() async throws(Problem) -> String? {
    try Self.checkedReason(try await decodeIfPresent(ReasonBody.self)?.reason)
  }

  /// Empty counts as none. Throws `request-malformed` for one that is longer than the audit log keeps.
  package static func checkedReason(_ text: String?) throws(Problem) -> String? {
    guard let text, !text.isEmpty else { return nil }
    guard text.unicodeScalars.count <= ReasonBody.maximumLength else {
      throw Problem(.requestMalformed, "a reason has at most \(ReasonBody.maximumLength) characters")
    }
    return text
  }
}

extension ReasonBody {
  /// Unicode characters, which is how JSON Schema counts: 2000 bytes at most.
  static let maximumLength = 500
}
