import CoreTypes
import ServiceRuntime

/// Rows in aligned columns under their titles.
///
/// On a terminal that is too narrow for them, wide texts are shortened; names, which the next command takes, never are. Columns that
/// have no room even so stand below their row, each with its title; a sentence that has none is wrapped there. So no column is lost.
struct TextTable {
  /// A title, and how the texts below it are treated where there is little room.
  struct Column {
    /// The title above the column.
    var title: String
    /// Numbers are aligned at the right, and never shortened.
    var isNumber = false
    /// The last column alone may be one: it is shown whole.
    var isSentence = false
    /// A name that another command takes. It is neither shortened nor broken, wherever it stands.
    var isName = false

    /// A text, which is shortened where there is little room.
    static func text(_ title: String) -> Column { Column(title: title) }
    /// A name, which always stands whole.
    static func name(_ title: String) -> Column { Column(title: title, isName: true) }
    /// A number, aligned at the right.
    static func number(_ title: String) -> Column { Column(title: title, isNumber: true) }
    /// A sentence, which stands in the last column.
    static func sentence(_ title: String) -> Column { Column(title: title, isSentence: true) }
  }

  /// The columns from left to right.
  var columns: [Column]
  /// Each with one text per column.
  var rows: [[String]]

  /// The space between columns.
  private static let gap = "  "
  /// Columns of texts up to this width, such as times and identifiers, are never shortened.
  private static let unshortened = 20
  /// Others are, down to this width.
  private static let shortest = 14

  /// Lines, the titles first. With a `width`, a terminal's, no line is wider, but for a first column and a
  /// name that are. Texts are made plain first, so that no text of others moves the cursor. Nil is no bound:
  /// for pipes and files.
  func lines(width: Int?) -> [String] {
    let rows = rows.map { $0.map { TextWidth.cut(PlainText.line($0), to: .max) } }
    let natural = columns.indices.map { column in
      rows.reduce(TextWidth.of(columns[column].title)) { max($0, TextWidth.of($1[column])) }
    }
    let widths = width.map { fitted(natural, to: $0) } ?? natural
    let titles = line(columns.map(\.title), widths: widths)
    return [titles]
      + rows.flatMap { row in [line(row, widths: widths)] + below(row, widths: widths, width: width) }
  }

  /// The widths of the columns that have room in a line, the first at least. A column gets what it needs at
  /// least, then what is left; those behind the last that fits get none.
  private func fitted(_ natural: [Int], to width: Int) -> [Int] {
    let least = zip(columns, natural).map { column, natural in
      let title = TextWidth.of(column.title)
      if column.isSentence { return title }
      return column.isNumber || column.isName || natural <= Self.unshortened
        ? natural : max(title, Self.shortest)
    }
    var widths: [Int] = []
    var room = width + Self.gap.count
    for least in least {
      guard widths.isEmpty || least + Self.gap.count <= room else { break }
      widths.append(least)
      room -= least + Self.gap.count
    }
    // What is left goes to the narrowest first, and to a sentence last.
    for growsSentence in [false, true] {
      func grows(_ index: Int) -> Bool {
        columns[index].isSentence == growsSentence && widths[index] < natural[index]
      }
      while room > 0, let narrowest = widths.indices.filter(grows).min(by: { widths[$0] < widths[$1] }) {
        widths[narrowest] += 1
        room -= 1
      }
    }
    return widths
  }

  /// One line of the cells that have room.
  private func line(_ row: [String], widths: [Int]) -> String {
    let cells = widths.indices.map { index in
      let text = shown(row[index], in: columns[index], width: widths[index])
      let padding = String(repeating: " ", count: max(0, widths[index] - TextWidth.of(text)))
      return columns[index].isNumber ? padding + text : text + padding
    }
    return Self.withoutTrailingSpaces(cells.joined(separator: Self.gap))
  }

  /// A text with spaces is cut at its end, others in the middle. A sentence that does not fit is empty here
  /// and follows below.
  private func shown(_ text: String, in column: Column, width: Int) -> String {
    guard TextWidth.of(text) > width else { return text }
    if column.isSentence { return "" }
    // Names in reverse domain order differ at their ends.
    return text.contains(" ") ? TextWidth.cut(text, to: width) : TextWidth.cutMiddle(text, to: width)
  }

  /// The lines of what has no room in its row.
  private func below(_ row: [String], widths: [Int], width: Int?) -> [String] {
    guard let width else { return [] }
    var pieces: [(text: String, isName: Bool)] = []
    for (index, text) in row.enumerated() where !text.isEmpty {
      if index >= widths.count {
        pieces.append(("\(columns[index].title) \(text)", columns[index].isName))
      } else if columns[index].isSentence, TextWidth.of(text) > widths[index] {
        pieces.append((text, false))
      }
    }
    let room = max(1, width - Self.gap.count)
    var lines: [String] = []
    for piece in pieces {
      if let last = lines.last, TextWidth.of(last + Self.gap + piece.text) <= room {
        lines[lines.count - 1] = last + Self.gap + piece.text
      } else {
        lines += piece.isName ? [piece.text] : Self.wrapped(piece.text, to: room)
      }
    }
    return lines.map { Self.gap + $0 }
  }

  /// Breaks at spaces; a word that is too long is broken anywhere.
  private static func wrapped(_ text: String, to width: Int) -> [String] {
    var lines = [""]
    for word in text.split(separator: " ") {
      let last = lines[lines.count - 1]
      let line = last.isEmpty ? String(word) : "\(last) \(word)"
      if TextWidth.of(line) <= width {
        lines[lines.count - 1] = line
        continue
      }
      if !last.isEmpty { lines.append("") }
      for character in word {
        if TextWidth.of(lines[lines.count - 1] + String(character)) > width { lines.append("") }
        lines[lines.count - 1].append(character)
      }
    }
    return lines
  }

  /// Spaces behind the last text of a line would wrap it on a narrow terminal.
  private static func withoutTrailingSpaces(_ line: String) -> String {
    var line = Substring(line)
    while line.last == " " { line.removeLast() }
    return String(line)
  }
}
