/// A single value, read as the type that is asked for. Text of variables and options is read as any of them.
struct ConfigurationSingleContainer: SingleValueDecodingContainer {
  /// The decoder with the value and its place.
  let decoder: ConfigurationDecoder

  /// The keys that lead to the value.
  var codingPath: [any CodingKey] { decoder.codingPath }

  /// Whether the value is null; the text `null` of a variable is not.
  func decodeNil() -> Bool { decoder.value.isNull }

  /// A truth value; of a variable or an option also `yes`, `on`, `1` and their opposites, in any case.
  func decode(_ type: Bool.Type) throws -> Bool {
    switch decoder.value.content {
    case .boolean(let value): return value
    case .text(let text):
      switch text.lowercased() {
      case "true", "yes", "on", "1": return true
      case "false", "no", "off", "0": return false
      default: throw decoder.mismatch("true or false")
      }
    default: throw decoder.mismatch("true or false")
    }
  }

  /// A text. A number of a file is none: it stands in quotation marks to be one.
  func decode(_ type: String.Type) throws -> String {
    switch decoder.value.content {
    case .string(let text), .text(let text): return text
    default: throw decoder.mismatch("a text")
    }
  }

  /// A number, whole or not.
  func decode(_ type: Double.Type) throws -> Double {
    switch decoder.value.content {
    case .number(let value): return value
    case .integer(let value): return Double(value)
    case .text(let text):
      guard let value = Double(text) else { throw decoder.mismatch("a number") }
      return value
    default: throw decoder.mismatch("a number")
    }
  }

  func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
  func decode(_ type: Int.Type) throws -> Int { try integer() }
  func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
  func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
  func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
  func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
  func decode(_ type: UInt.Type) throws -> UInt { try integer() }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }

  /// The types that do not know how to ask for themselves are asked for by name.
  func decode<T: Decodable>(_ type: T.Type) throws -> T {
    switch type {
    case let type as Bool.Type: try cast(decode(type))
    case let type as String.Type: try cast(decode(type))
    case let type as Double.Type: try cast(decode(type))
    default: try T(from: decoder)
    }
  }

  /// The value as `T`, which it is by the type that was asked for.
  private func cast<T>(_ value: Any) throws -> T {
    guard let value = value as? T else { throw decoder.mismatch("\(T.self)") }
    return value
  }

  /// A whole number that fits `T`; a text may have a unit of bytes behind it. Throws ``ConfigurationError`` for others.
  private func integer<T: FixedWidthInteger>() throws -> T {
    let value: Int64? =
      switch decoder.value.content {
      case .integer(let value): value
      case .string(let text), .text(let text): Self.integer(text)
      default: nil
      }
    guard let value, let result = T(exactly: value) else {
      throw decoder.mismatch(T.bitWidth < 64 ? "a whole number from \(T.min) to \(T.max)" : "a whole number")
    }
    return result
  }

  /// `17`, `64 KiB`, `2GiB`.
  private static func integer(_ text: String) -> Int64? {
    for (unit, shift) in [("KiB", 10), ("MiB", 20), ("GiB", 30)] where text.hasSuffix(unit) {
      let digits = text.dropLast(unit.count)
      guard let value = Int64(digits.hasSuffix(" ") ? digits.dropLast() : digits) else { return nil }
      let (product, overflow) = value.multipliedReportingOverflow(by: 1 << shift)
      return overflow ? nil : product
    }
    return Int64(text)
  }
}
