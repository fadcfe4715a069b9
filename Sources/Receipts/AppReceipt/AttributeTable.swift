import CoreTypes

/// Attributes by their type. A type that may stand only once and stands twice makes a receipt ambiguous: asking for it
/// throws. Types that are never asked for, which stores add as they like, may stand any number of times.
struct AttributeTable {
  private var single: [Int64: ReceiptAttribute] = [:]
  private var ambiguous: Set<Int64> = []
  /// In the order of the SET.
  private(set) var repeated: [ReceiptAttribute] = []

  /// - Parameter repeating: the one type that may stand any number of times.
  init(_ set: [UInt8], repeating: Int64? = nil) throws {
    for attribute in try ReceiptAttribute.all(in: set) {
      if attribute.type == repeating {
        repeated.append(attribute)
      } else if single.updateValue(attribute, forKey: attribute.type) != nil {
        ambiguous.insert(attribute.type)
      }
    }
  }

  func octets(_ type: Int64) throws -> [UInt8]? { try attribute(type)?.value }
  func text(_ type: Int64) throws -> String? { try attribute(type)?.text() }
  func integer(_ type: Int64) throws -> Int64? { try attribute(type)?.integer() }
  func date(_ type: Int64) throws -> Timestamp? { try attribute(type)?.date() }
  func flag(_ type: Int64) throws -> Bool? { try integer(type).map { $0 != 0 } }

  func requiredText(_ type: Int64) throws -> String {
    guard let text = try text(type) else { throw ReceiptError.malformed("attribute \(type) is missing") }
    return text
  }

  func requiredDate(_ type: Int64) throws -> Timestamp {
    guard let date = try date(type) else { throw ReceiptError.malformed("attribute \(type) is missing") }
    return date
  }

  private func attribute(_ type: Int64) throws -> ReceiptAttribute? {
    guard !ambiguous.contains(type) else { throw ReceiptError.malformed("attribute \(type) stands twice") }
    return single[type]
  }
}
