extension DERReader {
  func octets(_ element: DERElement) -> [UInt8] { octets(element.content) }

  /// A signed integer of up to 64 bits.
  mutating func integer() throws -> Int64 {
    let octets = octets(try next(DERTag.integer))
    guard (1...8).contains(octets.count) else {
      throw ReceiptError.malformed("an ASN.1 integer is empty or larger than 64 bits")
    }
    let start: Int64 = octets[0] >= 0x80 ? -1 : 0
    return octets.reduce(start) { $0 << 8 | Int64($1) }
  }

  /// A UTF8String or an IA5String.
  mutating func text() throws -> String {
    let element = try next()
    guard element.tag == DERTag.utf8String || element.tag == DERTag.ia5String,
      let text = String(validating: octets(element), as: UTF8.self)
    else { throw ReceiptError.malformed("an ASN.1 element is no text") }
    return text
  }
}
