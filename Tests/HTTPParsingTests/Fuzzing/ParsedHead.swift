@testable import HTTPParsing

/// The answer to a head and the bytes it took.
struct ParsedHead: Hashable, CustomStringConvertible {
  let answer: RequestParser.Answer
  let method: String
  let target: String
  let path: String
  let query: String?
  let fields: [String]
  let content: RequestContent
  let keepsAlive: Bool
  let expectsContinue: Bool
  let authority: String
  let length: Int

  var description: String { "\(answer)" }

  init(_ answer: RequestParser.Answer, head: borrowing RequestHead, bytes: [UInt8]) {
    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
    self.answer = answer
    let isComplete = answer == .complete
    method = isComplete ? text(head.methodPosition) : ""
    target = isComplete ? text(head.target) : ""
    path = isComplete ? text(head.path) : ""
    query = isComplete ? head.query.map(text) : nil
    var fields: [String] = []
    if isComplete {
      for index in 0..<head.fieldCount {
        fields.append("\(text(head.field(at: index).name))=\(text(head.field(at: index).value))")
      }
    }
    self.fields = fields
    content = head.content
    keepsAlive = head.keepsAlive
    expectsContinue = head.expectsContinue
    authority = isComplete ? text(head.authority) : ""
    length = isComplete ? head.length : 0
  }
}

let testLimits = RequestLimits(requestLineLength: 8192, headLength: 16_384, fields: 64)

func parse(_ text: String, limits: RequestLimits = testLimits) -> ParsedHead {
  parse(Array(text.utf8), limits: limits)
}

func parse(_ bytes: [UInt8], limits: RequestLimits = testLimits) -> ParsedHead {
  var parser = RequestParser()
  let answer = parser.parse(bytes.span, limits: limits)
  return ParsedHead(answer, head: parser.head, bytes: bytes)
}

/// Feeds growing prefixes of `bytes`, cut at `cuts`, as the loop does.
func parse(_ bytes: [UInt8], cutAt cuts: [Int], limits: RequestLimits = testLimits) -> ParsedHead {
  var parser = RequestParser()
  var answer = RequestParser.Answer.needsMore
  for end in cuts + [bytes.count] {
    let prefix = Array(bytes[..<end])
    answer = parser.parse(prefix.span, limits: limits)
    if answer != .needsMore { break }
  }
  return ParsedHead(answer, head: parser.head, bytes: bytes)
}
