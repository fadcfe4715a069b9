/// Reads comma-separated values (RFC 4180), strictly: lines end with LF or CRLF, quotation marks stand around a whole cell, and
/// one that belongs to a quoted cell is written twice. Nothing is guessed: what another program could read otherwise is refused.
struct CSVReader {
  /// A line of the file, or several where a quoted cell has line breaks.
  struct Row {
    /// Where it begins, from 1.
    var line: Int
    var cells: [String]
    /// Where each cell begins; columns are counted in characters, from 1.
    var places: [(line: Int, column: Int)] = []
  }

  static let maximumColumns = 1000
  /// Bytes of a cell: the longest description, and something over.
  static let maximumCell = 32 << 10

  private let bytes: [UInt8]
  private var position = 0
  private var line = 1
  private var lineStart = 0

  /// `bytes` are UTF-8, with or without the mark that some spreadsheets put before it.
  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { (position, lineStart) = (3, 3) }
  }

  /// The next row; nil at the end of the file. Throws ``CatalogFileFault``, after which the rest cannot be read.
  mutating func next() throws(CatalogFileFault) -> Row? {
    guard position < bytes.count else { return nil }
    let start = line
    var cells: [String] = []
    var places: [(line: Int, column: Int)] = []
    var column = 1
    while true {
      places.append((line, column))
      let begin = position
      let cell = try readCell()
      if lineStart > begin { column = 1 }
      // With the comma behind it.
      column += String(decoding: bytes[max(begin, lineStart)..<position], as: UTF8.self).count + 1
      guard cells.count < Self.maximumColumns else {
        throw CatalogFileFault(line: start, .columns, "more than \(Self.maximumColumns) columns")
      }
      cells.append(cell)
      guard position < bytes.count else { break }
      if bytes[position] == UInt8(ascii: ",") {
        position += 1
        continue
      }
      try readLineBreak()
      break
    }
    return Row(line: start, cells: cells, places: places)
  }

  private mutating func readCell() throws(CatalogFileFault) -> String {
    let start = line
    var cell: [UInt8] = []
    let isQuoted = position < bytes.count && bytes[position] == UInt8(ascii: "\"")
    if isQuoted { position += 1 }
    while true {
      guard position < bytes.count else {
        guard !isQuoted else { throw CatalogFileFault(line: start, .quote, "a quotation mark is not closed") }
        break
      }
      let byte = bytes[position]
      if byte == UInt8(ascii: "\"") {
        guard isQuoted else {
          throw CatalogFileFault(line: line, .quote, "a quotation mark in a cell that has none around it")
        }
        position += 1
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else {
          try requireEndOfCell()
          break
        }
      } else if !isQuoted, byte == UInt8(ascii: ",") || byte == 0x0A || byte == 0x0D {
        break
      }
      guard byte != 0 else { throw CatalogFileFault(line: line, .nul, "there is a NUL") }
      if byte == 0x0A {
        line += 1
        lineStart = position + 1
      }
      guard cell.count < Self.maximumCell else {
        throw CatalogFileFault(line: start, .length, "a cell has more than \(Self.maximumCell) bytes")
      }
      cell.append(byte)
      position += 1
    }
    guard let text = String(validating: cell, as: UTF8.self) else {
      throw CatalogFileFault(line: start, .encoding, "that is not UTF-8")
    }
    return text
  }

  private func requireEndOfCell() throws(CatalogFileFault) {
    guard position < bytes.count else { return }
    guard [UInt8(ascii: ","), 0x0A, 0x0D].contains(bytes[position]) else {
      throw CatalogFileFault(line: line, .quote, "there is something behind a closing quotation mark")
    }
  }

  private mutating func readLineBreak() throws(CatalogFileFault) {
    if bytes[position] == 0x0D {
      position += 1
      guard position < bytes.count, bytes[position] == 0x0A else {
        throw CatalogFileFault(line: line, .lineBreak, "a carriage return without a line feed")
      }
    }
    position += 1
    line += 1
  }
}

/// Writes comma-separated values that ``CSVReader`` reads back, and of which a spreadsheet runs nothing.
enum CSVText {
  /// Spreadsheets take a cell that begins so for a formula.
  private static let formulas: Set<UInt8> = [
    UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "@"), 0x09, 0x0D,
  ]

  /// A line with its line feed.
  static func line(_ cells: [String]) -> String { cells.map(cell).joined(separator: ",") + "\n" }

  private static func cell(_ text: String) -> String {
    let guarded = isFormula(text) ? "'" + text : text
    let needsQuotes = guarded.utf8.contains {
      [UInt8(ascii: ","), UInt8(ascii: "\""), 0x0A, 0x0D].contains($0)
    }
    return needsQuotes ? "\"" + doublingQuotes(guarded) + "\"" : guarded
  }

  /// Also those that a mark makes another character of.
  private static func doublingQuotes(_ text: String) -> String {
    var doubled = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if scalar == "\"" { doubled.append(scalar) }
      doubled.append(scalar)
    }
    return String(doubled)
  }

  /// Returns the text of a cell, without the apostrophe that keeps spreadsheets from running it.
  static func value(_ cell: String) -> String {
    cell.utf8.first == UInt8(ascii: "'") && isFormula(cell) ? String(cell.unicodeScalars.dropFirst()) : cell
  }

  /// Also what has apostrophes before it, so that reading takes exactly the one away that writing put there.
  private static func isFormula(_ text: String) -> Bool {
    text.utf8.first { $0 != UInt8(ascii: "'") }.map(formulas.contains) ?? false
  }
}
