import HTTPParsing

/// Addresses as text, by the grammar of inet_pton(3) and in the form of inet_ntop(3), on bytes: a server behind a proxy
/// reads one with every request and writes one into every line of its log.
enum AddressText {
  /// Four numbers without leading zeros, which some readers take for octal; nil for anything else.
  static func version4(_ text: Span<UInt8>) -> UInt32? {
    guard (7...15).contains(text.count) else { return nil }
    var address: UInt32 = 0
    var number: UInt32 = 0
    var digits = 0
    var dots = 0
    for index in text.indices {
      let byte = text[index]
      if ASCII.isDigit(byte) {
        guard digits == 0 || number > 0 else { return nil }
        number = number * 10 + UInt32(byte - ASCII.zero)
        digits += 1
        guard number <= 255 else { return nil }
      } else {
        guard byte == ASCII.dot, digits > 0, dots < 3 else { return nil }
        address = address << 8 | number
        number = 0
        digits = 0
        dots += 1
      }
    }
    return dots == 3 && digits > 0 ? address << 8 | number : nil
  }

  /// Eight groups (RFC 4291 §2.2), of which `::` stands for one or more, and the last two may be a version 4 address; nil
  /// for anything else, an address with a zone included.
  static func version6(_ text: Span<UInt8>) -> (high: UInt64, low: UInt64)? {
    guard (2...45).contains(text.count) else { return nil }
    var groups = InlineArray<8, UInt16>(repeating: 0)
    var count = 0
    var gap: Int?
    var position = 0
    if text[0] == ASCII.colon {
      guard text[1] == ASCII.colon else { return nil }
      gap = 0
      position = 2
    }
    while position < text.count {
      guard count < 8 else { return nil }
      let start = position
      var group: UInt16 = 0
      while position < text.count, position - start < 4, let digit = ASCII.hexadecimalValue(text[position]) {
        group = group << 4 | UInt16(digit)
        position += 1
      }
      guard position > start else { return nil }
      if position < text.count, text[position] == ASCII.dot {
        guard count <= 6, let last = version4(text.extracting(start...)) else { return nil }
        groups[count] = UInt16(last >> 16)
        groups[count + 1] = UInt16(truncatingIfNeeded: last)
        count += 2
        break
      }
      groups[count] = group
      count += 1
      guard position < text.count else { break }
      guard text[position] == ASCII.colon, position + 1 < text.count else { return nil }
      position += 1
      if text[position] == ASCII.colon {
        guard gap == nil else { return nil }
        gap = count
        position += 1
      }
    }
    guard gap == nil ? count == 8 : count < 8 else { return nil }
    return bits(of: groups, count: count, gap: gap ?? count)
  }

  /// The groups from `gap` on moved to the end.
  private static func bits(
    of groups: InlineArray<8, UInt16>, count: Int, gap: Int
  ) -> (high: UInt64, low: UInt64) {
    var words: (high: UInt64, low: UInt64) = (0, 0)
    for index in 0..<8 {
      let source = index < gap ? index : index - (8 - count)
      let group = source < gap && index >= gap ? 0 : UInt64(groups[source])
      if index < 4 { words.high = words.high << 16 | group } else { words.low = words.low << 16 | group }
    }
    return words
  }

  /// Appends the address without its port: `unix`, `192.0.2.1`, `2001:db8::1`.
  static func append(_ address: PeerAddress, to bytes: inout [UInt8]) {
    switch address.family {
    case .unix: bytes.append(contentsOf: "unix".utf8)
    case .version4: appendVersion4(address.low, to: &bytes)
    case .version6: appendVersion6(address, to: &bytes)
    }
  }

  static func append(decimal number: UInt16, to bytes: inout [UInt8]) {
    var divisor: UInt16 = 10_000
    while divisor > 1, divisor > number { divisor /= 10 }
    while divisor > 0 {
      bytes.append(ASCII.zero + UInt8(number / divisor % 10))
      divisor /= 10
    }
  }

  private static func appendVersion4(_ address: UInt64, to bytes: inout [UInt8]) {
    for shift in stride(from: 24, through: 0, by: -8) {
      append(decimal: UInt16(address >> UInt64(shift) & 0xFF), to: &bytes)
      if shift > 0 { bytes.append(ASCII.dot) }
    }
  }

  /// RFC 5952 §4: the first of the longest runs of two zero groups or more is `::`.
  private static func appendVersion6(_ address: PeerAddress, to bytes: inout [UInt8]) {
    func group(_ index: Int) -> UInt16 {
      UInt16(truncatingIfNeeded: (index < 4 ? address.high : address.low) >> UInt64(48 - index % 4 * 16))
    }
    var longest = 0..<1
    var start: Int?
    for index in 0...8 {
      if index < 8, group(index) == 0 {
        start = start ?? index
      } else if let begin = start {
        if index - begin > longest.count { longest = begin..<index }
        start = nil
      }
    }
    if longest.count == 1 { longest = 8..<8 }
    // As inet_ntop(3) has it: what only embeds a version 4 address ends in one.
    let embeds = longest == 0..<6 || (longest == 0..<5 && group(5) == 0xFFFF)
    var index = 0
    while index < 8 {
      if index == longest.lowerBound, !longest.isEmpty {
        bytes.append(contentsOf: "::".utf8)
        index = longest.upperBound
        continue
      }
      if index > 0, index != longest.upperBound || longest.isEmpty { bytes.append(ASCII.colon) }
      if embeds, index == 6 { return appendVersion4(address.low & 0xFFFF_FFFF, to: &bytes) }
      append(hexadecimal: group(index), to: &bytes)
      index += 1
    }
  }

  private static func append(hexadecimal number: UInt16, to bytes: inout [UInt8]) {
    var shift = 12
    while shift > 0, number >> UInt16(shift) == 0 { shift -= 4 }
    while shift >= 0 {
      let digit = UInt8(number >> UInt16(shift) & 0xF)
      bytes.append(digit < 10 ? ASCII.zero + digit : UInt8(ascii: "a") + digit - 10)
      shift -= 4
    }
  }
}
