import Commerce
import Database
import Crypto

/// A column holds what this program never writes there.
struct ColumnTypeMismatch: Error, CustomStringConvertible {
  var column: String
  var expected: String
  var description: String { "column \(column) does not hold \(expected)" }
}

/// Reads columns as the domain's types. Throws ``ColumnTypeMismatch``, or what the column's own accessor throws.
extension Row {
  func identifier<Value: TextCodable>(_ column: String) throws -> Value {
    guard let value = Value(try text(column)) else { throw unexpected(column, "\(Value.self)") }
    return value
  }

  func digest(_ column: String) throws -> SHA256Digest {
    guard let digest = SHA256Digest(try blob(column)) else { throw unexpected(column, "a SHA-256") }
    return digest
  }

  func choice<Value: RawRepresentable<String>>(_ column: String) throws -> Value {
    guard let value = Value(rawValue: try text(column)) else { throw unexpected(column, "\(Value.self)") }
    return value
  }

  func unexpected(_ column: String, _ expected: String) -> ColumnTypeMismatch {
    ColumnTypeMismatch(column: column, expected: expected)
  }
}
