/// How many columns of a terminal a text takes.
public enum TextWidth {
  /// The sum over the characters: 0 for control characters, 2 for wide ones, else 1.
  public static func of(_ text: String) -> Int {
    text.reduce(0) { $0 + of($1) }
  }

  /// The width by the first scalar: 2 in East Asian scripts and for most pictograms.
  static func of(_ character: Character) -> Int {
    guard let scalar = character.unicodeScalars.first?.value else { return 0 }
    switch scalar {
    case 0..<0x20, 0x7F..<0xA0, 0x200B...0x200F, 0xFEFF: return 0
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F900...0x1F9FF,
      0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }

  /// Cuts a text to at most `columns`, with an ellipsis at its end, and removes control characters.
  public static func cut(_ text: String, to columns: Int) -> String {
    let text = PlainText.line(text).filter { of($0) > 0 }
    guard of(text) > columns else { return text }
    var result = ""
    var width = 0
    for character in text {
      let next = of(character)
      guard width + next <= columns - 1 else { break }
      result.append(character)
      width += next
    }
    return columns > 0 ? result + "…" : ""
  }

  /// The same as ``cut(_:to:)``, but the ellipsis replaces the middle, and more of the end stays than of the beginning:
  /// names in reverse domain order differ at their ends.
  public static func cutMiddle(_ text: String, to columns: Int) -> String {
    let text = PlainText.line(text).filter { of($0) > 0 }
    guard of(text) > columns else { return text }
    guard columns > 2 else { return cut(text, to: columns) }
    let head = prefix(of: text, columns: (columns - 1) / 3)
    let tail = prefix(of: String(text.reversed()), columns: columns - 1 - of(head))
    return head + "…" + String(tail.reversed())
  }

  /// The longest beginning that fits.
  private static func prefix(of text: String, columns: Int) -> String {
    var width = 0
    return String(
      text.prefix { character in
        width += of(character)
        return width <= columns
      })
  }
}
