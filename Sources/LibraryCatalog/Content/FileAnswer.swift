import HTTPParsing
package import HTTPServer
package import PullboxAPI
import PullboxAPIServer

/// The answer to a request for bytes that have a strong validator, without its body: 200, 206, 304 or 416 (RFC 9110 §13 and §14). Several
/// ranges are answered with the whole (§14.2). Pure.
package struct FileAnswer: Sendable {
  /// The status and the fields.
  package private(set) var response: HTTPResponse
  /// The bytes of the body; nil where the answer has none.
  package private(set) var range: Range<Int64>?
  private let length: Int64

  /// Decides by the request's conditions and ranges. Throws `precondition-failed`.
  package init(
    to request: HTTPRequest, entityTag: String, length: Int64, type: String, headers: HTTPFields
  ) throws(Problem) {
    self.length = length
    response = HTTPResponse(status: .ok, headers: headers)
    response.headers["ETag"] = entityTag
    response.headers["Accept-Ranges"] = "bytes"
    range = 0..<length
    switch (
      Preconditions(request, entityTag: entityTag).verdict, RangeSet.requested(request, length: length)
    ) {
    case (.failed, _): throw Problem(.preconditionFailed, "what is here has the tag \(entityTag)")
    case (.notModified, _):
      response.status = .notModified
      range = nil
      return
    case (.proceed, .unsatisfiable):
      response.status = .rangeNotSatisfiable
      response.headers["Content-Range"] = "bytes */\(length)"
      range = nil
      return
    case (.proceed, .single(let part)):
      response.status = .partialContent
      narrow(to: part)
    case (.proceed, .ignore), (.proceed, .several), (.proceedWithoutRange, _): break
    }
    response.headers["Content-Type"] = type
  }

  /// Whether a part was asked for: then less of it than was asked for may be sent (RFC 9110 §15.3.7).
  package var isPartial: Bool { response.status == .partialContent }

  /// Sends this part alone of what was asked for.
  package mutating func narrow(to part: Range<Int64>) {
    range = part
    response.headers["Content-Range"] = "bytes \(part.lowerBound)-\(part.upperBound - 1)/\(length)"
  }

  /// The response with that body.
  package func with(_ body: ResponseBody) -> HTTPResponse {
    var response = response
    response.body = body
    return response
  }
}
