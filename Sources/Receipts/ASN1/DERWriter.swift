/// Writes ASN.1 elements by the distinguished rules.
enum DERWriter {
  static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
    [tag] + length(content.count) + content
  }

  /// The elements in the order the rules ask of a SET OF: by their encodings.
  static func set(_ elements: [[UInt8]]) -> [UInt8] {
    let sorted = elements.sorted { $0.lexicographicallyPrecedes($1) }
    return element(DERTag.set, Array(sorted.joined()))
  }

  static func integer(_ value: Int64) -> [UInt8] {
    var octets = (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - Int64($0) * 8)) }
    while octets.count > 1, octets[0] == (octets[1] >= 0x80 ? 0xFF : 0x00) { octets.removeFirst() }
    return element(DERTag.integer, octets)
  }

  static func utf8(_ text: String) -> [UInt8] { element(DERTag.utf8String, Array(text.utf8)) }

  static func ia5(_ text: String) -> [UInt8] { element(DERTag.ia5String, Array(text.utf8)) }

  private static func length(_ count: Int) -> [UInt8] {
    guard count >= 0x80 else { return [UInt8(count)] }
    var octets: [UInt8] = []
    var rest = count
    while rest > 0 {
      octets.insert(UInt8(truncatingIfNeeded: rest), at: 0)
      rest >>= 8
    }
    return [0x80 | UInt8(octets.count)] + octets
  }
}
