import Crypto
import HTTPServer
import PullboxAPIServer

/// The files of the console's pages. Their addresses have their digests, so that browsers keep them for good.
struct ConsoleAsset: Sendable {
  let name: String
  private let mediaType: String
  private let bytes: [UInt8]
  /// The same compressed; nil where that could not be done.
  private let compressed: [UInt8]?
  private let digest: String

  private init(_ name: String, _ mediaType: String, _ text: String) {
    self.name = name
    self.mediaType = mediaType
    bytes = Array(text.utf8)
    compressed = try? Gzip.compress(bytes)
    digest = String(SHA256Digest.of(bytes).hexadecimal.prefix(16))
  }

  static let style = ConsoleAsset("console.css", "text/css; charset=utf-8", ConsoleStyle.text)
  static let script = ConsoleAsset(
    "console.js", "text/javascript; charset=utf-8", ConsoleScript.text + UploadScript.text)
  static let icon = ConsoleAsset("icon.svg", "image/svg+xml", ConsoleStyle.icon)
  /// The picture of a product whose package has no cover.
  static let noCover = ConsoleAsset("no-cover.svg", "image/svg+xml", ConsoleStyle.noCover)
  static let all = [style, script, icon]

  /// Where browsers find it.
  var address: Address { .console("assets", digest, name) }

  /// How many bytes it has.
  var length: Int { bytes.count }

  /// The answer to a request for it; `digest` is the one in the address. Another server's page may ask for another version.
  func response(to request: HTTPRequest, digest asked: String) -> HTTPResponse {
    let isCompressed = compressed != nil && ConditionalJSON.acceptsGzip(request)
    let form = isCompressed ? compressed ?? bytes : bytes
    var headers: HTTPFields = [
      "ETag": EntityTag.of(form), "X-Content-Type-Options": "nosniff", "Vary": "Accept-Encoding",
      "Cache-Control": asked == digest ? "private, max-age=31536000, immutable" : "no-cache",
    ]
    if request.headers.values(of: "If-None-Match").contains(EntityTag.of(form)) {
      return HTTPResponse(status: .notModified, headers: headers)
    }
    headers["Content-Type"] = mediaType
    if isCompressed { headers["Content-Encoding"] = "gzip" }
    return HTTPResponse(status: .ok, headers: headers, body: .bytes(form))
  }
}
