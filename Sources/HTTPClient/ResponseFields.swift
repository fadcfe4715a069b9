/// Header fields in the order they came in; names compare without regard to case.
public struct ResponseFields: Hashable, Sendable, RandomAccessCollection {
  public struct Field: Hashable, Sendable {
    public var name: String
    public var value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  var fields: [Field]

  public init(_ fields: [Field] = []) {
    self.fields = fields
  }

  public var startIndex: Int { 0 }
  public var endIndex: Int { fields.count }
  public subscript(position: Int) -> Field { fields[position] }

  /// The first field of that name.
  public subscript(name: String) -> String? {
    fields.first { Self.matches($0.name, name) }?.value
  }

  public func values(of name: String) -> [String] {
    fields.filter { Self.matches($0.name, name) }.map(\.value)
  }

  /// ASCII letters without case; everything else byte for byte.
  static func matches(_ left: String, _ right: String) -> Bool {
    left.utf8.elementsEqual(right.utf8) { lowercased($0) == lowercased($1) }
  }

  private static func lowercased(_ byte: UInt8) -> UInt8 {
    (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
  }
}
