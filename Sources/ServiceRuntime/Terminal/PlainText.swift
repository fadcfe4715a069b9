import CoreTypes

/// Text of others, as it may be shown to people.
public enum PlainText {
  /// The text on one line, without what moves a terminal's cursor or makes the text read as another: control characters
  /// (C0, DEL and C1) and invisible formatting, such as bidirectional overrides. A tab or a line break becomes a space.
  public static func line(_ text: String) -> String {
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
    var kept = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x09...0x0D, 0x85: kept.append(" ")
      case 0..<0x20, 0x7F..<0xA0: break
      default: kept.append(scalar)
      }
    }
    return String(kept).removingInvisibleFormatting
  }
}
