extension String {
  /// Whether a character of the text is not to be seen, and can make it read as another text: Unicode category
  /// Cf (bidirectional controls, zero-width characters, soft hyphens, tags), the other characters that are
  /// ignored by default, and line and paragraph separators.
  ///
  /// Some scripts and emoji are not written without two kinds of them. So joiners (U+200C, U+200D) do not count
  /// between two characters from U+0600 on, nor variation selectors behind one.
  public var hasInvisibleFormatting: Bool {
    var scalars = InvisibleFormattingScanner(unicodeScalars)
    while let (_, isInvisible) = scalars.next() {
      if isInvisible { return true }
    }
    return false
  }

  /// The text without what ``hasInvisibleFormatting`` looks for, to be shown.
  public var removingInvisibleFormatting: String {
    guard hasInvisibleFormatting else { return self }
    var kept = String.UnicodeScalarView()
    var scalars = InvisibleFormattingScanner(unicodeScalars)
    while let (scalar, isInvisible) = scalars.next() {
      if !isInvisible { kept.append(scalar) }
    }
    return String(kept)
  }
}

/// Goes through a text with an eye on each character's neighbors.
private struct InvisibleFormattingScanner {
  private static let firstJoined: UInt32 = 0x600

  private var rest: String.UnicodeScalarView.Iterator
  private var following: Unicode.Scalar?
  /// The last one that is kept.
  private var preceding: Unicode.Scalar?

  init(_ scalars: String.UnicodeScalarView) {
    rest = scalars.makeIterator()
    following = rest.next()
  }

  mutating func next() -> (Unicode.Scalar, isInvisible: Bool)? {
    guard let scalar = following else { return nil }
    following = rest.next()
    let isInvisible = Self.isCandidate(scalar) && !isNeeded(scalar)
    if !isInvisible { preceding = scalar }
    return (scalar, isInvisible)
  }

  private func isNeeded(_ scalar: Unicode.Scalar) -> Bool {
    guard let preceding, preceding.value >= Self.firstJoined else { return false }
    switch scalar.value {
    case 0x200C, 0x200D:
      guard let following, following.value >= Self.firstJoined else { return false }
      return !Self.isJoiner(preceding) && !Self.isCandidate(following)
    default: return scalar.properties.isVariationSelector && !Self.isCandidate(preceding)
    }
  }

  private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value == 0x200C || scalar.value == 0x200D
  }

  private static func isCandidate(_ scalar: Unicode.Scalar) -> Bool {
    // Below are ASCII and the controls, which are another rule's.
    guard scalar.value >= 0xA0 else { return false }
    switch scalar.properties.generalCategory {
    case .format, .lineSeparator, .paragraphSeparator: return true
    default: return scalar.properties.isDefaultIgnorableCodePoint
    }
  }
}
