import PullboxAPIServer
import HTTPServer
import CoreTypes

/// The problem types that draft-ietf-httpbis-resumable-upload registers, with their own members.
struct ResumableProblem: Error, Hashable, Sendable, Encodable {
  private static let prefix = "https://iana.org/assignments/http-problem-types#"

  private enum CodingKeys: String, CodingKey {
    case type
    case title
    case status
    case expectedOffset = "expected-offset"
    case providedOffset = "provided-offset"
  }

  let type: String
  let title: String
  let status: Int
  var expectedOffset: Int64?
  var providedOffset: Int64?

  private init(_ name: String, _ status: Int, _ title: String) {
    type = Self.prefix + name
    self.title = title
    self.status = status
  }

  static func mismatchingOffset(expected: ByteCount, provided: ByteCount) -> ResumableProblem {
    var problem = ResumableProblem(
      "mismatching-upload-offset", 409, "the upload stands at another offset than the request says")
    problem.expectedOffset = expected.rawValue
    problem.providedOffset = provided.rawValue
    return problem
  }

  static let inconsistentLength = ResumableProblem(
    "inconsistent-upload-length", 400, "the lengths that were given for the upload do not agree")
  static let completedUpload = ResumableProblem(
    "completed-upload", 400, "the upload is complete; nothing can be added to it")

  func response() throws -> HTTPResponse {
    var response = try HTTPResponse.json(self, status: HTTPStatus(rawValue: status))
    response.headers["Content-Type"] = "application/problem+json"
    response.headers["Upload-Complete"] = "?0"
    if let expectedOffset { response.headers["Upload-Offset"] = String(expectedOffset) }
    return response
  }
}
