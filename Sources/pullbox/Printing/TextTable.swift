import CoreTypes
import ServiceRuntime

/// Rows in aligned columns under their titles.
struct TextTable {
  struct Column {
    var title: String
    /// Numbers are aligned at the right.
    var isNumber = false

    static func text(_ title: String) -> Column { Column(title: title) }
    static func number(_ title: String) -> Column { Column(title: title, isNumber: true) }
  }

  var columns: [Column]
  /// Each with one text per column.
  var rows: [[String]]

  private static let gap = "  "

  /// Lines, the titles first. With a `width`, a terminal's, longer lines are cut at their ends.
  func lines(width: Int?) -> [String] {
    let rows = [columns.map(\.title)] + self.rows.map { $0.map(PlainText.line) }
    let widths = columns.indices.map { column in
      rows.map { $0.indices.contains(column) ? TextWidth.of($0[column]) : 0 }.max() ?? 0
    }
    return rows.map { row in
      let cells = zip(columns.indices, row).map { index, text in
        let clean = TextWidth.cut(text, to: .max)
        let padding = String(repeating: " ", count: max(0, widths[index] - TextWidth.of(clean)))
        return columns[index].isNumber ? padding + clean : clean + padding
      }
      let line = Self.withoutTrailingSpaces(cells.joined(separator: Self.gap))
      return width.map { TextWidth.cut(line, to: $0) } ?? line
    }
  }

  private static func withoutTrailingSpaces(_ line: String) -> String {
    var line = Substring(line)
    while line.last == " " { line.removeLast() }
    return String(line)
  }
}
