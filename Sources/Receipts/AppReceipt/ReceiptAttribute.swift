import CoreTypes

/// `SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`: what a receipt's payload, and each purchase in it,
/// is a SET OF.
struct ReceiptAttribute {
  let type: Int64
  let version: Int64
  /// The octets of the OCTET STRING: for most types a whole ASN.1 element, for types 4 to 7 anything.
  let value: [UInt8]

  init(_ type: Int64, version: Int64 = 1, _ value: [UInt8]) {
    self.type = type
    self.version = version
    self.value = value
  }

  var encoded: [UInt8] {
    DERWriter.element(
      DERTag.sequence,
      DERWriter.integer(type) + DERWriter.integer(version) + DERWriter.element(DERTag.octetString, value))
  }

  /// The attributes of a SET, in its own order.
  static func all(in set: [UInt8]) throws -> [ReceiptAttribute] {
    var outer = DERReader(set)
    var members = outer.inside(try outer.next(DERTag.set))
    try outer.expectEnd()
    var attributes: [ReceiptAttribute] = []
    while !members.isAtEnd {
      var sequence = members.inside(try members.next(DERTag.sequence))
      let type = try sequence.integer()
      let version = try sequence.integer()
      let value = sequence.octets(try sequence.next(DERTag.octetString))
      try sequence.expectEnd()
      attributes.append(ReceiptAttribute(type, version: version, value))
    }
    return attributes
  }
}

extension ReceiptAttribute {
  func text() throws -> String {
    var reader = DERReader(value)
    let text = try reader.text()
    try reader.expectEnd()
    return text
  }

  func integer() throws -> Int64 {
    var reader = DERReader(value)
    let integer = try reader.integer()
    try reader.expectEnd()
    return integer
  }

  /// Nil for the empty text with which receipts write "no date".
  func date() throws -> Timestamp? {
    let text = try text()
    guard !text.isEmpty else { return nil }
    guard let date = Timestamp(rfc3339: text) else {
      throw ReceiptError.malformed("attribute \(type) is no date")
    }
    return date
  }
}

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

extension Timestamp {
  /// RFC 3339 in UTC with whole seconds, as receipts write dates.
  var receiptText: String {
    String(rfc3339.dropLast(5)) + "Z"
  }
}
