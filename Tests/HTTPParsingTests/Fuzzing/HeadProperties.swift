@testable import HTTPParsing

/// Rules of ``RequestParser`` for any bytes.
enum HeadProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    var parser = RequestParser()
    let whole = HeadReading(bytes.span, by: &parser, cutAt: nil)
    let head = whole.answer == .complete ? ParsedHead(.complete, head: parser.head, bytes: bytes) : nil
    if !bytes.isEmpty {
      let sum = bytes.reduce(0) { $0 &+ Int($1) }
      for cut in [1, bytes.count / 2, bytes.count - 1, sum % bytes.count]
      where HeadReading(bytes.span, by: &parser, cutAt: cut) != whole {
        return "cut at \(cut) it means something else"
      }
    }
    guard let head else { return nil }
    let text = Array(bytes[..<head.length])
    if let broken = checkText(head, text) { return broken }
    if HeadReading(text.span, by: &parser, cutAt: nil) != whole { return "what follows a head changes it" }
    return checkMeaning(head)
  }

  /// Held against a reading so plain that it can hardly be wrong: lines between CRLF, names before the first
  /// colon.
  private static func checkText(_ head: ParsedHead, _ bytes: [UInt8]) -> String? {
    guard bytes.suffix(4).elementsEqual([13, 10, 13, 10]) else { return "no empty line at the end" }
    var lines: [[UInt8]] = [[]]
    var position = bytes.starts(with: [13, 10]) ? 2 : 0
    while position < bytes.count {
      let byte = bytes[position]
      if byte == 13 {
        guard bytes[position + 1] == 10 else { return "a bare return" }
        lines.append([])
        position += 2
        continue
      }
      if byte == 10 { return "a bare line feed" }
      if (byte < 32 && byte != 9) || byte == 127 { return "a control character" }
      lines[lines.count - 1].append(byte)
      position += 1
    }
    lines.removeLast(2)
    let words = lines[0].split(separator: 32, omittingEmptySubsequences: false)
    guard words.count == 3, words[0].elementsEqual(head.method.utf8), words[2].starts(with: "HTTP/1.".utf8)
    else {
      return "another request line"
    }
    let fields = lines.dropFirst().map { line -> String in
      let colon = line.firstIndex(of: 58) ?? line.startIndex
      let value = line[(colon + 1)...].drop { $0 == 32 || $0 == 9 }
      let end = value.lastIndex { $0 != 32 && $0 != 9 }.map { $0 + 1 } ?? value.startIndex
      return String(decoding: line[..<colon], as: UTF8.self) + "="
        + String(decoding: value[value.startIndex..<end], as: UTF8.self)
    }
    return fields == head.fields ? nil : "other fields: \(fields), \(head.fields)"
  }

  private static func checkMeaning(_ head: ParsedHead) -> String? {
    func values(_ name: String) -> [String] {
      head.fields.filter { $0.lowercased().hasPrefix(name + "=") }.map {
        String($0.dropFirst(name.count + 1))
      }
    }
    let lengths = values("content-length")
    let codings = values("transfer-encoding")
    switch head.content {
    case .none:
      if lengths.contains(where: { $0 != "0" }) || !codings.isEmpty { return "content is overlooked" }
    case .length(let count): if lengths != ["\(count)"] || !codings.isEmpty { return "another length" }
    case .chunked:
      if codings.map({ $0.lowercased() }) != ["chunked"] || !lengths.isEmpty { return "not chunked" }
    }
    if values("host").count > 1 { return "two hosts" }
    if values("connection").contains(where: { $0.lowercased() == "close" }), head.keepsAlive {
      return "not closed"
    }
    guard head.target.hasPrefix("/") || head.target == "*" else { return "a target without a slash" }
    // Decoding may refuse it; what it accepts has no control characters and no hidden slashes.
    if let target = try? RequestTarget(head.target) {
      for segment in target.segments where segment.utf8.contains(where: { $0 < 32 || $0 == 127 || $0 == 47 })
      {
        return "a segment of \(segment.debugDescription)"
      }
    }
    return nil
  }
}

/// The findings of a parser in a head, used again and again as a loop's is; to be compared, without a copy of its texts.
private struct HeadReading: Hashable {
  private let positions: [Range<Int>]
  private let content: RequestContent
  private let flags: [Bool]
  private let minorVersion: UInt8
  let answer: RequestParser.Answer

  /// Reads the bytes at once, or first those before `cut` alone, as they arrive.
  init(_ bytes: Span<UInt8>, by parser: inout RequestParser, cutAt cut: Int?) {
    parser.reset()
    var answer = RequestParser.Answer.needsMore
    if let cut { answer = parser.parse(bytes.extracting(..<cut), limits: testLimits) }
    if answer == .needsMore { answer = parser.parse(bytes, limits: testLimits) }
    self.answer = answer
    guard answer == .complete else {
      positions = []
      content = .none
      flags = []
      minorVersion = 0
      return
    }
    var positions = [
      parser.head.methodPosition, parser.head.target, parser.head.path, parser.head.query ?? 0..<0,
      parser.head.authority, 0..<parser.head.length,
    ]
    positions.reserveCapacity(6 + 2 * parser.head.fieldCount)
    for index in 0..<parser.head.fieldCount {
      let field = parser.head.field(at: index)
      positions.append(field.name)
      positions.append(field.value)
    }
    self.positions = positions
    content = parser.head.content
    flags = [parser.head.keepsAlive, parser.head.expectsContinue, parser.head.query == nil]
    minorVersion = parser.head.minorVersion
  }
}
