import CoreTypes

/// The order in which people number pages: folder by folder, a name without its ending first, runs of digits as numbers of
/// any length (`page2` before `page10`), the rest without regard to case, and what is the same to that by its bytes.
///
/// The order is that of ``key(of:)``, compared number by number, so that it is total: no two paths with other bytes are equal.
package enum NaturalOrder {
  /// Whether `left` comes before `right`.
  package static func precedes(_ left: String, _ right: String) -> Bool {
    key(of: left).lexicographicallyPrecedes(key(of: right))
  }

  /// Elements in their order, each reduced to a key once. It costs one key for each element, where sorting by
  /// ``precedes(_:_:)`` would cost two for each comparison.
  package static func sorted<Element>(_ elements: [Element], by path: (Element) -> String) -> [Element] {
    elements.map { (key: key(of: path($0)), element: $0) }
      .sorted { $0.key.lexicographicallyPrecedes($1.key) }
      .map(\.element)
  }

  /// Ends every part, and is below everything that a part may have: what is shorter comes first.
  private static let end: UInt32 = 0
  /// Stands before a number, and below every character: `p1` comes before `p-1`.
  private static let number: UInt32 = 1
  /// Added to the characters.
  private static let firstCharacter: UInt32 = 16

  /// The numbers by which a path is compared: for each segment its stem, its ending and its bytes, each
  /// closed by ``end``.
  package static func key(of path: String) -> [UInt32] {
    var key: [UInt32] = []
    let segments = path.unicodeScalars.split(separator: "/", omittingEmptySubsequences: false)
    for (index, segment) in segments.enumerated() {
      let segment = Substring(segment)
      let isFile = index == segments.count - 1
      let name = isFile ? FileName(segment) : nil
      append(name?.stem ?? segment, to: &key)
      append(Substring(name?.ending ?? ""), to: &key)
      // Of two spellings of a folder, each keeps its pages together.
      for byte in segment.utf8 { key.append(UInt32(byte) + 1) }
      key.append(end)
    }
    return key
  }

  /// Leading zeros of a number do not count here; the bytes of the segment tell such names apart.
  private static func append(_ text: Substring, to key: inout [UInt32]) {
    var digits: [UInt32] = []
    var hasDigits = false
    func flush() {
      guard hasDigits else { return }
      key.append(number)
      // By length, then digit by digit: no number is too large.
      key.append(UInt32(digits.count) + 1)
      key += digits
      digits = []
      hasDigits = false
    }
    // Spellings that only normalization tells apart are the same here.
    for scalar in String(text).composed.unicodeScalars {
      if let digit = digit(scalar) {
        hasDigits = true
        if digit > 0 || !digits.isEmpty { digits.append(digit + 1) }
      } else {
        flush()
        key.append(folded(scalar).value + firstCharacter)
      }
    }
    flush()
    key.append(end)
  }

  /// The value of a decimal digit of any script, full-width ones among them.
  private static func digit(_ scalar: Unicode.Scalar) -> UInt32? {
    if scalar.isASCII { return ("0"..."9").contains(scalar) ? scalar.value - 0x30 : nil }
    guard scalar.properties.numericType == .decimal, let value = scalar.properties.numericValue else {
      return nil
    }
    return UInt32(exactly: value)
  }

  /// Simple case folding: one character for one.
  private static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    if scalar.isASCII {
      return ("A"..."Z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value) + 0x20) : scalar
    }
    let upper = single(scalar.properties.uppercaseMapping) ?? scalar
    return single(upper.properties.lowercaseMapping) ?? upper
  }

  /// Nil for a mapping to several characters, which simple folding does not make.
  private static func single(_ text: String) -> Unicode.Scalar? {
    text.unicodeScalars.count == 1 ? text.unicodeScalars.first : nil
  }
}
