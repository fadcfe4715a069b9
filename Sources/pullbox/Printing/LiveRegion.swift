import ServiceRuntime

/// Lines at the bottom of a terminal that are rewritten in place. Pure: answers the text to write.
struct LiveRegion {
  /// Columns that each line on the screen takes, from the top.
  private var drawn: [Int] = []

  /// A region without lines, at the cursor.
  init() {}

  /// The text that replaces the lines on the screen with `lines`. `columns` is the terminal's width now: lines that it
  /// has wrapped since they were drawn, because it became narrower, are replaced too.
  mutating func frame(_ lines: [String], columns: Int) -> String {
    var text = rewind(columns: columns)
    // Each line is cleared behind its new end, not before it: nothing flickers.
    for line in lines { text += line + "\u{1B}[K\n" }
    text += "\u{1B}[J"
    drawn = lines.map(Self.width)
    return text
  }

  /// The text that writes `line` above the region, which has to be drawn again after it.
  ///
  /// - Parameter line: no wider than the terminal.
  mutating func above(_ line: String, columns: Int) -> String {
    defer { drawn = [] }
    return rewind(columns: columns) + line + "\u{1B}[K\n\u{1B}[J"
  }

  /// Moves the cursor to the first row of the region. A line takes as many rows as it is wrapped to at this
  /// width.
  private func rewind(columns: Int) -> String {
    let rows = drawn.reduce(0) { $0 + max(1, ($1 + columns - 1) / max(1, columns)) }
    return rows > 0 ? "\r\u{1B}[\(rows)A" : "\r"
  }

  /// The columns that a line takes, color sequences not counted.
  private static func width(_ line: String) -> Int {
    var width = 0
    var inSequence = false
    for character in line {
      if inSequence {
        inSequence = !character.isLetter
      } else if character == "\u{1B}" {
        inSequence = true
      } else {
        width += TextWidth.of(String(character))
      }
    }
    return width
  }
}
