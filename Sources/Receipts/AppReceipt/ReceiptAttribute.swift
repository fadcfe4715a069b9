import CoreTypes

/// `SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }`: what a receipt's payload, and each purchase in it,
/// is a SET OF.
struct ReceiptAttribute {
  let type: Int64
  let version: Int64
  /// Stands in what it was read from, of which it copies nothing.
  private let bytes: [UInt8]
  private let place: Range<Int>

  init(_ type: Int64, version: Int64 = 1, _ value: [UInt8]) {
    self.init(type, version: version, in: value, at: value.indices)
  }

  private init(_ type: Int64, version: Int64, in bytes: [UInt8], at place: Range<Int>) {
    self.type = type
    self.version = version
    self.bytes = bytes
    self.place = place
  }

  /// The octets of the OCTET STRING: for most types a whole ASN.1 element, for types 4 to 7 anything.
  var value: [UInt8] { Array(bytes[place]) }

  /// Over ``value``.
  var reader: DERReader { DERReader(bytes, in: place) }

  var encoded: [UInt8] {
    DERWriter.element(
      DERTag.sequence,
      DERWriter.integer(type) + DERWriter.integer(version) + DERWriter.element(DERTag.octetString, value))
  }

  /// The attributes of the SET that `set` reads, in its own order.
  static func all(in set: DERReader) throws -> [ReceiptAttribute] {
    var outer = set
    var members = outer.inside(try outer.next(DERTag.set))
    try outer.expectEnd()
    var attributes: [ReceiptAttribute] = []
    while !members.isAtEnd {
      var sequence = members.inside(try members.next(DERTag.sequence))
      let type = try sequence.integer()
      let version = try sequence.integer()
      let value = try sequence.next(DERTag.octetString)
      try sequence.expectEnd()
      attributes.append(ReceiptAttribute(type, version: version, in: sequence.bytes, at: value.content))
    }
    return attributes
  }
}

extension ReceiptAttribute {
  func text() throws -> String {
    var reader = reader
    let text = try reader.text()
    try reader.expectEnd()
    return text
  }

  func integer() throws -> Int64 {
    var reader = reader
    let integer = try reader.integer()
    try reader.expectEnd()
    return integer
  }

  /// Nil for the empty text with which receipts write "no date".
  func date() throws -> Timestamp? {
    let text = try text()
    guard !text.isEmpty else { return nil }
    guard let date = Timestamp(clampingRFC3339: text) else {
      throw ReceiptError.malformed("attribute \(type) is no date")
    }
    return date
  }
}

/// Attributes by their type. A type that may stand only once and stands twice makes a receipt ambiguous: asking for it
/// throws. Types that are never asked for, which stores add as they like, may stand any number of times.
struct AttributeTable {
  /// Some twenty in a genuine receipt: each is looked for among all.
  private var others: [ReceiptAttribute] = []
  /// In the order of the SET.
  private(set) var repeated: [ReceiptAttribute] = []

  /// - Parameter repeating: the one type that may stand any number of times.
  init(_ set: DERReader, repeating: Int64? = nil) throws {
    for attribute in try ReceiptAttribute.all(in: set) {
      if attribute.type == repeating {
        repeated.append(attribute)
      } else {
        others.append(attribute)
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
    guard let first = others.firstIndex(where: { $0.type == type }) else { return nil }
    guard !others[(first + 1)...].contains(where: { $0.type == type }) else {
      throw ReceiptError.malformed("attribute \(type) stands twice")
    }
    return others[first]
  }
}

extension Timestamp {
  /// RFC 3339 in UTC with whole seconds, as receipts write dates.
  var receiptText: String {
    String(rfc3339.dropLast(5)) + "Z"
  }
}
