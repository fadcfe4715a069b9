/// Header fields in the order they stand on the wire; names compare without case (RFC 9110 §5.1).
public struct HTTPFields: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  public struct Field: Sendable, Hashable {
    public let name: String
    public let value: String

    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  private var fields: [Field] = []

  public init() {}

  public init(dictionaryLiteral elements: (String, String)...) {
    fields = elements.map { Field(name: $0.0, value: $0.1) }
  }

  /// The value of the first field of that name. Setting replaces every field of that name; nil removes them.
  public subscript(name: String) -> String? {
    get { fields.first { HTTPFields.areSame($0.name, name) }?.value }
    set {
      if let newValue { set(name, to: newValue) } else { remove(name) }
    }
  }

  /// The values of every field of that name, in order.
  public func values(of name: String) -> [String] {
    fields.filter { HTTPFields.areSame($0.name, name) }.map(\.value)
  }

  /// Adds a field, whether or not one of that name exists.
  public mutating func append(_ name: String, _ value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Leaves exactly one field of that name, in the place of the first.
  public mutating func set(_ name: String, to value: String) {
    let place = fields.firstIndex { HTTPFields.areSame($0.name, name) }
    remove(name)
    fields.insert(Field(name: name, value: value), at: place ?? fields.count)
  }

  public mutating func remove(_ name: String) {
    fields.removeAll { HTTPFields.areSame($0.name, name) }
  }

  public func contains(_ name: String) -> Bool {
    fields.contains { HTTPFields.areSame($0.name, name) }
  }

  static func areSame(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count
      && zip(left.utf8, right.utf8).allSatisfy { ASCII.lowercased($0) == ASCII.lowercased($1) }
  }
}

extension HTTPFields: RandomAccessCollection {
  public var startIndex: Int { fields.startIndex }
  public var endIndex: Int { fields.endIndex }
  public subscript(position: Int) -> Field { fields[position] }
}
