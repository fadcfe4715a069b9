/// Reads a request head (RFC 9112 §2 to §6) once from its first byte to its last, however the input is cut.
///
/// It is strict: what two readers could understand differently is refused. Lines end in CRLF only; no
/// folding; no white space around names; no control characters; one `Host`; one `Content-Length` of plain
/// digits, or one `Transfer-Encoding: chunked`, never both.
///
/// The parser is a state machine without I/O and without allocation: a ``Phase``, a position, and the
/// ``RequestHead`` it fills. `RequestHead+RequestLine` and `+Fields` judge what it has found, `+Grammar`
/// holds their rules, and elements end where `Span.endOfValue` and its like find many bytes at once. After `.invalid` the connection has to
/// be closed, because the start of the next request is unknown.
///
/// ```swift
/// var parser = RequestParser()
/// let input = Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
/// parser.parse(input.span.extracting(first: 9), limits: limits)  // .needsMore
/// parser.parse(input.span, limits: limits)  // .complete
/// parser.head.path  // 4..<5
/// ```
package struct RequestParser: ~Copyable {
  /// The result of one look at the bytes so far.
  package enum Answer: Hashable {
    /// Every byte so far fits; the head goes on.
    case needsMore
    /// ``head`` is complete.
    case complete
    /// No request can be read from here; the connection has to be closed after the refusal.
    case invalid(HeadRefusal)
  }

  /// The element of the head that the next byte belongs to.
  package enum Phase {
    /// Before the request line; one empty line is skipped (RFC 9112 §2.2).
    case start
    /// The LF of the empty line before the request.
    case leadingLineFeed
    /// The method, which alone may follow the empty line.
    case afterEmptyLine
    /// The method, or the space behind it.
    case method
    /// The target, or the space behind it.
    case target
    /// The version, or the CR behind it.
    case version
    /// The LF behind the request line.
    case requestLineFeed
    /// The first byte of a line: of a field, or of the empty line.
    case fieldStart
    /// The name of a field, or the colon behind it.
    case name
    /// White space before a value.
    case beforeValue
    /// A value, white space within and behind it.
    case value
    /// The LF behind a field.
    case fieldLineFeed
    /// The LF of the empty line, the last byte of the head.
    case lastLineFeed
    /// Nothing: the head is complete.
    case done
  }

  /// The head as far as it is read. Its positions are places in the input; it is whole after ``Answer/complete`` alone.
  package private(set) var head = RequestHead()
  private(set) var phase = Phase.start
  private var position = 0
  /// Where the element being read starts.
  private var mark = 0
  private var nameStart = 0
  private var nameLength = 0
  /// Behind the last byte of the value that is not white space.
  private var valueEnd = 0

  /// A parser before the first byte of a head.
  package init() {}

  /// True until the first byte of a request has been seen.
  package var isUntouched: Bool { position == 0 }

  /// Forgets everything, for the next request.
  package mutating func reset() {
    phase = .start
    position = 0
    head.clear()
  }

  /// `input` is the request from its first byte on, as far as it has arrived: everything of the call before,
  /// and more.
  package mutating func parse(_ input: Span<UInt8>, limits: RequestLimits) -> Answer {
    if phase.isInRequestLine {
      let end = min(input.count, limits.requestLineLength)
      if phase == .start { readPlainRequestLine(input, end: end) }
      if let status = readRequestLine(input, end: end) { return .invalid(status) }
      if phase.isInRequestLine {
        return position == limits.requestLineLength ? .invalid(.targetTooLong) : .needsMore
      }
    }
    let end = min(input.count, limits.headLength)
    if let status = readFields(input, end: end, limit: limits.fields) { return .invalid(status) }
    guard phase == .done else {
      return position == limits.headLength ? .invalid(.fieldsTooLarge) : .needsMore
    }
    head.length = position
    if let status = head.finish(input) { return .invalid(status) }
    return .complete
  }

  /// Reads the request line if it is of the kind that nearly all are, and there whole: `GET`, a path of plain characters,
  /// HTTP/1.1. Any other is left to ``readRequestLine(_:end:)``.
  private mutating func readPlainRequestLine(_ input: Span<UInt8>, end: Int) {
    guard position == 0, end >= 16, ByteWord(input, at: 0).starts(withWord: 0x2F_2054_4547, count: 5) else {
      return
    }
    let target = input.endOfPlainTarget(from: 5, to: end)
    guard target + 11 <= end, input[target] == ASCII.space,
      ByteWord(input, at: target + 1).starts(withWord: 0x312E_312F_5054_5448, count: 8),
      input[target + 9] == ASCII.carriageReturn, input[target + 10] == ASCII.lineFeed
    else { return }
    head.setPlainGet(target: 4..<target)
    position = target + 11
    phase = .fieldStart
  }

  /// Reads fields as long as their lines are there whole and plain: a name, a colon, a space at most, a value without white
  /// space around it. Any other is left to the phases. A status refuses the request.
  @inline(__always)
  private mutating func readPlainFields(
    _ input: Span<UInt8>, end: Int, limit: Int, to fields: inout MutableSpan<FieldPosition>
  ) -> HeadRefusal? {
    var start = position
    while head.fieldCount < limit {
      let name = input.endOfPlainName(from: start, to: end)
      // Behind it come at least the colon, a space, a byte of the value and the end of the line.
      guard name > start, name + 5 <= end, input[name] == ASCII.colon, input[name + 1] == ASCII.space else {
        break
      }
      let value = name + 2
      // There are no tabs in it.
      let valueEnd = input.endOfPlainValue(from: value, to: end)
      guard valueEnd > value, valueEnd + 2 <= end, input[valueEnd] == ASCII.carriageReturn,
        input[valueEnd + 1] == ASCII.lineFeed, input[value] != ASCII.space,
        input[valueEnd - 1] != ASCII.space
      else { break }
      let field = FieldPosition(
        nameStart: UInt16(truncatingIfNeeded: start), nameLength: UInt16(truncatingIfNeeded: name - start),
        valueStart: UInt16(truncatingIfNeeded: value),
        valueLength: UInt16(truncatingIfNeeded: valueEnd - value))
      if let refusal = head.add(field, to: &fields, in: input) { return refusal }
      start = valueEnd + 2
    }
    position = start
    return nil
  }

  private mutating func readRequestLine(_ input: Span<UInt8>, end: Int) -> HeadRefusal? {
    while position < end, phase.isInRequestLine {
      let byte = input[position]
      switch phase {
      case .start, .afterEmptyLine:
        if byte == ASCII.carriageReturn, phase == .start {
          phase = .leadingLineFeed
        } else {
          guard ASCII.isToken(byte) else { return .badRequest }
          mark = position
          phase = .method
        }
      case .leadingLineFeed:
        guard byte == ASCII.lineFeed else { return .badRequest }
        phase = .afterEmptyLine
      case .method:
        if byte == ASCII.space {
          head.setMethod(input, at: mark..<position)
          mark = position + 1
          phase = .target
        } else {
          guard ASCII.isToken(byte) else { return .badRequest }
          // RFC 9112 §3: longer than any method there is.
          guard position - mark < 32 else { return .notImplemented }
        }
      case .target:
        if byte == ASCII.space {
          if let status = head.setTarget(input, at: mark..<position) { return status }
          mark = position + 1
          phase = .version
        } else {
          guard ASCII.isTarget(byte) else { return .badRequest }
          position = input.endOfTarget(from: position + 1, to: end) - 1
        }
      case .version:
        if byte == ASCII.carriageReturn {
          if let status = head.setVersion(input, at: mark..<position) { return status }
          phase = .requestLineFeed
        } else {
          guard position - mark < 8 else { return .badRequest }
          // All of a version is judged when its end has come.
          if position == mark, position + 8 < end, input[position + 8] == ASCII.carriageReturn {
            position += 7
          }
        }
      case .requestLineFeed:
        guard byte == ASCII.lineFeed else { return .badRequest }
        phase = .fieldStart
      default: preconditionFailure("the request line has been read")
      }
      position += 1
    }
    return nil
  }

  private mutating func readFields(_ input: Span<UInt8>, end: Int, limit: Int) -> HeadRefusal? {
    // Taken out of the head, so that it is asked once whether they are its own, and not for each of them.
    var places: [FieldPosition] = []
    swap(&places, &head.fields)
    var fields = places.mutableSpan
    let status = readFields(input, end: end, limit: limit, to: &fields)
    swap(&places, &head.fields)
    return status
  }

  @inline(__always)
  private mutating func readFields(
    _ input: Span<UInt8>, end: Int, limit: Int, to fields: inout MutableSpan<FieldPosition>
  ) -> HeadRefusal? {
    while position < end {
      switch phase {
      case .fieldStart:
        if let refusal = readPlainFields(input, end: end, limit: limit, to: &fields) { return refusal }
        guard position < end else { return nil }
        if input[position] == ASCII.carriageReturn {
          phase = .lastLineFeed
          position += 1
        } else {
          // White space here would be a folded line (RFC 9112 §5.2); it is no token, so the name refuses it.
          nameStart = position
          phase = .name
        }
      case .name:
        position = input.endOfToken(from: position, to: end)
        guard position < end else { return nil }
        nameLength = position - nameStart
        guard input[position] == ASCII.colon, nameLength > 0 else { return .badRequest }
        position += 1
        phase = .beforeValue
      case .beforeValue:
        let byte = input[position]
        if byte == ASCII.space || byte == ASCII.tab {
          position += 1
        } else {
          mark = position
          phase = .value
        }
      case .value:
        position = input.endOfValue(from: position, to: end)
        guard position < end else { return nil }
        guard input[position] == ASCII.carriageReturn else { return .badRequest }
        valueEnd = position
        while valueEnd > mark, input[valueEnd - 1] == ASCII.space || input[valueEnd - 1] == ASCII.tab {
          valueEnd -= 1
        }
        position += 1
        phase = .fieldLineFeed
      case .fieldLineFeed:
        guard input[position] == ASCII.lineFeed else { return .badRequest }
        position += 1
        guard head.fieldCount < limit else { return .fieldsTooLarge }
        let field = FieldPosition(
          nameStart: UInt16(nameStart), nameLength: UInt16(nameLength), valueStart: UInt16(mark),
          valueLength: UInt16(valueEnd - mark))
        if let status = head.addOddField(field, to: &fields, in: input) { return status }
        phase = .fieldStart
      case .lastLineFeed:
        guard input[position] == ASCII.lineFeed else { return .badRequest }
        position += 1
        phase = .done
        return nil
      default: return nil
      }
    }
    return nil
  }
}

extension RequestParser.Phase {
  fileprivate var isInRequestLine: Bool {
    switch self {
    case .start, .leadingLineFeed, .afterEmptyLine, .method, .target, .version, .requestLineFeed: true
    default: false
    }
  }
}

/// The bounds a ``RequestParser`` keeps.
package struct RequestLimits: Sendable {
  /// Bytes from the first one to the end of the request line at most.
  var requestLineLength: Int
  /// Bytes from the first one to the empty line at most; 65,535 where it is said to be more.
  package var headLength: Int
  /// Header fields at most, ``RequestHead/fieldCapacity`` where it is said to be more.
  var fields: Int

  /// Positions in a head are 16 bits wide.
  package init(requestLineLength: Int, headLength: Int, fields: Int) {
    self.headLength = min(headLength, Int(UInt16.max))
    self.requestLineLength = min(requestLineLength, self.headLength)
    self.fields = min(fields, RequestHead.fieldCapacity)
  }
}
