import Commerce
import Database

/// A row of an earlier version holds a text that no version has written there, so that its migration cannot go on.
struct UnexpectedText: Error, CustomStringConvertible {
  /// The column's name in the statement.
  var column: String
  /// The type that the text does not spell.
  var expected: String

  var description: String { "column \(column) does not hold \(expected)" }
}

extension Row {
  /// Reads a text column that holds an identifier or a version. Throws ``UnexpectedText``, and what the column's own accessor throws.
  func identifier<Value: LosslessStringCodable>(_ column: String) throws -> Value {
    guard let value = Value(try text(column)) else {
      throw UnexpectedText(column: column, expected: "\(Value.self)")
    }
    return value
  }
}
