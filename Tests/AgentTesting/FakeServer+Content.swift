import ContentPackage
import CoreTypes
import Crypto
import HTTPServer
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime

extension FakeServer {
  /// Thrown where a test wants a connection to break.
  private struct Cut: Error {}

  /// One content response, with the next fault that the test has lined up.
  func content(_ package: FixturePackage, _ request: HTTPRequest) async throws -> HTTPResponse {
    let fault = state.withLock { state in
      state.contentFaults.isEmpty ? ContentFault.faultless : state.contentFaults.removeFirst()
    }
    if case .problem(let code) = fault { throw Problem(code) }
    if case .deaf(let asked) = fault {
      asked.signal()
      // Until the peer gives up, which cancels this.
      try await Task.sleep(for: .seconds(600))
    }
    let tag = "\"\(package.manifest.digest.hexadecimal)\""
    guard let asked = Self.range(request, length: package.bytes.count), request.headers["If-Range"] == tag
    else {
      throw Problem(.requestMalformed, "one Range and If-Range are expected")
    }
    var start = asked.lowerBound
    var headers: HTTPFields = ["ETag": tag, "Accept-Ranges": "bytes"]
    var status = HTTPStatus.partialContent
    var end = asked.upperBound
    switch fault {
    case .whole: (status, start, end) = (.ok, 0, package.bytes.count)
    case .early(let count): start = max(0, start - count)
    case .otherTag: headers["ETag"] = "\"other\""
    default: break
    }
    if status == .partialContent {
      headers["Content-Range"] = "bytes \(start)-\(end - 1)/\(package.bytes.count)"
    }
    var body = Array(package.bytes[start..<end])
    if case .damagedCut(_, let offset) = fault, (start..<end).contains(offset) {
      body[offset - start] ^= 0x40
    }
    if case .flip(let offset) = fault, (start..<end).contains(offset) { body[offset - start] ^= 0x40 }
    let isSlow = state.current.slowContent.contains(package.manifest.product)
    return HTTPResponse(status: status, headers: headers, body: stream(body, start, fault, isSlow: isSlow))
  }

  private func stream(
    _ body: [UInt8], _ start: Int, _ fault: ContentFault, isSlow: Bool
  ) -> ResponseBody {
    .stream(contentLength: Int64(body.count)) { writer in
      switch fault {
      case .cut(let most), .damagedCut(let most, _):
        let count = min(most, body.count)
        self.change { $0.sent.append(start..<start + count) }
        try await writer.write(Array(body.prefix(count)))
        throw Cut()
      case .stall(let count):
        self.change { $0.sent.append(start..<start + count) }
        try await writer.write(Array(body.prefix(count)))
        // Until the peer gives up, which cancels this.
        try await Task.sleep(for: .seconds(60))
      default:
        self.change { $0.sent.append(start..<start + body.count) }
        guard isSlow else { return try await writer.write(body) }
        try await writer.write(Array(body.prefix(body.count / 2)))
        try await Task.sleep(for: .milliseconds(50))
        try await writer.write(Array(body.dropFirst(body.count / 2)))
      }
    }
  }

  /// Returns the part of a manifest that is asked for, from a byte on where the tag is the manifest's, over a connection that breaks.
  func manifest(_ document: [UInt8], _ request: HTTPRequest, cutAfter cut: Int) -> HTTPResponse {
    let isKnown = request.headers["If-Range"] == "\"\(SHA256Digest.of(document))\""
    let text = request.headers["Range"].flatMap { $0.split(separator: "=").last?.split(separator: "-").first }
    let start = isKnown ? text.flatMap { Int($0) } ?? 0 : 0
    let sent = start..<min(start + cut, document.count)
    change { $0.manifestsSent.append(sent) }
    let headers: HTTPFields =
      start == 0 ? [:] : ["Content-Range": "bytes \(start)-\(document.count - 1)/\(document.count)"]
    return HTTPResponse(
      status: start == 0 ? .ok : .partialContent, headers: headers,
      body: .stream(contentLength: Int64(document.count - start)) { writer in
        try await writer.write(Array(document[sent]))
        if sent.upperBound < document.count { throw Cut() }
      })
  }

  private static func range(_ request: HTTPRequest, length: Int) -> Range<Int>? {
    let values = request.headers.values(of: "Range")
    guard values.count == 1, values[0].hasPrefix("bytes=") else { return nil }
    let ends = values[0].dropFirst(6).split(separator: "-").compactMap { Int($0) }
    guard ends.count == 2, ends[0] <= ends[1], ends[1] < length else { return nil }
    return ends[0]..<ends[1] + 1
  }
}
