/// Reads values from JSON documents as they come in all the time, in a fraction of the time that Foundation's `JSONDecoder`
/// takes. Whatever it answers, that decoder answers as well. Where it answers nil, nothing is said of the document yet:
/// `JSONDecoder` is to be asked, which refuses it, with a reason, or reads what is rare:
///
///     if let value = JSONDocumentReader.value(Report.self, in: bytes) { return value }
///     return try JSONDecoder().decode(Report.self, from: Data(bytes))
///
/// Rare are numbers that are no integers of at most 18 digits, names with escapes or beyond ASCII, escaped surrogates, and
/// documents beyond the limits.
///
/// Foundation's own types (`Date`, `Data`, `URL`, `Decimal`) have no form here that differs from what they decode by themselves:
/// `value` is not for types that hold them.
public enum JSONDocumentReader {
  /// Arrays and objects in each other.
  public static let maximumDepth = 32
  /// Values of a document, arrays and objects among them.
  public static let maximumValues = 4096
  /// Members of an object: each is looked for among all.
  public static let maximumMembers = 128
  /// Bytes of a document.
  public static let maximumLength = 16 << 20

  /// The document's value; nil where `JSONDecoder` is to be asked.
  public static func value<Value: Decodable>(_ type: Value.Type, in bytes: [UInt8]) -> Value? {
    guard let document = JSONDocument(bytes) else { return nil }
    return try? Value(from: JSONNodeDecoder(document: document, index: 0))
  }
}

/// Where the values of a document stand in its bytes: each before what is in it, and all of that before what follows.
final class JSONDocument: Sendable {
  struct Node {
    enum Kind: UInt8 {
      case object, list, plainText, escapedText, integer, `true`, `false`, null
    }

    var kind: Kind
    /// The name of a member, without quotes; empty for any other value.
    var name: Range<Int32>
    /// A text without quotes, a number's digits.
    var place: Range<Int32>
    /// Members or elements.
    var count: Int32 = 0
    /// The index of the node that follows this one and its contents.
    var next: Int32 = 0
  }

  let bytes: [UInt8]
  let nodes: [Node]

  /// Nil unless `bytes` are a JSON document (RFC 8259) of the kind that ``JSONDocumentReader`` reads.
  init?(_ bytes: [UInt8]) {
    guard bytes.count <= JSONDocumentReader.maximumLength, Self.isUTF8(bytes) else { return nil }
    var scanner = JSONScanner(bytes)
    guard scanner.scanDocument() else { return nil }
    self.bytes = bytes
    nodes = scanner.nodes
  }

  private static func isUTF8(_ bytes: [UInt8]) -> Bool {
    let isASCII = unsafe bytes.withUnsafeBytes { bytes in
      var (index, all) = (0, UInt64(0))
      while index + 8 <= bytes.count {
        unsafe all |= bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        index += 8
      }
      while index < bytes.count {
        unsafe all |= UInt64(bytes[index])
        index += 1
      }
      return all & 0x8080_8080_8080_8080 == 0
    }
    if isASCII { return true }
    do {
      _ = try UTF8Span(validating: bytes.span)
      return true
    } catch {
      return false
    }
  }

  /// The member of that name, the first of several; `index` is an object's.
  func member(_ name: String, of index: Int) -> Int? {
    let name = name.utf8.span
    var child = index + 1
    for _ in 0..<nodes[index].count {
      let place = nodes[child].name
      if place.count == name.count, isEqual(place, to: name) { return child }
      child = Int(nodes[child].next)
    }
    return nil
  }

  private func isEqual(_ place: Range<Int32>, to name: Span<UInt8>) -> Bool {
    var position = Int(place.lowerBound)
    for index in name.indices {
      guard bytes[position] == name[index] else { return false }
      position += 1
    }
    return true
  }

  /// The name of a member.
  func name(of index: Int) -> String { string(nodes[index].name) }

