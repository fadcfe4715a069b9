package import DeliveryRecords
import HTTPParsing
package import HTTPServer
package import PullboxAPI
import PullboxAPIServer

extension HTTPResponse {
  /// The answer with a cover or a sample, after the request's preconditions. The entity tag is the SHA-256 of the content. Throws
  /// `precondition-failed`.
  package static func preview(
    _ preview: PreviewTable.Preview, to request: HTTPRequest, cacheControl: String
  ) throws(Problem) -> HTTPResponse {
    let tag = "\"\(preview.digest)\""
    var headers: HTTPFields = ["ETag": tag, "Cache-Control": cacheControl]
    switch Preconditions(request, entityTag: tag).verdict {
    case .notModified: return HTTPResponse(status: .notModified, headers: headers)
    case .failed: throw Problem(.preconditionFailed, "what is here has the tag \(tag)")
    case .proceed, .proceedWithoutRange:
      headers["Content-Type"] = preview.mediaType
      // Publishers' bytes are shown, and never run.
      headers["X-Content-Type-Options"] = "nosniff"
      headers["Content-Security-Policy"] = "sandbox; default-src 'none'"
      return HTTPResponse(status: .ok, headers: headers, body: .bytes(preview.content))
    }
  }
}
