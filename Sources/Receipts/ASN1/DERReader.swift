/// Reads ASN.1 elements one after another from a part of a byte array. Every length is checked against that part before
/// it is used. What lies inside an element is read by another reader over its content, so nesting costs no recursion.
///
/// Lengths must be definite, at most four octets, and written no longer than need be; tags are of one octet.
struct DERReader {
  let bytes: [UInt8]
  private var position: Int
  private let end: Int

  init(_ bytes: [UInt8]) {
    self.init(bytes, in: bytes.indices)
  }

  init(_ bytes: [UInt8], in range: Range<Int>) {
    self.bytes = bytes
    position = range.lowerBound
    end = range.upperBound
  }

  var isAtEnd: Bool { position == end }

  /// The element at the reader's position, which then moves behind it.
  mutating func next() throws -> DERElement {
    let start = position
    let tag = try octet()
    guard tag & 0x1F != 0x1F else { throw ReceiptError.malformed("an ASN.1 tag has several octets") }
    let length = try contentLength()
    guard length <= end - position else { throw ReceiptError.malformed("an ASN.1 element is cut off") }
    let content = position..<position + length
    position = content.upperBound
    return DERElement(tag: tag, whole: start..<content.upperBound, content: content)
  }

  /// The next element, which must carry `tag`.
  mutating func next(_ tag: UInt8) throws -> DERElement {
    let element = try next()
    guard element.tag == tag else {
      throw ReceiptError.malformed("an ASN.1 element has tag \(element.tag), not \(tag)")
    }
    return element
  }

  /// A reader over the content of `element`.
  func inside(_ element: DERElement) -> DERReader { DERReader(bytes, in: element.content) }

  func octets(_ range: Range<Int>) -> [UInt8] { Array(bytes[range]) }

  func expectEnd() throws {
    guard isAtEnd else { throw ReceiptError.malformed("there are bytes after the ASN.1 element") }
  }

  private mutating func octet() throws -> UInt8 {
    guard position < end else { throw ReceiptError.malformed("an ASN.1 element is cut off") }
    defer { position += 1 }
    return bytes[position]
  }

  private mutating func contentLength() throws -> Int {
    let first = try octet()
    guard first >= 0x80 else { return Int(first) }
    let count = Int(first & 0x7F)
    guard (1...4).contains(count) else {
      throw ReceiptError.malformed("an ASN.1 length is indefinite or has more than four octets")
    }
    var length = 0
    for _ in 0..<count { length = length << 8 | Int(try octet()) }
    guard length >= 0x80, length >> ((count - 1) * 8) != 0 else {
      throw ReceiptError.malformed("an ASN.1 length is written longer than need be")
    }
    return length
  }
}

extension DERReader {
  func octets(_ element: DERElement) -> [UInt8] { octets(element.content) }

  /// A signed integer of up to 64 bits.
  mutating func integer() throws -> Int64 {
    let content = try next(DERTag.integer).content
    guard (1...8).contains(content.count) else {
      throw ReceiptError.malformed("an ASN.1 integer is empty or larger than 64 bits")
    }
    var value: Int64 = bytes[content.lowerBound] >= 0x80 ? -1 : 0
    for index in content { value = value << 8 | Int64(bytes[index]) }
    return value
  }

  /// A UTF8String or an IA5String.
  mutating func text() throws -> String {
    let element = try next()
    guard element.tag == DERTag.utf8String || element.tag == DERTag.ia5String,
      let text = try? UTF8Span(validating: bytes.span.extracting(element.content))
    else { throw ReceiptError.malformed("an ASN.1 element is no text") }
    return String(copying: text)
  }
}

/// One element of ASN.1: its tag, and where in the reader's bytes it and its content lie.
struct DERElement {
  let tag: UInt8
  /// Identifier, length and content octets.
  let whole: Range<Int>
  let content: Range<Int>
}

/// The identifier octets that receipts use, with the bit for constructed types.
enum DERTag {
  static let integer: UInt8 = 0x02
  static let octetString: UInt8 = 0x04
  static let null: UInt8 = 0x05
  static let objectIdentifier: UInt8 = 0x06
  static let utf8String: UInt8 = 0x0C
  static let ia5String: UInt8 = 0x16
  static let sequence: UInt8 = 0x30
  static let set: UInt8 = 0x31
  /// `[0]`, constructed.
  static let context0: UInt8 = 0xA0
}
