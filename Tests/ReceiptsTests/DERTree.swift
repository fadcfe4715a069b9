/// An ASN.1 element as a value that a test takes apart, alters and writes again. It shares no code with the
/// reader and the writer under test; what it reads must be well formed.
struct DERTree: Hashable, Sendable {
  enum Content: Hashable, Sendable {
    case octets([UInt8])
    case elements([DERTree])
  }

  var tag: UInt8
  var content: Content

  init(_ tag: UInt8, _ octets: [UInt8]) {
    self.tag = tag
    content = .octets(octets)
  }

  init(_ tag: UInt8, of elements: [DERTree]) {
    self.tag = tag
    content = .elements(elements)
  }

  /// Reads the first element of `encoded`.
  init(_ encoded: [UInt8]) {
    self = Self.elements(encoded[...])[0]
  }

  var elements: [DERTree] {
    get { if case .elements(let elements) = content { elements } else { [] } }
    set { content = .elements(newValue) }
  }

  var octets: [UInt8] {
    get { if case .octets(let octets) = content { octets } else { [] } }
    set { content = .octets(newValue) }
  }

  /// The element that `path` leads to, each number the place among an element's elements.
  subscript(path: [Int]) -> DERTree {
    get { path.reduce(self) { $0.elements[$1] } }
    set {
      guard let first = path.first else {
        self = newValue
        return
      }
      elements[first][Array(path.dropFirst())] = newValue
    }
  }

  /// The paths of all elements inside this one.
  var paths: [[Int]] {
    elements.enumerated().flatMap { index, element in [[index]] + element.paths.map { [index] + $0 } }
  }
}

extension DERTree {
  static let null = DERTree(0x05, [])

  static func integer(_ value: Int) -> DERTree {
    var octets = Self.bigEndian(value)
    while octets.count > 1, (octets[0] == 0 && octets[1] < 0x80) || (octets[0] == 0xFF && octets[1] > 0x7F) {
      octets.removeFirst()
    }
    return DERTree(0x02, octets)
  }

  static func octetString(_ octets: [UInt8]) -> DERTree { DERTree(0x04, octets) }
  static func utf8(_ text: String) -> DERTree { DERTree(0x0C, Array(text.utf8)) }
  static func ia5(_ text: String) -> DERTree { DERTree(0x16, Array(text.utf8)) }
  static func sequence(_ elements: [DERTree]) -> DERTree { DERTree(0x30, of: elements) }
  static func set(_ elements: [DERTree]) -> DERTree { DERTree(0x31, of: elements) }

  /// An attribute of a receipt whose value is the encoding of `value`.
  static func attribute(_ type: Int, _ value: DERTree) -> DERTree { attribute(type, octets: value.encoded) }

  static func attribute(_ type: Int, version: Int = 1, octets: [UInt8]) -> DERTree {
    sequence([.integer(type), .integer(version), .octetString(octets)])
  }
}

extension DERTree {
  var encoded: [UInt8] {
    let octets =
      switch content {
      case .octets(let octets): octets
      case .elements(let elements): elements.flatMap(\.encoded)
      }
    return [tag] + Self.length(octets.count) + octets
  }

  /// In BER, every constructed element with an indefinite length.
  var encodedIndefinitely: [UInt8] {
    switch content {
    case .octets: encoded
    case .elements(let elements): [tag, 0x80] + elements.flatMap(\.encodedIndefinitely) + [0, 0]
    }
  }

  static func length(_ count: Int) -> [UInt8] {
    if count < 0x80 { return [UInt8(count)] }
    let octets = bigEndian(count).drop { $0 == 0 }
    return [0x80 + UInt8(octets.count)] + octets
  }

  private static func bigEndian(_ value: Int) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> (56 - 8 * $0)) }
  }

  private static func elements(_ encoded: ArraySlice<UInt8>) -> [DERTree] {
    var rest = encoded
    var elements: [DERTree] = []
    while let tag = rest.popFirst(), let first = rest.popFirst() {
      var count = Int(first)
      if first > 0x80 {
        count = rest.prefix(Int(first) - 0x80).reduce(0) { $0 << 8 + Int($1) }
        rest = rest.dropFirst(Int(first) - 0x80)
      }
      let content = rest.prefix(count)
      rest = rest.dropFirst(count)
      let isConstructed = tag & 0x20 != 0
      elements.append(
        isConstructed ? DERTree(tag, of: Self.elements(content)) : DERTree(tag, Array(content)))
    }
    return elements
  }
}

/// Where the parts of a signed receipt lie (RFC 5652 §3 and §5.1).
enum CMSPath {
  static let contentType = [0]
  static let signedData = [1, 0]
  static let version = [1, 0, 0]
  static let digestAlgorithms = [1, 0, 1]
  static let encapsulated = [1, 0, 2]
  static let encapsulatedType = [1, 0, 2, 0]
  static let payload = [1, 0, 2, 1, 0]
  static let certificates = [1, 0, 3]
  static let signers = [1, 0, 4]
  static let signer = [1, 0, 4, 0]
  static let signerVersion = [1, 0, 4, 0, 0]
  static let issuer = [1, 0, 4, 0, 1, 0]
  static let serialNumber = [1, 0, 4, 0, 1, 1]
  static let digestAlgorithm = [1, 0, 4, 0, 2]
  static let signatureAlgorithm = [1, 0, 4, 0, 3]
  static let signature = [1, 0, 4, 0, 4]
}
