/// The statements that make a database's tables, laid out to be read.
public enum SchemaText {
  /// The query of SQLite's schema: the statements of the tables, each followed by its indexes and triggers;
  /// column `sql`.
  public static let query = """
    SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%'
    ORDER BY tbl_name, type <> 'table', type, name
    """

  /// One column a line, and a line between tables.
  public static func format(_ statements: [String]) -> String {
    var text = ""
    for statement in statements {
      let words = statement.split(whereSeparator: \.isWhitespace).joined(separator: " ")
      if words.hasPrefix("CREATE TABLE") {
        text += (text.isEmpty ? "" : "\n") + table(words) + "\n"
      } else {
        text += words.replacing(" BEGIN ", with: "\nBEGIN ") + ";\n"
      }
    }
    return text
  }

  /// Breaks the statement behind the first parenthesis and each comma at its depth. Texts between quotation marks stay as
  /// they are.
  private static func table(_ statement: String) -> String {
    var depth = 0
    var quoted = false
    var text = ""
    for character in statement {
      if character == "'" { quoted.toggle() }
      switch character {
      case "(" where !quoted:
        depth += 1
        text += depth == 1 ? "(\n  " : "("
      case ")" where !quoted:
        depth -= 1
        text += depth == 0 ? "\n)" : ")"
      case "," where !quoted && depth == 1:
        if text.last == " " { text.removeLast() }
        text += ",\n  "
      case " " where text.hasSuffix("\n  "): break
      default: text.append(character)
      }
    }
    return text.replacing(" \n)", with: "\n)") + ";"
  }
}
