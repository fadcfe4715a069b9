import CoreTypes
import HTTPParsing
import HTTPServer

/// One line of the access log: JSON, without a value that opens content or names a person. It is put together from
/// bytes, without a `String`: a busy server writes as many lines as it answers requests. See docs/delivery.md
/// ("Logs") for its members.
enum AccessLine {
  /// Appends the line of a record, line feed included. Runs on the access log's thread. Durations are whole
  /// microseconds, rounded down.
  static func append(_ record: borrowing AccessRecord, to line: inout [UInt8]) {
    line.append("{\"time\":\"")
    line.append(record.start)
    line.append("\",\"id\":\"")
    AccessRecord.appendText(of: record.identifier, to: &line)
    line.append("\",\"remote\":\"")
    record.peer.appendDescription(to: &line)
    line.append("\",\"method\":\"")
    line.append(name(of: record.method))
    line.append("\",\"path\":\"")
    // Each byte that a request target may have stands for itself in JSON.
    record.withPath { redact($0, to: &line) }
    if record.isPathCut { line.append("…") }
    line.append("\",\"status\":")
    line.append(decimal: UInt64(record.status))
    line.append(",\"sent\":")
    line.append(decimal: record.bytesSent)
    line.append(",\"received\":")
    line.append(decimal: record.bytesReceived)
    line.append(",\"firstByteMicroseconds\":")
    line.append(decimal: record.timeToFirstByte / 1000)
    line.append(",\"microseconds\":")
    line.append(decimal: record.duration / 1000)
    line.append(record.isComplete ? ",\"complete\":true}\n" : ",\"complete\":false}\n")
  }

  /// A path that may be written down. The query never gets here. Behind `grants` only what the routes have and a
  /// short name, which opens nothing, is kept; elsewhere what could be a ticket, or hold most of a grant's name in any
  /// spelling, is left out.
  static func redacted(_ path: String) -> String {
    var bytes: [UInt8] = []
    redact(path.utf8.span, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends the path part by part, with the sign `…` in the place of what is left out.
  private static func redact(_ path: Span<UInt8>, to line: inout [UInt8]) {
    var isBehindGrants = false
    var start = 0
    while true {
      var end = start
      while end < path.count, path[end] != UInt8(ascii: "/") { end += 1 }
      let part = path.extracting(start..<end)
      if isBehindGrants {
        line.append(part, if: isOfGrantRoutes(part))
      } else if part.count == 32, part.isHexadecimal {
        // The name of an upload, which needs a key.
        line.append(part.extracting(0..<8), if: true)
        line.append("…")
      } else {
        line.append(part, if: isDigest(part) || isHarmless(part))
      }
      if part.equals("grants") { isBehindGrants = true }
      guard end < path.count else { return }
      line.append(UInt8(ascii: "/"))
      start = end + 1
    }
  }

  /// Whether a part behind `grants` may be shown: the end of a route, or a short name.
  private static func isOfGrantRoutes(_ part: Span<UInt8>) -> Bool {
    if part.isEmpty || part.equals("tickets") || part.equals("completion") { return true }
    if part.equals("revoke") || part.equals("reinstate") { return true }
    return part.count == 16 && part.isHexadecimal
  }

  /// A digest is 64 digits and opens nothing.
  private static func isDigest(_ part: Span<UInt8>) -> Bool {
    if part.count == 70 {
      return part.extracting(64..<70).equals(".meta4") && part.extracting(0..<64).isHexadecimal
    }
    return part.count == 64 && part.isHexadecimal
  }

  /// Too short for a ticket, and without more than a quarter of a grant's name: digits in a row, whatever stands between
  /// them in a UUID.
  private static func isHarmless(_ part: Span<UInt8>) -> Bool {
    guard part.count <= 64 else { return false }
    var run = 0
    for index in part.indices {
      let byte = part[index]
      switch byte {
      case UInt8(ascii: "-"), UInt8(ascii: ":"), UInt8(ascii: "{"), UInt8(ascii: "}"): continue
      case UInt8(ascii: "%"): if part.count >= 32 { return false }
      default: break
      }
      run = isHexadecimal(byte) ? run + 1 : 0
      if run > 16 { return false }
    }
    return true
  }

  /// Whether the byte is a hexadecimal digit in ASCII, of either case.
  fileprivate static func isHexadecimal(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
  }

  /// The method by its name; one that has none here is `other`.
  private static func name(of method: RequestHead.Method) -> StaticString {
    switch method {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .put: "PUT"
    case .patch: "PATCH"
    case .delete: "DELETE"
    case .options: "OPTIONS"
    case .other: "other"
    }
  }
}

extension Span<UInt8> {
  /// Whether all bytes are hexadecimal digits; true for no bytes.
  fileprivate var isHexadecimal: Bool {
    for index in indices where !AccessLine.isHexadecimal(self[index]) { return false }
    return true
  }

  /// Compares bytes with a constant text; upper and lower case differ.
  fileprivate func equals(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { expected in
      for index in indices where unsafe expected[index] != self[index] { return false }
      return true
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { unsafe append(contentsOf: $0) }
  }

  /// Appends the part of a path, or the sign that something was left out.
  fileprivate mutating func append(_ part: Span<UInt8>, if isShown: Bool) {
    guard isShown else { return append("…") }
    unsafe part.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
  }

  /// The moment as ``Timestamp/rfc3339`` spells it.
  fileprivate mutating func append(_ time: Timestamp) {
    let date = time.utc
    append(date.year, digits: 4, then: "-")
    append(date.month, digits: 2, then: "-")
    append(date.day, digits: 2, then: "T")
    append(date.hour, digits: 2, then: ":")
    append(date.minute, digits: 2, then: ":")
    append(date.second, digits: 2, then: ".")
    append(date.millisecond, digits: 3, then: "Z")
  }

  /// Appends a part of a date with leading zeros, and the character that follows it. A part below zero counts
  /// as zero.
  private mutating func append(_ part: Int, digits: Int, then separator: Unicode.Scalar) {
    append(decimal: UInt64(Swift.max(0, part)), digits: digits)
    append(UInt8(ascii: separator))
  }

  /// At least so many digits.
  fileprivate mutating func append(decimal number: UInt64, digits: Int = 1) {
    var length = digits
    var rest = number
    for _ in 1..<digits { rest /= 10 }
    while rest >= 10 {
      rest /= 10
      length += 1
    }
    rest = number
    let start = count
    append(contentsOf: repeatElement(UInt8(ascii: "0"), count: length))
    for position in stride(from: start + length - 1, through: start, by: -1) {
      self[position] = UInt8(ascii: "0") + UInt8(rest % 10)
      rest /= 10
    }
  }
}
