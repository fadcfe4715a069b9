import HTTPParsing

@testable import ContentDelivery
@testable import HTTPServer

/// A request for content as both of its readers get it: as bytes of a loop, and as a request off the loops.
struct ContentRequest: Sendable {
  var method = HTTPMethod.get
  var target = "/"
  var fields: [(name: String, value: String)] = []
  var peer = PeerAddress.unix

  /// The host that the client asks.
  static let host = "pull.example"

  /// The request off the loops.
  func read() throws -> HTTPRequest {
    var headers: HTTPFields = ["Host": Self.host]
    for (name, value) in fields { headers.append(name: name, value: value) }
    var request = try HTTPRequest(method: method, rawTarget: target, headers: headers)
    request.peer = peer
    return request
  }

  /// The head as it comes in on a connection.
  var bytes: [UInt8] {
    let lines = fields.map { "\($0.name): \($0.value)\r\n" }.joined()
    return Array("\(method) \(target) HTTP/1.1\r\nHost: \(Self.host)\r\n\(lines)\r\n".utf8)
  }

  /// Calls `body` with the head as a loop has read it, and with the bytes in which its fields stand.
  func withHead<Result>(_ body: (borrowing RequestHead, Span<UInt8>) throws -> Result) throws -> Result {
    let bytes = bytes
    var parser = RequestParser()
    let limits = RequestLimits(requestLineLength: 8192, headLength: 16_384, fields: 64)
    guard parser.parse(bytes.span, limits: limits) == .complete else { throw UnreadableHead() }
    return try body(parser.head, bytes.span)
  }

  private struct UnreadableHead: Error {}
}

/// A response to a request for content, as its client gets it.
struct ContentResponse: Sendable {
  var status: Int
  /// By their names in lower case.
  var fields: [String: String]
  /// Bytes, those of files included.
  var body: [UInt8]
  /// Bytes a second at which the body is to leave; nil for one that is not paced.
  var pacing: UInt64?

  /// The value of a field, whatever its case.
  subscript(name: String) -> String? { fields[name.lowercased()] }

  /// The fields that the content, the request and its decision make: without those that the engine adds to every response.
  var ownFields: [String: String] {
    fields.filter { !["date", "content-length", "x-request-id"].contains($0.key) }
  }
}

extension ContentResponse {
  /// The response of the routes. `content` has the bytes of each file that it sends from.
  init(_ response: HTTPResponse, to method: HTTPMethod, content: [UInt8]) {
    status = response.status.rawValue
    fields = Dictionary(
      response.headers.map { ($0.name.lowercased(), $0.value) }, uniquingKeysWith: { "\($0), \($1)" })
    pacing = response.pacing
    func bytes(_ part: BodyPart) -> [UInt8] {
      switch part {
      case .bytes(let bytes): bytes
      case .file(_, let range): Array(content[Int(range.lowerBound)..<Int(range.upperBound)])
      }
    }
    // The engine leaves the body of a response to HEAD out.
    body =
      switch response.body {
      case _ where method == .head: []
      case .none, .stream: []
      case .bytes(let bytes): bytes
      case .file(_, let range, _): Array(content[Int(range.lowerBound)..<Int(range.upperBound)])
      case .parts(let parts, _): parts.flatMap(bytes)
      }
  }
}

extension ContentHandler {
  /// The handler's response on a loop; nil where it leaves the request to the routes. `state` is the connection's.
  func response(
    to request: ContentRequest, state: inout VerifiedTicket, content: [UInt8]
  ) throws -> ContentResponse? {
    let capacity = 16_384
    let scratch = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
    defer { unsafe scratch.deallocate() }
    return try request.withHead { head, bytes -> ContentResponse? in
      var response = unsafe InlineResponse(
        base: scratch, capacity: capacity, date: HTTPDateField(secondsSinceEpoch: 0),
        isHead: head.method == .head, minorVersion: 1, closes: false, strictTransportSeconds: nil,
        requestIdentifier: 7, peer: request.peer, file: nil, meter: nil)
      guard respond(head: head, bytes: bytes, state: &state, response: &response) == .answered else {
        return nil
      }
      let written = unsafe Array(UnsafeBufferPointer(start: scratch, count: response.count))
      let lines = String(decoding: written[..<response.headLength], as: UTF8.self).split(separator: "\r\n")
      var body = Array(written[response.headLength...])
      if case .file(let range) = response.content {
        body += content[Int(range.lowerBound)..<Int(range.upperBound)]
      }
      return ContentResponse(
        status: lines.first.flatMap { Int($0.split(separator: " ")[1]) } ?? 0,
        fields: Dictionary(
          lines.dropFirst().map { line in
            let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
            return (parts[0].lowercased(), String(parts[1]))
          }, uniquingKeysWith: { "\($0), \($1)" }),
        body: body, pacing: response.pacing == .max ? nil : response.pacing)
    }
  }
}
