/// Puts response heads together from the lines libcurl hands over, one after the other: interim heads and
/// those of followed redirects come out like any other, and the caller decides.
struct HeadParser {
  enum Outcome: Equatable {
    case incomplete
    case head(ResponseHead)
    case violation(String)
  }

  static let maximumLength = 64 << 10
  static let maximumFields = 256

  private var status: Int?
  private var fields: [ResponseFields.Field] = []
  private var length = 0

  /// `line` with or without its line break, a line feed behind one carriage return or none.
  mutating func accept(line: Span<UInt8>) -> Outcome {
    length += line.count
    guard length <= Self.maximumLength else { return .violation("the response's head is too long") }
    var end = line.count
    if end > 0, line[end - 1] == 0x0A { end -= 1 }
    if end > 0, line[end - 1] == 0x0D { end -= 1 }
    // RFC 9112 §2.2: another reader could take it for the end of the line. That holds for a second one in front of the line break too.
    guard !(0..<end).contains(where: { line[$0] == 0x0D || line[$0] == 0x0A }) else {
      return .violation("the response's head has a carriage return or a line feed within a line")
    }
    guard let status else { return acceptStatus(line, end: end) }
    if end == 0 {
      let head = ResponseHead(status: status, headers: ResponseFields(fields))
      self = HeadParser()
      return .head(head)
    }
    return acceptField(line, end: end)
  }

  /// `HTTP/`, a version, a space, three digits, and nothing or a space and what the peer calls the status.
  private mutating func acceptStatus(_ line: Span<UInt8>, end: Int) -> Outcome {
    let violation = Outcome.violation("the response's first line is not a status line")
    let word = "HTTP/".utf8.span
    guard end >= word.count, word.indices.allSatisfy({ line[$0] == word[$0] }) else { return violation }
    var position = word.count
    while position < end, line[position] != 0x20 { position += 1 }
    while position < end, line[position] == 0x20 { position += 1 }
    guard position + 3 <= end, position + 3 == end || line[position + 3] == 0x20 else { return violation }
    var status = 0
    for index in position..<position + 3 {
      guard (0x30...0x39).contains(line[index]) else { return violation }
      status = status * 10 + Int(line[index] - 0x30)
    }
    guard status >= 100 else { return violation }
    self.status = status
    return .incomplete
  }

  private mutating func acceptField(_ line: Span<UInt8>, end: Int) -> Outcome {
    if line[0] == 0x20 || line[0] == 0x09 {
      // Obsolete folding (RFC 9112 §5.2): the line belongs to the field before.
      guard let last = fields.indices.last else { return .violation("the response's head starts folded") }
      let more = trimmed(line, from: 0, to: end)
      if !more.isEmpty { fields[last].value += fields[last].value.isEmpty ? more : " " + more }
      return .incomplete
    }
    var colon = 0
    while colon < end, line[colon] != 0x3A { colon += 1 }
    guard colon > 0, colon < end else { return .violation("a line of the response's head is not a field") }
    guard fields.count < Self.maximumFields else { return .violation("the response has too many fields") }
    fields.append(
      ResponseFields.Field(
        name: text(line, from: 0, to: colon), value: trimmed(line, from: colon + 1, to: end)))
    return .incomplete
  }

  private func trimmed(_ line: Span<UInt8>, from start: Int, to end: Int) -> String {
    var start = start
    var end = end
    while start < end, line[start] == 0x20 || line[start] == 0x09 { start += 1 }
    while end > start, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
    return text(line, from: start, to: end)
  }

  private func text(_ line: Span<UInt8>, from start: Int, to end: Int) -> String {
    unsafe line.extracting(start..<end).withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
  }
}
