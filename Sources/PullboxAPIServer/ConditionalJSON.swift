import CZlib
public import CoreTypes
import Crypto
import HTTPParsing
public import HTTPServer
public import PullboxAPI

/// A JSON document that clients keep and ask for again: `ETag`, `Last-Modified`, 304, gzip.
public enum ConditionalJSON {
  /// The document's two forms with their tags, made once and sent any number of times.
  public struct Document: Sendable {
    struct Form: Sendable {
      var bytes: [UInt8]
      /// The strong `ETag`, which covers the bytes as they are sent.
      var tag: String

      init(_ bytes: [UInt8]) {
        self.bytes = bytes
        tag = "\"\(SHA256Digest.of(bytes))\""
      }
    }

    let plain: Form
    /// Nil for a document that is made for who wants it plain.
    let compressed: Form?
    let lastModified: Timestamp?

    /// Bytes of all forms.
    public var length: ByteCount { ByteCount(plain.bytes.count + (compressed?.bytes.count ?? 0)) }

    /// Encodes and compresses `value`, which was last changed then. Throws what the encoder throws.
    public init(_ value: some Encodable, lastModified: Timestamp) throws {
      try self.init(bytes: try APIJSON.encode(value), lastModified: lastModified)
    }

    /// Compresses a document that is encoded already, of any type, unless it is for one who wants it plain. Without a date only its tag
    /// tells whether it has changed. Throws what zlib says.
    public init(bytes: [UInt8], lastModified: Timestamp?, compressing isCompressed: Bool = true) throws {
      plain = Form(bytes)
      compressed = isCompressed ? Form(try Gzip.compress(bytes)) : nil
      self.lastModified = lastModified
    }
  }

  /// The answer to a GET or HEAD, after the request's preconditions (RFC 9110 §13). Throws `precondition-failed`.
  public static func response(
    to request: HTTPRequest, document: Document, cacheControl: String,
    contentType: String = "application/json"
  ) throws(Problem) -> HTTPResponse {
    let compressed = acceptsGzip(request) ? document.compressed : nil
    let form = compressed ?? document.plain
    var headers: HTTPFields = ["ETag": form.tag]
    if let date = document.lastModified { headers["Last-Modified"] = HTTPDate.format(date) }
    headers["Cache-Control"] = cacheControl
    headers["Vary"] = "Accept-Encoding"
    switch Preconditions(request, entityTag: form.tag, lastModified: document.lastModified).verdict {
    case .notModified:
      return HTTPResponse(status: .notModified, headers: headers)
    case .failed:
      throw Problem(.preconditionFailed, "what is here has the tag \(form.tag)")
    case .proceed, .proceedWithoutRange:
      headers["Content-Type"] = contentType
      if compressed != nil { headers["Content-Encoding"] = "gzip" }
      return HTTPResponse(status: .ok, headers: headers, body: .bytes(form.bytes))
    }
  }

  /// Whether a compressed answer is wanted. RFC 9110 §12.5.3: `gzip` or `x-gzip` listed with a weight above zero; where neither is listed, `*`.
  public static func acceptsGzip(_ request: HTTPRequest) -> Bool {
    let codings = request.headers.values(of: "Accept-Encoding").joined(separator: ",")
    var others = false
    for coding in codings.lowercased().split(separator: ",") {
      let parts = coding.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
      guard let name = parts.first, ["gzip", "x-gzip", "*"].contains(name) else { continue }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
      guard name == "*" else { return weight > 0 }
      others = weight > 0
    }
    return others
  }
}

/// Compresses small documents into the gzip format (RFC 1952), in memory.
package enum Gzip {
  struct Failure: Error, CustomStringConvertible {
    var code: Int32
    var description: String { "zlib refused to compress: \(code)" }
  }

  /// Throws what zlib says.
  package static func compress(_ bytes: [UInt8]) throws -> [UInt8] {
    var stream = unsafe z_stream()
    // 15 window bits, and 16 more for a gzip header in place of zlib's.
    let started = unsafe czlib_deflate_init(&stream, Z_DEFAULT_COMPRESSION, 15 + 16, 8)
    guard started == Z_OK else { throw Failure(code: started) }
    defer { _ = unsafe deflateEnd(&stream) }
    var input = bytes
    var output = [UInt8](repeating: 0, count: Int(unsafe deflateBound(&stream, UInt(bytes.count))))
    let result = unsafe input.withUnsafeMutableBufferPointer { input in
      unsafe output.withUnsafeMutableBufferPointer { output in
        unsafe stream.next_in = input.baseAddress
        unsafe stream.avail_in = UInt32(input.count)
        unsafe stream.next_out = output.baseAddress
        unsafe stream.avail_out = UInt32(output.count)
        return unsafe deflate(&stream, Z_FINISH)
      }
    }
    guard result == Z_STREAM_END else { throw Failure(code: result) }
    output.removeLast(Int(unsafe stream.avail_out))
    return output
  }
}
