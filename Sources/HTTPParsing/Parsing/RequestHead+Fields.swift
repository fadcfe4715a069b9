extension RequestHead {
  /// Records a field among those of the head, and reads it if its meaning concerns the connection. A status refuses the request.
  @inline(__always)
  mutating func add(
    _ field: FieldPosition, to fields: inout MutableSpan<FieldPosition>, in input: Span<UInt8>
  ) -> HeadRefusal? {
    fields[fieldCount] = field
    fieldCount += 1
    let length = Int(field.nameLength)
    guard let known = KnownField.named(input, start: Int(field.nameStart), length: length) else {
      guard length == 14 || length == 17 else { return nil }
      return RequestHead.imitatesFraming(input, name: field.name) ? .badRequest : nil
    }
    if firstOfKnown[known.rawValue] == 0 {
      firstOfKnown[known.rawValue] = UInt8(truncatingIfNeeded: fieldCount)
    } else {
      repeatedKnown |= 1 << UInt16(known.rawValue)
      // RFC 9112 §3.2, §6.3; one coding in two lines, or one length said twice, helps only an attacker.
      if known == .host || known == .contentLength || known == .transferEncoding { return .badRequest }
    }
    switch known {
    case .contentLength, .transferEncoding, .connection, .expect:
      return read(known, value: field.value, in: input)
    default: return nil
    }
  }

  /// Adds a field like ``add(_:to:in:)``, for the few that the parser's fast path does not take. It is not
  /// inlined, so that the code is not there twice.
  @inline(never)
  mutating func addOddField(
    _ field: FieldPosition, to fields: inout MutableSpan<FieldPosition>, in input: Span<UInt8>
  ) -> HeadRefusal? {
    add(field, to: &fields, in: input)
  }

  @inline(never)
  private mutating func read(
    _ known: KnownField, value: Range<Int>, in input: Span<UInt8>
  ) -> HeadRefusal? {
    switch known {
    case .contentLength: readContentLength(input, value: value)
    case .transferEncoding: readTransferEncoding(input, value: value)
    case .connection: readConnection(input, value: value)
    case .expect: readExpectation(input, value: value)
    default: nil
    }
  }

  /// Checks the rules that need the whole head. A status refuses the request.
  mutating func finish(_ input: Span<UInt8>) -> HeadRefusal? {
    let hasLength = firstOfKnown[KnownField.contentLength.rawValue] != 0
    let hasCoding = firstOfKnown[KnownField.transferEncoding.rawValue] != 0
    if hasCoding, hasLength || minorVersion == 0 { return .badRequest }
    if minorVersion == 0 {
      expectsContinue = false
      if !asksKeepAlive(input) { keepsAlive = false }
    }
    // ``value(of:)`` would only borrow the head, of which the compiler makes a copy for that.
    let place = Int(firstOfKnown[KnownField.host.rawValue])
    guard place > 0 else { return minorVersion == 0 ? nil : .badRequest }
    let host = fields[place - 1].value
    guard RequestHead.isAuthority(input, at: host) else { return .badRequest }
    if authority.isEmpty {
      authority = host
    } else if !RequestHead.areSame(input, left: authority, right: host) {
      return .badRequest
    }
    return nil
  }

  private mutating func readContentLength(_ input: Span<UInt8>, value: Range<Int>) -> HeadRefusal? {
    // A leading zero is legal, but some readers take it for octal.
    guard !value.isEmpty, value.count == 1 || input[value.lowerBound] != ASCII.zero else {
      return .badRequest
    }
    var length: Int64 = 0
    for index in value {
      guard ASCII.isDigit(input[index]) else { return .badRequest }
      let (product, overflow) = length.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int64(input[index] - ASCII.zero))
      guard !overflow, !carry else { return .badRequest }
      length = sum
    }
    if content == .none, length > 0 { content = .length(length) }
    return nil
  }

  private mutating func readTransferEncoding(_ input: Span<UInt8>, value: Range<Int>) -> HeadRefusal? {
    let chunked = PackedName(words: [0x63_6875_6E6B_6564, 0, 0])
    var tokens = 0
    var chunkedTokens = 0
    var isLastChunked = false
    var position = value.lowerBound
    while true {
      let start = position
      while position < value.upperBound, ASCII.isToken(input[position]) { position += 1 }
      guard position > start else { return .badRequest }
      tokens += 1
      isLastChunked = PackedName(input, start: start, length: position - start) == chunked
      if isLastChunked { chunkedTokens += 1 }
      position = RequestHead.skipWhiteSpace(input, from: position, to: value.upperBound)
      if position == value.upperBound { break }
      guard input[position] == ASCII.comma else { return .badRequest }
      position = RequestHead.skipWhiteSpace(input, from: position + 1, to: value.upperBound)
    }
    guard isLastChunked, chunkedTokens == 1 else { return .badRequest }
    guard tokens == 1 else { return .notImplemented }
    content = .chunked
    return nil
  }

  private mutating func readConnection(_ input: Span<UInt8>, value: Range<Int>) -> HeadRefusal? {
    if RequestHead.lists(input, value: value, token: PackedName(words: [0x63_6C6F_7365, 0, 0])) {
      keepsAlive = false
    }
    return nil
  }

  private mutating func readExpectation(_ input: Span<UInt8>, value: Range<Int>) -> HeadRefusal? {
    let expected = PackedName(words: [0x3130_302D_636F_6E74, 0x696E_7565, 0])
    guard PackedName(input, start: value.lowerBound, length: value.count) == expected else {
      return .expectationFailed
    }
    expectsContinue = true
    return nil
  }

  private func asksKeepAlive(_ input: Span<UInt8>) -> Bool {
    for index in 0..<fieldCount {
      let field = fields[index]
      guard
        KnownField.named(input, start: Int(field.nameStart), length: Int(field.nameLength)) == .connection,
        RequestHead.lists(
          input, value: field.value, token: PackedName(words: [0x6B65_6570_2D61_6C69, 0x7665, 0]))
      else { continue }
      return true
    }
    return false
  }
}
