extension RequestHead {
  /// `Content_Length` and the like: some gateways turn an underscore into a hyphen.
  static func imitatesFraming(_ input: Span<UInt8>, name: Range<Int>) -> Bool {
    guard name.count == 14 || name.count == 17 else { return false }
    let pattern: PackedName =
      name.count == 14 ? KnownField.contentLength.packedName : KnownField.transferEncoding.packedName
    return PackedName(input, start: name.lowerBound, length: name.count, readsUnderscoreAsHyphen: true)
      == pattern
  }

  static func skipWhiteSpace(_ input: Span<UInt8>, from start: Int, to end: Int) -> Int {
    var position = start
    while position < end, input[position] == ASCII.space || input[position] == ASCII.tab { position += 1 }
    return position
  }

  /// Whether a comma-separated list holds `token`, in any case.
  static func lists(_ input: Span<UInt8>, value: Range<Int>, token: PackedName) -> Bool {
    var position = value.lowerBound
    while position < value.upperBound {
      var end = position
      while end < value.upperBound, input[end] != ASCII.comma { end += 1 }
      let start = skipWhiteSpace(input, from: position, to: end)
      var last = end
      while last > start, input[last - 1] == ASCII.space || input[last - 1] == ASCII.tab { last -= 1 }
      if PackedName(input, start: start, length: last - start) == token { return true }
      position = end + 1
    }
    return false
  }

  /// uri-host [ ":" port ] of RFC 9112 §3.2, without user information and not empty.
  static func isAuthority(_ input: Span<UInt8>, at range: Range<Int>) -> Bool {
    guard !range.isEmpty else { return false }
    var position = range.lowerBound
    if input[position] == ASCII.leftBracket {
      position += 1
      let start = position
      while position < range.upperBound, input[position] != ASCII.rightBracket {
        let byte = input[position]
        guard ASCII.hexadecimalValue(byte) != nil || byte == ASCII.colon || byte == ASCII.dot else {
          return false
        }
        position += 1
      }
      guard position < range.upperBound, position > start else { return false }
      position += 1
    } else {
      let start = position
      position = min(input.endOfPlainHost(from: start, to: input.count), range.upperBound)
      while position < range.upperBound, input[position] != ASCII.colon {
        guard ASCII.isRegisteredName(input[position]) else { return false }
        position += 1
      }
      guard position > start else { return false }
    }
    guard position < range.upperBound else { return true }
    guard input[position] == ASCII.colon, range.upperBound - position <= 6 else { return false }
    var port = 0
    for index in position + 1..<range.upperBound {
      guard ASCII.isDigit(input[index]) else { return false }
      port = port * 10 + Int(input[index] - ASCII.zero)
    }
    return port <= 65_535
  }

  static func areSame(_ input: Span<UInt8>, left: Range<Int>, right: Range<Int>) -> Bool {
    guard left.count == right.count else { return false }
    for offset in 0..<left.count
    where ASCII.lowercased(input[left.lowerBound + offset])
      != ASCII.lowercased(input[right.lowerBound + offset])
    {
      return false
    }
    return true
  }
}
