extension RequestHead {
  mutating func clear() {
    fieldCount = 0
    firstOfKnown = InlineArray(repeating: 0)
    repeatedKnown = 0
    content = .none
    keepsAlive = true
    expectsContinue = false
    authority = 0..<0
    query = nil
    length = 0
  }

  mutating func setMethod(_ input: Span<UInt8>, at range: Range<Int>) {
    methodPosition = range
    // Methods are compared with case (RFC 9110 §9.1), packed into one word.
    var word: UInt64 = 0
    if range.count <= 8 {
      for index in range { word = word << 8 | UInt64(input[index]) }
    }
    method =
      switch word {
      case 0x47_4554: .get
      case 0x4845_4144: .head
      case 0x504F_5354: .post
      case 0x50_5554: .put
      case 0x50_4154_4348: .patch
      case 0x4445_4C45_5445: .delete
      case 0x4F_5054_494F_4E53: .options
      default: .other
      }
  }

  /// RFC 9112 §3.2: origin-form, absolute-form of `http` and `https`, and `*` with OPTIONS. CONNECT is not
  /// implemented.
  mutating func setTarget(_ input: Span<UInt8>, at range: Range<Int>) -> HeadRefusal? {
    guard !range.isEmpty else { return .badRequest }
    if methodIsConnect(input) { return .notImplemented }
    var start = range.lowerBound
    if input[start] == ASCII.asterisk {
      guard range.count == 1, method == .options else { return .badRequest }
      target = range
      path = range
      return nil
    }
    if input[start] != ASCII.slash {
      guard let authorityStart = RequestHead.endOfScheme(input, at: range) else { return .badRequest }
      var end = authorityStart
      while end < range.upperBound, input[end] != ASCII.slash, input[end] != ASCII.question { end += 1 }
      authority = authorityStart..<end
      guard RequestHead.isAuthority(input, at: authority) else { return .badRequest }
      if end == range.upperBound {
        // An absolute URI with an empty path means "/": the second slash before the authority stands for it.
        target = authorityStart - 1..<authorityStart
        path = target
        return nil
      }
      guard input[end] == ASCII.slash else { return .badRequest }
      start = end
    }
    target = start..<range.upperBound
    return splitTarget(input)
  }

  /// `GET` of a path without a query and without escapes, by HTTP/1.1.
  mutating func setPlainGet(target range: Range<Int>) {
    methodPosition = 0..<3
    method = .get
    target = range
    path = range
    query = nil
    minorVersion = 1
  }

  /// Finds the query, and refuses escapes that are none and control characters hidden in the path.
  private mutating func splitTarget(_ input: Span<UInt8>) -> HeadRefusal? {
    var pathEnd = target.upperBound
    var index = target.lowerBound
    while true {
      index = input.endOfPlainTarget(from: index, to: target.upperBound)
      guard index < target.upperBound else { break }
      let byte = input[index]
      if byte == ASCII.question, pathEnd == target.upperBound {
        pathEnd = index
      } else if byte == ASCII.percent {
        guard index + 2 < target.upperBound, let high = ASCII.hexadecimalValue(input[index + 1]),
          let low = ASCII.hexadecimalValue(input[index + 2])
        else { return .badRequest }
        let decoded = high << 4 | low
        if pathEnd == target.upperBound, decoded < ASCII.space || decoded == 0x7F { return .badRequest }
        index += 2
      }
      index += 1
    }
    path = target.lowerBound..<pathEnd
    query = pathEnd < target.upperBound ? pathEnd + 1..<target.upperBound : nil
    return nil
  }

  /// `HTTP/1.` and one digit; a higher minor version than ours is treated as ours (RFC 9110 §6.2).
  mutating func setVersion(_ input: Span<UInt8>, at range: Range<Int>) -> HeadRefusal? {
    guard range.count == 8 else { return .badRequest }
    let start = range.lowerBound
    guard input[start] == UInt8(ascii: "H"), input[start + 1] == UInt8(ascii: "T"),
      input[start + 2] == UInt8(ascii: "T"), input[start + 3] == UInt8(ascii: "P"),
      input[start + 4] == ASCII.slash, ASCII.isDigit(input[start + 5]), input[start + 6] == ASCII.dot,
      ASCII.isDigit(input[start + 7])
    else { return .badRequest }
    guard input[start + 5] == ASCII.zero + 1 else { return .versionNotSupported }
    minorVersion = min(input[start + 7] - ASCII.zero, 1)
    return nil
  }

  private func methodIsConnect(_ input: Span<UInt8>) -> Bool {
    guard methodPosition.count == 7 else { return false }
    var word: UInt64 = 0
    for index in methodPosition { word = word << 8 | UInt64(input[index]) }
    return word == 0x43_4F4E_4E45_4354
  }

  /// Behind `http://` or `https://`, in any case.
  private static func endOfScheme(_ input: Span<UInt8>, at range: Range<Int>) -> Int? {
    var end = range.lowerBound
    while end < range.upperBound, ASCII.isLetter(input[end]), end - range.lowerBound < 6 { end += 1 }
    guard let name = PackedName(input, start: range.lowerBound, length: end - range.lowerBound),
      name == PackedName(words: [0x6874_7470, 0, 0]) || name == PackedName(words: [0x68_7474_7073, 0, 0]),
      end + 3 <= range.upperBound, input[end] == ASCII.colon, input[end + 1] == ASCII.slash,
      input[end + 2] == ASCII.slash
    else { return nil }
    return end + 3
  }
}
