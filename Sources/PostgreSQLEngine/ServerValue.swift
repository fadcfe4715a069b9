import Database

/// The types of PostgreSQL that answers have; their numbers are those of its catalog `pg_type`, which never change.
enum ServerType {
  /// One byte, 0 or 1.
  static let bool: UInt32 = 16
  /// Bytes as they are.
  static let bytea: UInt32 = 17
  /// The name of an object of the server, as text in its encoding.
  static let name: UInt32 = 19
  /// A signed number of 64 bits in network byte order. All integers of our tables have this type.
  static let int8: UInt32 = 20
  /// A signed number of 16 bits.
  static let int2: UInt32 = 21
  /// A signed number of 32 bits: literals and some functions have it.
  static let int4: UInt32 = 23
  /// Text in the encoding of the connection, which is UTF-8.
  static let text: UInt32 = 25
  /// A binary floating-point number of 32 bits (IEEE 754).
  static let float4: UInt32 = 700
  /// A binary floating-point number of 64 bits (IEEE 754), `DOUBLE PRECISION`.
  static let float8: UInt32 = 701
  /// `CHAR(n)`, padded with spaces.
  static let bpchar: UInt32 = 1042
  /// Text with a limit on its length.
  static let varchar: UInt32 = 1043
  /// A literal whose type nothing has decided; it arrives as text.
  static let unknown: UInt32 = 705
  /// A decimal number of any length. `sum` over BIGINT has this type.
  static let numeric: UInt32 = 1700
  /// The type of a function without a result, such as `pg_notify`. Read as NULL.
  static let void: UInt32 = 2278
}

/// The conversion between values and the bytes that libpq sends and receives.
extension SQLValue {
  /// The value of a column in PostgreSQL's binary form; nil for a type that no table of ours has, or bytes that are not of the type.
  init?(binary bytes: Span<UInt8>, type: UInt32) {
    switch type {
    case ServerType.int8, ServerType.int4, ServerType.int2:
      guard let integer = Self.integer(bytes) else { return nil }
      self = .integer(integer)
    case ServerType.bool:
      guard bytes.count == 1 else { return nil }
      self = .boolean(bytes[0] != 0)
    case ServerType.text, ServerType.varchar, ServerType.bpchar, ServerType.name, ServerType.unknown:
      guard let text = try? UTF8Span(validating: bytes) else { return nil }
      self = .text(String(copying: text))
    case ServerType.bytea: self = .blob(Self.array(bytes))
    case ServerType.float8:
      guard bytes.count == 8, let integer = Self.integer(bytes) else { return nil }
      self = .real(Double(bitPattern: UInt64(bitPattern: integer)))
    case ServerType.float4:
      guard bytes.count == 4, let integer = Self.integer(bytes) else { return nil }
      self = .real(Double(Float(bitPattern: UInt32(bitPattern: Int32(truncatingIfNeeded: integer)))))
    case ServerType.numeric:
      guard let integer = Self.numeric(bytes) else { return nil }
      self = .integer(integer)
    case ServerType.void: self = .null
    default: return nil
    }
  }

  /// The bytes of a parameter, and whether they are in binary form: blobs are, all else is text whose type the server finds out.
  /// Nil for NULL. Throws ``DatabaseError`` `constraint` for a text with a zero byte, which PostgreSQL cannot hold.
  func parameter() throws(DatabaseError) -> (bytes: [UInt8], isBinary: Bool)? {
    switch self {
    case .null: return nil
    case .integer(let integer): return (Array(String(integer).utf8), false)
    case .real(let real): return (Array(String(real).utf8), false)
    case .blob(let bytes): return (bytes, true)
    case .text(let text):
      let bytes = Array(text.utf8)
      guard !bytes.contains(0) else {
        throw DatabaseError(.constraint, "a text with the character U+0000 cannot be written", sql: "")
      }
      return (bytes, false)
    }
  }

  /// A signed number of 2, 4 or 8 bytes in network byte order; nil for any other length.
  private static func integer(_ bytes: Span<UInt8>) -> Int64? {
    switch bytes.count {
    case 8:
      var value: UInt64 = 0
      for index in 0..<8 { value = value << 8 | UInt64(bytes[index]) }
      return Int64(bitPattern: value)
    case 4:
      var value: UInt32 = 0
      for index in 0..<4 { value = value << 8 | UInt32(bytes[index]) }
      return Int64(Int32(bitPattern: value))
    case 2: return Int64(Int16(bitPattern: UInt16(bytes[0]) << 8 | UInt16(bytes[1])))
    default: return nil
    }
  }

  /// A whole number of `numeric`: counts of digits of base 10,000, weight of the first, sign, scale, then the digits. Sums of
  /// BIGINT have this type. Nil for a number with digits behind the point, for NaN and infinities, and for what does not
  /// fit 64 bits.
  private static func numeric(_ bytes: Span<UInt8>) -> Int64? {
    guard bytes.count >= 8, bytes.count % 2 == 0 else { return nil }
    func word(_ index: Int) -> Int { Int(bytes[index * 2]) << 8 | Int(bytes[index * 2 + 1]) }
    let count = word(0)
    let weight = Int(Int16(truncatingIfNeeded: word(1)))
    let sign = word(2)
    guard bytes.count == 8 + count * 2 else { return nil }
    guard sign == 0 || sign == 0x4000, weight < 5, count <= weight + 1 else {
      return count == 0 && sign == 0 ? 0 : nil
    }
    var value: Int64 = 0
    for index in 0...max(weight, 0) {
      let digit = index < count ? word(4 + index) : 0
      guard digit < 10_000 else { return nil }
      let (scaled, overflow) = value.multipliedReportingOverflow(by: 10_000)
      let (sum, overflowed) = scaled.subtractingReportingOverflow(Int64(digit))
      guard !overflow, !overflowed else { return nil }
      value = sum
    }
    // Summed up below zero, since that side has one number more.
    if sign == 0x4000 { return value }
    return value == .min ? nil : -value
  }

  /// The bytes as an array of their own: the span ends with the answer.
  private static func array(_ bytes: Span<UInt8>) -> [UInt8] {
    bytes.indices.map { bytes[$0] }
  }
}
