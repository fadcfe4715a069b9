import CoreTypes
import HTTPParsing
import HTTPServer

/// An inline handler that serves one file at `/file`, and a few words elsewhere.
struct FileHandler: InlineHandler {
  let file: SharedDescriptor
  let meter = ByteMeter()

  /// Requests answered on a connection.
  struct ConnectionState {
    var count: Int64 = 0
  }

  func makeConnectionState() -> ConnectionState { ConnectionState() }

  func respond(
    head: borrowing RequestHead, bytes: Span<UInt8>, state: inout ConnectionState,
    response: inout InlineResponse
  ) -> InlineOutcome {
    let path = String(decoding: head.path.map { bytes[$0] }, as: UTF8.self)
    state.count += 1
    switch path {
    case "/file":
      let length = file.length.rawValue
      switch RangeSet.requested(head: head, bytes: bytes, length: length) {
      case .ignore:
        response.start(.ok)
        response.finish(file: file, range: 0..<length, meter: meter)
      case .single(let range):
        response.start(.partialContent)
        response.appendContentRange(range, of: length)
        response.finish(file: file, range: range, meter: meter)
      case .several(let ranges):
        let multipart = MultipartRanges(ranges, of: file, partType: "text/plain", boundary: "edge")
        let type = Array(multipart.contentType.utf8)
        response.start(.partialContent)
        response.append(name: "Content-Type", value: type.span)
        response.finish(parts: multipart.parts, meter: meter)
      case .unsatisfiable:
        response.start(.rangeNotSatisfiable)
        response.appendUnsatisfiedContentRange(of: length)
        response.finish()
      }
    case "/count":
      let text = Array("request \(state.count)".utf8)
      response.start(.ok)
      response.append(name: "X-Count", value: state.count)
      response.finish(bytes: text.span)
    case "/beyond":
      response.start(.ok)
      response.finish(file: file, range: 0..<file.length.rawValue + 1)
    case "/broken":
      let evil = Array("a\r\nInjected: b".utf8)
      response.start(.ok)
      response.append(name: "X-Evil", value: evil.span)
      response.finish()
    case "/unmodified":
      response.start(.notModified)
      response.finish()
    default: return .deferToAsync
    }
    return .answered
  }
}
