import CoreTypes

/// Attributes by their type. A type that may stand only once and stands twice makes a receipt ambiguous: it is refused.
struct AttributeTable {
  private var single: [Int64: ReceiptAttribute] = [:]
  /// In the order of the SET.
  private(set) var repeated: [ReceiptAttribute] = []

  /// - Parameter repeating: the one type that may stand any number of times.
  init(_ set: [UInt8], repeating: Int64? = nil) throws {
    for attribute in try ReceiptAttribute.all(in: set) {
      if attribute.type == repeating {
        repeated.append(attribute)
      } else if single.updateValue(attribute, forKey: attribute.type) != nil {
        throw ReceiptError.malformed("attribute \(attribute.type) stands twice")
      }
    }
  }

  func octets(_ type: Int64) -> [UInt8]? { single[type]?.value }
  func text(_ type: Int64) throws -> String? { try single[type]?.text() }
  func integer(_ type: Int64) throws -> Int64? { try single[type]?.integer() }
  func date(_ type: Int64) throws -> Timestamp? { try single[type]?.date() }
  func flag(_ type: Int64) throws -> Bool? { try integer(type).map { $0 != 0 } }

  func requiredText(_ type: Int64) throws -> String {
    guard let text = try text(type) else { throw ReceiptError.malformed("attribute \(type) is missing") }
    return text
  }

  func requiredDate(_ type: Int64) throws -> Timestamp {
    guard let date = try date(type) else { throw ReceiptError.malformed("attribute \(type) is missing") }
    return date
  }
}
