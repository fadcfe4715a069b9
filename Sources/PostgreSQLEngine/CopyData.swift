internal import Database

/// Rows as `COPY … (FORMAT binary)` takes them (PostgreSQL 15, COPY, "Binary Format"): a header, for each row the number of its
/// columns and for each column its length and its bytes, and an end. Columns have the types BIGINT, TEXT, BYTEA and DOUBLE PRECISION.
struct CopyData {
  /// Signature, flags, and the length of a header extension that is not there.
  static let header: [UInt8] =
    Array("PGCOPY\n".utf8) + [0xFF, 0x0D, 0x0A, 0] + [UInt8](repeating: 0, count: 8)
  /// A row of -1 columns.
  static let end: [UInt8] = [0xFF, 0xFF]

  /// The bytes of the rows so far. Without ``header`` and ``end``, which are sent once for a whole copy.
  private(set) var bytes: [UInt8] = []

  /// Adds a row. Throws ``DatabaseError`` `constraint` for a text that PostgreSQL cannot hold, or a value that is too long.
  mutating func append(_ row: [SQLValue]) throws(DatabaseError) {
    append(UInt16(truncatingIfNeeded: row.count))
    for value in row { try append(value) }
  }

  /// Appends the length in four bytes and the value in network byte order. The length -1 stands for NULL and has no bytes
  /// behind it.
  private mutating func append(_ value: SQLValue) throws(DatabaseError) {
    switch value {
    case .null: append(UInt32.max)
    case .integer(let integer):
      append(UInt32(8))
      append(UInt64(bitPattern: integer))
    case .real(let real):
      append(UInt32(8))
      append(real.bitPattern)
    case .text(let text):
      guard !text.utf8.contains(0) else {
        throw DatabaseError(.constraint, "a text with the character U+0000 cannot be written", sql: "")
      }
      try append(length: text.utf8.count)
      bytes.append(contentsOf: text.utf8)
    case .blob(let blob):
      try append(length: blob.count)
      bytes.append(contentsOf: blob)
    }
  }

  /// Appends a length as the signed 32 bits that the format has for it. Throws `constraint` for 2 GiB and more.
  private mutating func append(length: Int) throws(DatabaseError) {
    guard let length = Int32(exactly: length) else {
      throw DatabaseError(.constraint, "a value of \(length) bytes cannot be written", sql: "")
    }
    append(UInt32(bitPattern: length))
  }

  /// Appends the number's own width, the most significant byte first.
  private mutating func append(_ number: some FixedWidthInteger & UnsignedInteger) {
    for shift in stride(from: number.bitWidth - 8, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }
}
