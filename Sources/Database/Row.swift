public import CoreTypes

/// One row of an answer, copied out of SQLite. Each accessor throws ``DatabaseError`` `unexpectedValue` when
/// the column is not there or holds something else; the `optional` ones answer nil for NULL.
public struct Row: Hashable, Sendable {
  /// The columns' names, in the order of the statement.
  public let columns: [String]
  /// The values of the columns, in the same order.
  public let values: [SQLValue]

  package init(columns: [String], values: [SQLValue]) {
    self.columns = columns
    self.values = values
  }

  /// Nil when there is no such column.
  public subscript(_ column: String) -> SQLValue? {
    // Lengths differ mostly, and cost less to compare.
    let length = column.utf8.count
    for (index, name) in columns.enumerated() where name.utf8.count == length && name == column {
      return values[index]
    }
    return nil
  }

  /// A text column.
  public func text(_ column: String) throws(DatabaseError) -> String {
    try required(column, optionalText(column))
  }

  /// A text column that may be NULL.
  public func optionalText(_ column: String) throws(DatabaseError) -> String? {
    switch try value(column) {
    case .text(let text): text
    case .null: nil
    default: throw mismatch(column, "text")
    }
  }

  /// An integer column.
  public func integer(_ column: String) throws(DatabaseError) -> Int64 {
    try required(column, optionalInteger(column))
  }

  /// An integer column that may be NULL.
  public func optionalInteger(_ column: String) throws(DatabaseError) -> Int64? {
    switch try value(column) {
    case .integer(let integer): integer
    case .null: nil
    default: throw mismatch(column, "an integer")
    }
  }

  /// A real column; an integer one counts as well.
  public func real(_ column: String) throws(DatabaseError) -> Double {
    switch try value(column) {
    case .real(let real): real
    case .integer(let integer): Double(integer)
    default: throw mismatch(column, "a number")
    }
  }

  /// A blob column.
  public func blob(_ column: String) throws(DatabaseError) -> [UInt8] {
    try required(column, optionalBlob(column))
  }

  /// A blob column that may be NULL.
  public func optionalBlob(_ column: String) throws(DatabaseError) -> [UInt8]? {
    switch try value(column) {
    case .blob(let bytes): bytes
    case .null: nil
    default: throw mismatch(column, "a blob")
    }
  }

  /// An integer column that holds 0 or 1; anything else throws.
  public func boolean(_ column: String) throws(DatabaseError) -> Bool {
    switch try integer(column) {
    case 0: false
    case 1: true
    default: throw mismatch(column, "0 or 1")
    }
  }

  /// An integer column of milliseconds since the epoch.
  public func timestamp(_ column: String) throws(DatabaseError) -> Timestamp {
    Timestamp(millisecondsSinceEpoch: try integer(column))
  }

  /// An integer column of milliseconds since the epoch that may be NULL.
  public func optionalTimestamp(_ column: String) throws(DatabaseError) -> Timestamp? {
    guard let milliseconds = try optionalInteger(column) else { return nil }
    return Timestamp(millisecondsSinceEpoch: milliseconds)
  }

  /// An integer column of bytes.
  public func byteCount(_ column: String) throws(DatabaseError) -> ByteCount {
    ByteCount(rawValue: try integer(column))
  }

  private func value(_ column: String) throws(DatabaseError) -> SQLValue {
    guard let value = self[column] else {
      throw DatabaseError(.unexpectedValue, "there is no column \(column)")
    }
    return value
  }

  private func required<Value>(_ column: String, _ value: Value?) throws(DatabaseError) -> Value {
    guard let value else { throw DatabaseError(.unexpectedValue, "column \(column) is NULL") }
    return value
  }

  private func mismatch(_ column: String, _ expected: String) -> DatabaseError {
    DatabaseError(.unexpectedValue, "column \(column) does not hold \(expected)")
  }
}
