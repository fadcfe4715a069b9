import Database

@testable import PostgreSQLEngine

/// A value of an answer: a byte for its type, then its bytes. What is read is what arithmetic of twice the width makes of the same bytes,
/// or nothing; and it is read again from the parameter that it is written as.
enum AnswerProperties {
  private static let types = [
    ServerType.bool, ServerType.bytea, ServerType.name, ServerType.int8, ServerType.int2, ServerType.int4,
    ServerType.text,
    ServerType.float4, ServerType.float8, ServerType.bpchar, ServerType.varchar, ServerType.unknown,
    ServerType.numeric,
    ServerType.void, 0, 114,
  ]

  static func check(_ bytes: [UInt8]) -> String? {
    guard let first = bytes.first else { return nil }
    let type = types[Int(first) % types.count]
    let body = Array(bytes.dropFirst())
    let value = SQLValue(binary: body.span, type: type)
    switch type {
    case ServerType.int2, ServerType.int4, ServerType.int8:
      // The width is the value's own; a server sends that of the type.
      guard [2, 4, 8].contains(body.count) else {
        return value == nil ? nil : "\(body.count) bytes are a number"
      }
      let wide = body.reduce(Int128(0)) { $0 << 8 | Int128($1) }
      let half = Int128(1) << (body.count * 8 - 1)
      return value == .integer(Int64(wide >= half ? wide - half * 2 : wide))
        ? nil : "\(body) is \(String(describing: value))"
    case ServerType.numeric: return checkNumeric(value, body)
    case ServerType.bytea: return value == .blob(body) ? nil : "bytes are others"
    case ServerType.text, ServerType.varchar, ServerType.bpchar, ServerType.name, ServerType.unknown:
      guard case .text(let text)? = value else {
        return String(validating: body, as: UTF8.self) == nil ? nil : "a text is refused"
      }
      return text.utf8.elementsEqual(body) ? nil : "a text is another one"
    case ServerType.float8:
      guard case .real(let real)? = value else { return body.count == 8 ? "a number is refused" : nil }
      return real.bitPattern == body.reduce(0) { $0 << 8 | UInt64($1) } ? nil : "a number is another one"
    case ServerType.float4:
      guard case .real(let real)? = value else { return body.count == 4 ? "a number is refused" : nil }
      let expected = Float(bitPattern: body.reduce(0) { $0 << 8 | UInt32($1) })
      return real == Double(expected) || expected.isNaN && real.isNaN ? nil : "a number is another one"
    case ServerType.bool: return value == nil || body.count == 1 ? nil : "\(body.count) bytes are a boolean"
    case ServerType.void: return value == .null ? nil : "nothing is \(String(describing: value))"
    default: return value == nil ? nil : "a type is read that no table has"
    }
  }

  /// Digits of base 10,000 (the protocol's `numeric_send`): what is read has no digits behind the point, and fits 64 bits.
  private static func checkNumeric(_ value: SQLValue?, _ body: [UInt8]) -> String? {
    guard case .integer(let read)? = value else { return value == nil ? nil : "a number is no integer" }
    func word(_ index: Int) -> Int { Int(body[index * 2]) << 8 | Int(body[index * 2 + 1]) }
    guard body.count >= 8, body.count == 8 + word(0) * 2, [0, 0x4000].contains(word(2)) else {
      return "\(body) is a number"
    }
    let (count, weight) = (word(0), Int(Int16(truncatingIfNeeded: word(1))))
    if count == 0 { return read == 0 ? nil : "\(read) has no digit" }
    guard (0...4).contains(weight), count <= weight + 1 else {
      return "\(read) has digits behind the point, or too many"
    }
    var sum = Int128(0)
    for index in 0...weight {
      let digit = index < count ? word(4 + index) : 0
      guard digit < 10_000 else { return "\(digit) is a digit" }
      sum = sum * 10_000 + Int128(digit)
    }
    return Int128(read) == (word(2) == 0 ? sum : -sum) ? nil : "\(sum) is read as \(read)"
  }
}
