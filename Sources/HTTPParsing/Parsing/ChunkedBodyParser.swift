/// Reads the chunked coding (RFC 9112 §7.1) as strictly as ``RequestParser`` reads heads: CRLF only, nothing
/// between a size and what ends it, well-formed extensions, which are ignored, and a trailer section of
/// well-formed fields, which are dropped and can therefore not pass for header fields.
///
/// Bad white space (RFC 9112 §7.1.1) is taken around the parts of extensions, where it cannot move the end of
/// the line. In front of the first semicolon it is refused: after the digits of a size some readers take it for
/// padding and others for the end, and on the sizes rests where the next request begins.
package struct ChunkedBodyParser: Hashable, Sendable {
  /// The next thing that the bytes are.
  package enum Answer: Hashable {
    /// The input is used up, and the body goes on.
    case needsMore
    /// Bytes of the body at these positions of the input.
    case bytes(Range<Int>)
    /// The body is complete.
    case end
    /// The coding is broken: where the next request begins cannot be known.
    case invalid
  }

  /// The element of the coding that the next byte belongs to.
  private enum Phase: Hashable {
    /// The first digit of a size, without which there is no chunk.
    case sizeStart
    /// Another digit, a semicolon, or the end of the line.
    case size
    /// The name of an extension, white space before it.
    case extensionName
    /// White space behind the name.
    case extensionNameEnd
    /// White space behind the equals sign, then a token or a quotation mark.
    case extensionValueStart
    /// A value without quotation marks.
    case extensionToken
    /// A value within quotation marks.
    case extensionQuoted
    /// The byte behind a backslash, which ends no value.
    case extensionEscape
    /// Behind the closing quotation mark.
    case extensionQuoteEnd
    /// White space behind a value, which another extension must follow.
    case extensionValueEnd
    /// The LF behind a size line.
    case sizeLineFeed
    /// Content of the chunk, as many bytes as its size says.
    case bytes
    /// The CR behind the content.
    case bytesReturn
    /// The LF behind the content.
    case bytesLineFeed
    /// The first byte of a line behind the last chunk: of a field, or of the empty line.
    case fieldStart
    /// The name of a field of the trailer section.
    case fieldName
    /// The value of such a field.
    case fieldValue
    /// The LF behind such a field.
    case fieldLineFeed
    /// The LF of the empty line.
    case lastLineFeed
    /// Nothing: the body is complete.
    case done
  }

  private var remaining: Int64 = 0
  /// Bytes of the current size line, or of the trailer section.
  private var lineLength = 0
  /// A size line with its extensions, and the whole trailer section, may have this many bytes.
  private let lineLimit: Int
  private var phase = Phase.sizeStart
  private var isNameEmpty = true

  /// A size line with its extensions, and the whole trailer section, may have `lineLimit` bytes; more are refused.
  package init(lineLimit: Int) {
    self.lineLimit = lineLimit
  }

  /// Reads on from `position`, which is moved behind what was understood. Call again after `.bytes`; with
  /// more input after `.needsMore`.
  package mutating func next(_ input: Span<UInt8>, from position: inout Int) -> Answer {
    while position < input.count {
      if phase == .bytes {
        let count = Int(min(remaining, Int64(input.count - position)))
        let range = position..<position + count
        remaining -= Int64(count)
        position += count
        if remaining == 0 { phase = .bytesReturn }
        return .bytes(range)
      }
      let byte = input[position]
      position += 1
      lineLength += 1
      guard lineLength <= lineLimit, step(byte) else { return .invalid }
      if phase == .done { return .end }
    }
    return .needsMore
  }

  private mutating func step(_ byte: UInt8) -> Bool {
    switch phase {
    case .sizeStart:
      lineLength = 1
      remaining = 0
      phase = .size
      return addDigit(byte)
    case .size: return addDigit(byte) || endSize(byte)
    case .extensionName, .extensionNameEnd, .extensionValueStart, .extensionToken, .extensionQuoted,
      .extensionEscape, .extensionQuoteEnd, .extensionValueEnd:
      return stepExtension(byte)
    case .sizeLineFeed:
      lineLength = 0
      return expect(byte, toBe: ASCII.lineFeed, then: remaining > 0 ? .bytes : .fieldStart)
    case .bytesReturn: return expect(byte, toBe: ASCII.carriageReturn, then: .bytesLineFeed)
    case .bytesLineFeed: return expect(byte, toBe: ASCII.lineFeed, then: .sizeStart)
    case .fieldStart, .fieldName, .fieldValue, .fieldLineFeed, .lastLineFeed: return stepTrailer(byte)
    case .bytes, .done: return false
    }
  }

  private mutating func addDigit(_ byte: UInt8) -> Bool {
    // 2^59 and more: no body is that long, and one digit more would overflow.
    guard let digit = ASCII.hexadecimalValue(byte), remaining < 1 << 55, lineLength <= 32 else {
      return false
    }
    remaining = remaining << 4 | Int64(digit)
    return true
  }

  private mutating func endSize(_ byte: UInt8) -> Bool {
    switch byte {
    case ASCII.carriageReturn: phase = .sizeLineFeed
    case ASCII.semicolon: startExtension()
    default: return false
    }
    return true
  }

  private mutating func startExtension() {
    phase = .extensionName
    isNameEmpty = true
  }

  /// chunk-ext of RFC 9112 §7.1.1: after white space only what it may stand in front of.
  private mutating func stepExtension(_ byte: UInt8) -> Bool {
    let isSpace = byte == ASCII.space || byte == ASCII.tab
    switch phase {
    case .extensionName:
      if ASCII.isToken(byte) {
        isNameEmpty = false
        return true
      }
      if isNameEmpty { return isSpace }
      if isSpace || byte == ASCII.equals {
        phase = isSpace ? .extensionNameEnd : .extensionValueStart
        return true
      }
      return endSize(byte)
    case .extensionNameEnd:
      if byte == ASCII.equals { phase = .extensionValueStart }
      return isSpace || byte == ASCII.equals || endValue(byte)
    case .extensionValueStart:
      if isSpace { return true }
      phase = byte == ASCII.quote ? .extensionQuoted : .extensionToken
      return byte == ASCII.quote || ASCII.isToken(byte)
    case .extensionToken:
      if isSpace { phase = .extensionValueEnd }
      return isSpace || ASCII.isToken(byte) || endSize(byte)
    case .extensionQuoted:
      if byte == ASCII.quote {
        phase = .extensionQuoteEnd
      } else if byte == ASCII.backslash {
        phase = .extensionEscape
      }
      return ASCII.isFieldValue(byte)
    case .extensionEscape:
      phase = .extensionQuoted
      return ASCII.isFieldValue(byte)
    case .extensionValueEnd: return isSpace || endValue(byte)
    default:
      if isSpace { phase = .extensionValueEnd }
      return isSpace || endSize(byte)
    }
  }

  /// White space may stand in front of another extension, not in front of the line's end.
  private mutating func endValue(_ byte: UInt8) -> Bool {
    guard byte == ASCII.semicolon else { return false }
    startExtension()
    return true
  }

  private mutating func stepTrailer(_ byte: UInt8) -> Bool {
    switch phase {
    case .fieldStart:
      if byte == ASCII.carriageReturn {
        phase = .lastLineFeed
        return true
      }
      phase = .fieldName
      return ASCII.isToken(byte)
    case .fieldName:
      if byte == ASCII.colon {
        phase = .fieldValue
        return true
      }
      return ASCII.isToken(byte)
    case .fieldValue:
      if byte == ASCII.carriageReturn {
        phase = .fieldLineFeed
        return true
      }
      return ASCII.isFieldValue(byte)
    case .fieldLineFeed: return expect(byte, toBe: ASCII.lineFeed, then: .fieldStart)
    default: return expect(byte, toBe: ASCII.lineFeed, then: .done)
    }
  }

  private mutating func expect(_ byte: UInt8, toBe expected: UInt8, then next: Phase) -> Bool {
    phase = next
    return byte == expected
  }
}
