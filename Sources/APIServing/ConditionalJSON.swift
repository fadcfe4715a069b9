import CZlib
import Digests
public import HTTPServer
public import Measures
import PullboxAPI

/// A JSON document that clients keep and ask for again: `ETag`, `Last-Modified`, 304, gzip.
public enum ConditionalJSON {
  /// The answer to a GET or HEAD, after the request's preconditions (RFC 9110 §13). The strong `ETag` covers the bytes as
  /// they are sent, so it differs between the plain and the compressed form.
  public static func response(
    to request: HTTPRequest, value: some Encodable, lastModified: Timestamp, cacheControl: String
  ) throws -> HTTPResponse {
    let plain = try WireJSON.encode(value)
    let compressed = acceptsGzip(request) ? try Gzip.compress(plain) : nil
    let body = compressed ?? plain
    let tag = "\"\(SHA256Digest.of(body))\""
    var headers: HTTPFields = [
      "ETag": tag, "Last-Modified": HTTPDate.format(lastModified),
      "Cache-Control": cacheControl, "Vary": "Accept-Encoding",
    ]
    switch Preconditions(request, entityTag: tag, lastModified: lastModified).verdict {
    case .notModified:
      return HTTPResponse(status: .notModified, headers: headers)
    case .failed:
      return HTTPResponse(status: .preconditionFailed, headers: headers)
    case .proceed, .proceedWithoutRange:
      headers["Content-Type"] = "application/json"
      if compressed != nil { headers["Content-Encoding"] = "gzip" }
      return HTTPResponse(status: .ok, headers: headers, body: .bytes(body))
    }
  }

  /// RFC 9110 §12.5.3: `gzip`, `x-gzip` or `*` listed with a weight above zero.
  private static func acceptsGzip(_ request: HTTPRequest) -> Bool {
    let codings = request.headers.values(of: "Accept-Encoding").joined(separator: ",")
    for coding in codings.lowercased().split(separator: ",") {
      let parts = coding.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
      guard let name = parts.first, ["gzip", "x-gzip", "*"].contains(name) else { continue }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
      return weight > 0
    }
    return false
  }
}
