import CoreTypes
import HTTPParsing
import HTTPServer
import SystemCalls

/// A representation of 1000 bytes as ``SemanticsVector`` asks for it: inline at `/inline`, by the async
/// handler at `/async`; and any status at `/inline/STATUS` and `/async/STATUS`, with the content `[]` where
/// it may have some.
struct Representation: InlineHandler, AsyncHandler {
  static let content = (0..<1000).map { UInt8(truncatingIfNeeded: $0 % 251) }
  static let modified = Timestamp(millisecondsSinceEpoch: 784_111_777_000)
  static let tag = "\"v1\""

  let file: SharedDescriptor

  init(path: String) throws {
    let descriptor = try FileDescriptor.open(path, .readWrite, options: .create)
    let content = Self.content
    try descriptor.write(content.span, at: .zero)
    file = try SharedDescriptor(descriptor)
  }

  func makeConnectionState() {}

  func respond(
    head: borrowing RequestHead, bytes: Span<UInt8>, state: inout Void, response: inout InlineResponse
  ) -> InlineOutcome {
    let path = String(decoding: head.path.map { bytes[$0] }, as: UTF8.self)
    guard path.hasPrefix("/inline") else { return .deferToAsync }
    if let status = Self.status(path) {
      let body = Array("[]".utf8)
      response.start(status)
      if head.method == .head { response.append(name: "X-Method", value: "HEAD") }
      response.finish(bytes: body.span)
      return .answered
    }
    let tag = Array(Self.tag.utf8)
    let conditions = Preconditions(
      head: head, bytes: bytes, entityTag: tag.span, lastModified: Self.modified, isLastModifiedStrong: true)
    var ranges = RangeSet.requested(head: head, bytes: bytes, length: 1000)
    switch conditions.verdict {
    case .proceed: break
    case .proceedWithoutRange: ranges = .ignore
    case .notModified:
      response.start(.notModified)
      response.finish()
      return .answered
    case .failed:
      response.start(.preconditionFailed)
      if head.method == .head { response.append(name: "X-Method", value: "HEAD") }
      response.finish()
      return .answered
    }
    switch ranges {
    case .ignore:
      response.start(.ok)
      if head.method == .head { response.append(name: "X-Method", value: "HEAD") }
      response.finish(file: file, range: 0..<1000)
    case .single(let range):
      response.start(.partialContent)
      response.appendContentRange(range, of: 1000)
      response.finish(file: file, range: range)
    case .several(let ranges):
      let multipart = MultipartRanges(ranges, of: file, partType: "text/plain")
      let type = Array(multipart.contentType.utf8)
      response.start(.partialContent)
      response.append(name: "Content-Type", value: type.span)
      response.finish(parts: multipart.parts)
    case .unsatisfiable:
      response.start(.rangeNotSatisfiable)
      response.appendUnsatisfiedContentRange(of: 1000)
      response.finish()
    }
    return .answered
  }

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    var response = answer(request)
    if request.method == .head { response.headers["X-Method"] = "HEAD" }
    return response
  }

  private func answer(_ request: HTTPRequest) -> HTTPResponse {
    if let status = Self.status(request.path) {
      return HTTPResponse(status: status, body: .bytes(Array("[]".utf8)))
    }
    guard request.path == "/async" else {
      return HTTPResponse(
        status: .ok, body: .bytes(Array("\(request.method) \(request.rawTarget) []".utf8)))
    }
    let conditions = Preconditions(
      request, entityTag: Self.tag, lastModified: Self.modified, isLastModifiedStrong: true)
    var ranges = RangeSet.requested(request, length: 1000)
    switch conditions.verdict {
    case .proceed: break
    case .proceedWithoutRange: ranges = .ignore
    case .notModified: return HTTPResponse(status: .notModified)
    case .failed: return HTTPResponse(status: .preconditionFailed)
    }
    switch ranges {
    case .ignore: return HTTPResponse(status: .ok, body: .file(file, 0..<1000))
    case .single(let range):
      return HTTPResponse(
        status: .partialContent,
        headers: ["Content-Range": "bytes \(range.lowerBound)-\(range.upperBound - 1)/1000"],
        body: .file(file, range))
    case .several(let ranges):
      let multipart = MultipartRanges(ranges, of: file, partType: "text/plain")
      return HTTPResponse(
        status: .partialContent, headers: ["Content-Type": multipart.contentType],
        body: .parts(multipart.parts))
    case .unsatisfiable:
      return HTTPResponse(status: .rangeNotSatisfiable, headers: ["Content-Range": "bytes */1000"])
    }
  }

  private static func status(_ path: String) -> HTTPStatus? {
    path.split(separator: "/").dropFirst().first.flatMap { Int($0) }.map { HTTPStatus(rawValue: $0) }
  }

  /// The response that came, spelled as a vector's answer; an error where content and fields do not fit each other.
  static func summary(_ response: Transcript.Response, method: String) throws -> String {
    func check(_ isTrue: Bool, _ what: String) throws {
      guard isTrue else { throw Transcript.Failure(description: "\(response.status): \(what)") }
    }
    let range = response.values("content-range")
    switch response.status {
    case 200:
      try check(range.isEmpty, "a range of the whole")
      try check(response.values("content-length") == ["1000"], "the length")
      try check(method == "HEAD" || response.body == content, "other bytes")
      return "200"
    case 206:
      if let type = response.values("content-type").first, type.hasPrefix("multipart/byteranges; boundary=") {
        try check(range.isEmpty, "a range of several")
        let parts = try Multipart(response.body, boundary: String(type.dropFirst(31)))
        return try "206 " + parts.parts.map { try place($0.range, $0.body) }.joined(separator: ",")
      }
      try check(range.count == 1, "\(range.count) ranges")
      return "206 " + (try place(range[0], response.body))
    case 416:
      try check(range.count == 1 && range[0].hasPrefix("bytes "), "ranges: \(range)")
      return "416 \(range[0].dropFirst(6))"
    default: return "\(response.status)"
    }
  }

  /// `0-5` of `bytes 0-5/1000`, if these are its bytes.
  private static func place(_ field: String, _ body: [UInt8]) throws -> String {
    let ends = field.dropFirst(6).prefix { $0 != "/" }.split(separator: "-").compactMap { Int($0) }
    guard field.hasPrefix("bytes "), field.hasSuffix("/1000"), ends.count == 2, ends[0] <= ends[1],
      ends[1] < 1000,
      body == Array(content[ends[0]...ends[1]])
    else { throw Transcript.Failure(description: "\(field) of \(body.count) bytes") }
    return "\(ends[0])-\(ends[1])"
  }
}
