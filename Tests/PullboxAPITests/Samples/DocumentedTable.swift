import Foundation
import PullboxTesting
import Testing

/// A table of a page below docs/.
struct DocumentedTable {
  /// The cells of each row, without the white space around them.
  let rows: [[String]]

  /// `header` is what the table's first line begins with. Throws where the page has no such table.
  init(_ page: String, header: String) throws {
    let text = try RepositoryFile("docs/\(page)").text
    let table = try #require(text.split(separator: "\n\(header)").dropFirst().first, "\(page): \(header)")
    rows = table.split(separator: "\n", omittingEmptySubsequences: false).dropFirst(2).prefix {
      $0.hasPrefix("|")
    }.map(Self.cells)
  }

  static func cells(_ row: Substring) -> [String] {
    row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
  }

  /// The texts between backquotes.
  static func words(_ cell: String) -> [String] {
    cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().filter { $0.offset % 2 == 1 }
      .map { String($0.element) }
  }

  /// The texts between backquotes in the first cell of each row.
  var words: [String] { rows.compactMap(\.first).flatMap(Self.words) }
}
