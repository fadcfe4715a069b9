import CoreTypes

@testable import HTTPClient

/// The heads of responses, line after line as libcurl hands them over: what is read is the same once it is written and read again, ranges and
/// lengths are what arithmetic of twice the width makes of their digits, and a wait keeps to its bounds.
enum ResponseProperties {
  static func check(_ bytes: [UInt8]) -> String? {
    guard let heads = heads(bytes) else { return nil }
    for head in heads {
      let lines = ["HTTP/1.1 \(head.status)"] + head.headers.map { "\($0.name): \($0.value)" }
      let written = lines.map { $0 + "\r\n" }.joined() + "\r\n"
      guard self.heads(Array(written.utf8)) == [head] else {
        return "\(head) is read otherwise than it was written"
      }
      guard (100...999).contains(head.status) else { return "a status of \(head.status)" }
      if let broken = checkFields(head) { return broken }
    }
    return nil
  }

  /// Nil where one is none.
  private static func heads(_ bytes: [UInt8]) -> [ResponseHead]? {
    var parser = HeadParser()
    var heads: [ResponseHead] = []
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      switch parser.accept(line: Array(line).span) {
      case .incomplete: continue
      case .head(let head): heads.append(head)
      case .violation(let sentence): if !sentence.isEmpty { return heads.isEmpty ? nil : heads }
      }
    }
    return heads
  }

  private static func checkFields(_ head: ResponseHead) -> String? {
    if let wait = head.retryAfter, !(.seconds(1) ... .seconds(86_400)).contains(wait) {
      return "a wait of \(wait)"
    }
    if let length = head.contentLength, length.rawValue < 0 { return "a length of \(length)" }
    for value in head.headers.map(\.value) {
      let read = ContentRange(value)
      guard read == plainRange(value) else {
        return "\(value.debugDescription) is \(String(describing: read))"
      }
      _ = head.date
    }
    return nil
  }

  /// RFC 9110, section 14.4, by the bytes of the field.
  private static func plainRange(_ text: String) -> ContentRange? {
    let bytes = Array(text.utf8)
    guard bytes.count > 6, String(decoding: bytes.prefix(6), as: UTF8.self).lowercased() == "bytes " else {
      return nil
    }
    let parts = bytes.dropFirst(6).split(separator: 0x2F, omittingEmptySubsequences: false)
    guard parts.count == 2 else { return nil }
    let isLengthKnown = Array(parts[1]) != [0x2A]
    let length = isLengthKnown ? number(parts[1]) : nil
    if isLengthKnown, length == nil { return nil }
    if Array(parts[0]) == [0x2A] { return length.map { ContentRange(range: nil, completeLength: $0) } }
    let ends = parts[0].split(separator: 0x2D, omittingEmptySubsequences: false).map(number)
    guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last < .max,
      length.map({ last < $0 }) ?? true
    else { return nil }
    return ContentRange(range: first..<last + 1, completeLength: length)
  }

  private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
    guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    var wide = Int128(0)
    for digit in digits { wide = min(wide * 10 + Int128(digit - 0x30), Int128(Int64.max) + 1) }
    return Int64(exactly: wide)
  }
}