  /// Nil for another kind of value.
  func text(_ index: Int) -> String? {
    switch nodes[index].kind {
    case .plainText: string(nodes[index].place)
    case .escapedText: unescaped(nodes[index].place)
    default: nil
    }
  }

  /// Nil for another kind of value.
  func integer(_ index: Int) -> Int64? {
    guard nodes[index].kind == .integer else { return nil }
    let place = nodes[index].place
    let isNegative = bytes[Int(place.lowerBound)] == UInt8(ascii: "-")
    var value: Int64 = 0
    for position in Int(place.lowerBound) + (isNegative ? 1 : 0)..<Int(place.upperBound) {
      value = value * 10 + Int64(bytes[position] - UInt8(ascii: "0"))
    }
    return isNegative ? -value : value
  }

  private func string(_ place: Range<Int32>) -> String {
    String(decoding: bytes[Int(place.lowerBound)..<Int(place.upperBound)], as: UTF8.self)
  }

  private func unescaped(_ place: Range<Int32>) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(place.count)
    var position = Int(place.lowerBound)
    while position < place.upperBound {
      let byte = bytes[position]
      position += 1
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        continue
      }
      let escape = bytes[position]
      position += 1
      switch escape {
      case UInt8(ascii: "b"): text.append(0x08)
      case UInt8(ascii: "f"): text.append(0x0C)
      case UInt8(ascii: "n"): text.append(0x0A)
      case UInt8(ascii: "r"): text.append(0x0D)
      case UInt8(ascii: "t"): text.append(0x09)
      case UInt8(ascii: "u"):
        let unit = bytes[position..<position + 4].reduce(UInt32(0)) { $0 << 4 | JSONScanner.digit($1) }
        position += 4
        guard let scalar = Unicode.Scalar(unit) else { preconditionFailure("surrogates are not scanned") }
        text.append(contentsOf: String(scalar).utf8)
      default: text.append(escape)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

/// Finds where the values of a document stand.
private struct JSONScanner {
  private let bytes: [UInt8]
  private(set) var nodes: [JSONDocument.Node] = []
  private var position = 0

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    nodes.reserveCapacity(min(64, bytes.count / 8 + 1))
  }

  /// False where the document is none, or not one of the kind.
  mutating func scanDocument() -> Bool {
    guard scanValue(named: 0..<0, within: JSONDocumentReader.maximumDepth) else { return false }
    skipSpace()
    return position == bytes.count
  }

  private mutating func scanValue(named name: Range<Int32>, within depth: Int) -> Bool {
    skipSpace()
    guard position < bytes.count, nodes.count < JSONDocumentReader.maximumValues else { return false }
    switch bytes[position] {
    case UInt8(ascii: "\""):
      guard let text = scanText() else { return false }
      add(text.hasEscapes ? .escapedText : .plainText, name, text.place)
      return true
    case UInt8(ascii: "{"): return scanObject(named: name, within: depth)
    case UInt8(ascii: "["): return scanList(named: name, within: depth)
    case UInt8(ascii: "t"): return scanWord("true", .true, name)
    case UInt8(ascii: "f"): return scanWord("false", .false, name)
    case UInt8(ascii: "n"): return scanWord("null", .null, name)
    default: return scanInteger(named: name)
    }
  }

  private mutating func scanObject(named name: Range<Int32>, within depth: Int) -> Bool {
    guard depth > 0 else { return false }
    position += 1
    let index = nodes.count
    add(.object, name, 0..<0)
    skipSpace()
    if take(UInt8(ascii: "}")) { return true }
    var count: Int32 = 0
    repeat {
      skipSpace()
      guard count < JSONDocumentReader.maximumMembers, position < bytes.count,
        bytes[position] == UInt8(ascii: "\""), let name = scanText(), !name.hasEscapes, isASCII(name.place)
      else { return false }
      skipSpace()
      guard take(UInt8(ascii: ":")), scanValue(named: name.place, within: depth - 1) else { return false }
      count += 1
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { return false }
    nodes[index].count = count
    nodes[index].next = Int32(nodes.count)
    return true
  }

  private mutating func scanList(named name: Range<Int32>, within depth: Int) -> Bool {
    guard depth > 0 else { return false }
    position += 1
    let index = nodes.count
    add(.list, name, 0..<0)
    skipSpace()
    if take(UInt8(ascii: "]")) { return true }
    var count: Int32 = 0
    repeat {
      guard scanValue(named: 0..<0, within: depth - 1) else { return false }
      count += 1
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { return false }
    nodes[index].count = count
    nodes[index].next = Int32(nodes.count)
    return true
  }

  /// Adds a value that nothing is in yet.
  private mutating func add(_ kind: JSONDocument.Node.Kind, _ name: Range<Int32>, _ place: Range<Int32>) {
    nodes.append(JSONDocument.Node(kind: kind, name: name, place: place, next: Int32(nodes.count + 1)))
  }

  /// At a quote: the text behind it, up to the next one.
  private mutating func scanText() -> (place: Range<Int32>, hasEscapes: Bool)? {
    let start = position + 1
    var hasEscapes = false
    position = start
    while true {
      position += JSONString.countOfPlainWords(bytes.span.extracting(position...))
      guard position < bytes.count else { return nil }
      let byte = bytes[position]
      if byte == UInt8(ascii: "\"") { break }
      guard byte >= 0x20 else { return nil }
      position += 1
      guard byte == UInt8(ascii: "\\") else { continue }
      guard scanEscape() else { return nil }
      hasEscapes = true
    }
    position += 1
    return (Int32(start)..<Int32(position - 1), hasEscapes)
  }

  /// Behind a backslash.
  private mutating func scanEscape() -> Bool {
    guard position < bytes.count else { return false }
    let escape = bytes[position]
    position += 1
    switch escape {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
      UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return true
    case UInt8(ascii: "u"):
      guard position + 4 <= bytes.count, bytes[position..<position + 4].allSatisfy({ Self.digit($0) < 16 })
      else { return false }
      let isSurrogate = Self.digit(bytes[position]) == 13 && Self.digit(bytes[position + 1]) >= 8
      position += 4
      return !isSurrogate
    default: return false
    }
  }

  /// 16 and more for what is no hexadecimal digit.
  static func digit(_ byte: UInt8) -> UInt32 {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a")) + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A")) + 10
    default: 16
    }
  }

