import CoreTypes

/// Makes texts alike that differ in case, in width, or in the marks of letters alone, for searches.
enum TextFolding {
  /// Marks below are dropped: those of Latin, Greek, Cyrillic, Hebrew and Arabic letters. In the scripts behind, marks are vowels and
  /// sounds, and make other words.
  private static let firstKeptMark: UInt32 = 0x0900
  /// The half of a character's width at which Latin letters, digits and signs stand once more (U+FF01 to U+FF5E).
  private static let fullWidth: ClosedRange<UInt32> = 0xFF01...0xFF5E
  private static let fullWidthOffset: UInt32 = 0xFEE0
  /// Katakana of half width from U+FF65 on, as they are called at full width; the last two are the marks of sounds.
  private static let katakana = Array(
    "・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン\u{3099}\u{309A}".unicodeScalars)
  private static let firstKatakana: UInt32 = 0xFF65

  /// The text in small letters, of one width, without marks.
  static func fold(_ text: String) -> String {
    guard !text.utf8.allSatisfy({ $0 < 0x80 }) else { return text.lowercased() }
    var scalars = String.UnicodeScalarView()
    for scalar in text.decomposed.unicodeScalars {
      let isMark = scalar.properties.generalCategory == .nonspacingMark && scalar.value < firstKeptMark
      if !isMark { scalars.append(ofUsualWidth(scalar)) }
    }
    return String(scalars).composed.lowercased()
  }

  private static func ofUsualWidth(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
    if fullWidth.contains(scalar.value) {
      return Unicode.Scalar(scalar.value - fullWidthOffset) ?? scalar
    }
    guard scalar.value >= firstKatakana, scalar.value - firstKatakana < katakana.count else { return scalar }
    return katakana[Int(scalar.value - firstKatakana)]
  }
}
