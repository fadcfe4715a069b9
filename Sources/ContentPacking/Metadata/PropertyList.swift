import ContentPackage

/// Reads the strings in the dictionary at the top of a property list, XML or binary. It looks at nothing below, so that no
/// nesting and no reference that leads in a circle can matter.
enum PropertyList {
  /// By their keys; nil when `bytes` are no property list with a dictionary at its top.
  static func texts(in bytes: [UInt8]) -> [String: String]? {
    bytes.starts(with: Array("bplist00".utf8)) ? BinaryPropertyList(bytes)?.texts() : markup(bytes)
  }

  /// Only keys and strings right below the dictionary count. A key whose value is no string is dropped with
  /// it.
  private static func markup(_ bytes: [UInt8]) -> [String: String]? {
    var texts: [String: String] = [:]
    var key: String?
    var hasDictionary = false
    let isWellFormed = XMLReader.read(bytes) { path, event in
      guard path.starts(with: ["plist", "dict"]) else { return }
      hasDictionary = true
      guard path.count == 3, case .end(let text) = event else { return }
      switch path[2] {
      case "key": key = text
      case "string":
        if let key { texts[key] = text }
        key = nil
      default: key = nil
      }
    }
    return isWellFormed && hasDictionary ? texts : nil
  }
}

/// A binary property list, version 00: objects, a table of their offsets, and a trailer of 32 bytes at the end. Integers are
/// big-endian. Every offset and length is checked before it is used, so that no input traps.
struct BinaryPropertyList {
  /// Bytes of the trailer.
  private static let trailerLength = 32
  /// Bytes of the signature and the version.
  private static let headerLength = 8

  /// The whole list.
  private let bytes: [UInt8]
  /// Bytes of an offset in the table.
  private let offsetLength: Int
  /// Bytes of a reference to an object.
  private let referenceLength: Int
  /// Objects, and so entries of the table.
  private let count: Int
  /// The number of the object at the top.
  private let top: Int
  /// Where the table starts; objects lie before it.
  private let table: Int

  /// Nil when the trailer, or the table it points to, cannot be.
  init?(_ bytes: [UInt8]) {
    guard bytes.count >= Self.headerLength + Self.trailerLength else { return nil }
    let trailer = bytes.count - Self.trailerLength
    self.bytes = bytes
    offsetLength = Int(bytes[trailer + 6])
    referenceLength = Int(bytes[trailer + 7])
    guard [1, 2, 4, 8].contains(offsetLength), [1, 2, 4, 8].contains(referenceLength),
      let count = Self.integer(in: bytes, at: trailer + 8, width: 8),
      let top = Self.integer(in: bytes, at: trailer + 16, width: 8),
      let table = Self.integer(in: bytes, at: trailer + 24, width: 8),
      // No more objects than bytes: products of these stay small.
      count <= bytes.count, top < count, table >= Self.headerLength,
      table <= trailer, count * offsetLength <= trailer - table
    else { return nil }
    (self.count, self.top, self.table) = (count, top, table)
  }

  /// Nil when the object at the top is no dictionary, or one that cannot be.
  func texts() -> [String: String]? {
    guard let place = place(of: top), bytes[place] >> 4 == 0xD, let (count, start) = length(at: place),
      count <= bytes.count, start + 2 * count * referenceLength <= table
    else { return nil }
    var texts: [String: String] = [:]
    for index in 0..<count {
      let key = start + index * referenceLength
      guard let name = reference(key), let value = reference(key + count * referenceLength) else {
        return nil
      }
      if let name = text(name), let value = text(value) { texts[name] = value }
    }
    return texts
  }

  /// The number of the object that a reference at `offset` names.
  private func reference(_ offset: Int) -> Int? {
    Self.integer(in: bytes, at: offset, width: referenceLength)
  }

  /// Where an object's marker stands; nil for a number beyond the table and a place outside of the objects.
  private func place(of object: Int) -> Int? {
    guard object < count,
      let place = Self.integer(in: bytes, at: table + object * offsetLength, width: offsetLength),
      place >= Self.headerLength, place < table
    else { return nil }
    return place
  }

  /// How many elements the object has whose marker stands at `place`, and where they start.
  private func length(at place: Int) -> (count: Int, start: Int)? {
    let short = Int(bytes[place] & 15)
    guard short == 15 else { return (short, place + 1) }
    guard place + 1 < table, bytes[place + 1] >> 4 == 1, bytes[place + 1] & 15 <= 3 else { return nil }
    let width = 1 << Int(bytes[place + 1] & 15)
    return Self.integer(in: bytes, at: place + 2, width: width).map { ($0, place + 2 + width) }
  }

  /// Nil for what is no string.
  private func text(_ object: Int) -> String? {
    guard let place = place(of: object), let (count, start) = length(at: place), count <= bytes.count else {
      return nil
    }
    switch bytes[place] >> 4 {
    case 5:
      guard start + count <= table else { return nil }
      return String(validating: bytes[start..<start + count], as: Unicode.ASCII.self)
    case 6:
      guard start + 2 * count <= table else { return nil }
      let units = (0..<count).map { UInt16(bytes[start + 2 * $0]) << 8 | UInt16(bytes[start + 2 * $0 + 1]) }
      return String(validating: units, as: UTF16.self)
    default: return nil
    }
  }

  /// Nil beyond the bytes, and for what no length or offset of so few bytes can be.
  private static func integer(in bytes: [UInt8], at offset: Int, width: Int) -> Int? {
    guard offset >= 0, offset + width <= bytes.count else { return nil }
    var value: UInt64 = 0
    for index in offset..<offset + width { value = value << 8 | UInt64(bytes[index]) }
    return value < 1 << 31 ? Int(value) : nil
  }
}