  private mutating func scanWord(
    _ word: String, _ kind: JSONDocument.Node.Kind, _ name: Range<Int32>
  ) -> Bool {
    guard bytes[position...].starts(with: word.utf8) else { return false }
    position += word.utf8.count
    add(kind, name, 0..<0)
    return true
  }

  /// At most 18 digits, without a leading zero, and no minus before zero.
  private mutating func scanInteger(named name: Range<Int32>) -> Bool {
    let start = position
    let isNegative = take(UInt8(ascii: "-"))
    let first = position
    while position < bytes.count, isDigit(bytes[position]) { position += 1 }
    guard (1...18).contains(position - first),
      bytes[first] != UInt8(ascii: "0") || (position == first + 1 && !isNegative),
      position == bytes.count || !isPartOfNumber(bytes[position])
    else { return false }
    add(.integer, name, Int32(start)..<Int32(position))
    return true
  }

  private func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

  private func isPartOfNumber(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ".") || byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E")
  }

  private func isASCII(_ place: Range<Int32>) -> Bool {
    bytes[Int(place.lowerBound)..<Int(place.upperBound)].allSatisfy { $0 < 0x80 }
  }

  private mutating func take(_ byte: UInt8) -> Bool {
    guard position < bytes.count, bytes[position] == byte else { return false }
    position += 1
    return true
  }

  private mutating func skipSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x0A, 0x0D, 0x09: position += 1
      default: return
      }
    }
  }
}
