import Foundation

/// The statements that stand in the source of the service, each as the parts between what it interpolates.
enum SourceStatements {
  /// The files whose statements no server runs: those of the schemas, and of the commands that read or write whole tables.
  private static let others = ["Migrations", "PostgreSQL", "SQLDialect+Tables", "RecordPages"]

  static func all() throws -> [[String]] {
    let sources = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/Sources"
    var found: [[String]] = []
    for root in ["\(sources)/DeliveryRecords", "\(sources)/DeliveryService"] {
      let files = FileManager.default.enumerator(atPath: root)?.compactMap { $0 as? String } ?? []
      for file in files.sorted()
      where file.hasSuffix(".swift") && !others.contains(where: file.contains) {
        found += statements(in: try String(contentsOfFile: "\(root)/\(file)", encoding: .utf8))
      }
    }
    return found
  }

  private static func statements(in source: String) -> [[String]] {
    var found: [[String]] = []
    var rest = source[...]
    while let quote = rest.firstIndex(of: "\"") {
      let line = source[..<quote].lastIndex(of: "\n").map { source[$0..<quote] } ?? source[..<quote]
      if line.contains("//") {
        rest = rest[quote...].drop { $0 != "\n" }
        continue
      }
      let mark = rest[quote...].hasPrefix("\"\"\"") ? "\"\"\"" : "\""
      let (parts, end) = literal(rest[quote...].dropFirst(mark.count), until: mark)
      let text = parts[0].drop(while: \.isWhitespace)
      if ["SELECT ", "WITH ", "INSERT ", "UPDATE ", "DELETE FROM "].contains(where: text.hasPrefix) {
        found.append(parts)
      }
      rest = end
    }
    return found
  }

  /// The parts of a string between interpolations, and what follows the string.
  private static func literal(_ text: Substring, until mark: String) -> (parts: [String], rest: Substring) {
    var parts = [""]
    var rest = text
    while !rest.isEmpty, !rest.hasPrefix(mark) {
      if rest.hasPrefix("\\(") {
        var depth = 0
        repeat {
          if rest.first == "(" { depth += 1 }
          if rest.first == ")" { depth -= 1 }
          rest = rest.dropFirst()
        } while depth > 0 || rest.first == "("
        parts.append("")
      } else {
        if rest.first == "\\" { rest = rest.dropFirst() }
        if let character = rest.first { parts[parts.count - 1].append(character) }
        rest = rest.dropFirst()
      }
    }
    return (parts, rest.dropFirst(mark.count))
  }
}
