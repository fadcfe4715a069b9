@testable import HTTPParsing

/// Rules of ``ChunkedBodyParser`` for any bytes.
enum ChunkProperties {
  enum Outcome: Hashable {
    case complete(body: [UInt8], end: Int)
    case incomplete([UInt8])
    case invalid
  }

  static func check(_ bytes: [UInt8]) -> String? {
    let whole = read(bytes.span, pieces: max(1, bytes.count))
    for pieces in [1, 2, 7] where pieces < bytes.count && read(bytes.span, pieces: pieces) != whole {
      return "in pieces of \(pieces) it means something else"
    }
    guard case .complete(let body, let end) = whole else { return nil }
    if end > bytes.count { return "more was read than there is" }
    if read(bytes.span.extracting(..<end), pieces: end) != whole { return "what follows a body changes it" }
    // Written anew as one chunk, it is the same body.
    let size = body.isEmpty ? "" : String(body.count, radix: 16) + "\r\n"
    let again = Array(size.utf8) + body + Array((body.isEmpty ? "" : "\r\n").utf8) + Array("0\r\n\r\n".utf8)
    return read(again.span, pieces: again.count) == .complete(body: body, end: again.count)
      ? nil : "another body"
  }

  private static func read(_ bytes: Span<UInt8>, pieces: Int) -> Outcome {
    var parser = ChunkedBodyParser(lineLimit: 256)
    var body: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: pieces) {
      let piece = bytes.extracting(start..<min(bytes.count, start + pieces))
      var position = 0
      reading: while true {
        switch parser.next(piece, from: &position) {
        case .needsMore: break reading
        case .bytes(let range): for index in range { body.append(piece[index]) }
        case .end: return .complete(body: body, end: start + position)
        case .invalid: return .invalid
        }
      }
    }
    return .incomplete(body)
  }
}
