import HTTPParsing

/// Header fields in the order they stand on the wire; names compare without case (RFC 9110 §5.1).
public struct HTTPFields: Sendable, Equatable, ExpressibleByDictionaryLiteral {
  /// One header field.
  public struct Field: Sendable, Hashable {
    /// The name as it was received, or is to be sent: case is kept.
    public let name: String
    /// The value without the white space around it.
    public let value: String

    /// A field; neither part is checked before it is sent (see ``HTTPResponse``).
    public init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  private var fields: [Field] = []

  /// No fields.
  public init() {}

  /// The fields in the order of the literal; a name may repeat.
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
  public mutating func append(name: String, value: String) {
    fields.append(Field(name: name, value: value))
  }

  /// Leaves exactly one field of that name, in the place of the first.
  public mutating func set(_ name: String, to value: String) {
    let place = fields.firstIndex { HTTPFields.areSame($0.name, name) }
    remove(name)
    fields.insert(Field(name: name, value: value), at: place ?? fields.count)
  }

  /// Removes every field of that name.
  public mutating func remove(_ name: String) {
    fields.removeAll { HTTPFields.areSame($0.name, name) }
  }

  /// Whether there is a field of that name.
  public func contains(_ name: String) -> Bool {
    fields.contains { HTTPFields.areSame($0.name, name) }
  }

  static func areSame(_ left: String, _ right: String) -> Bool {
    left.utf8.count == right.utf8.count
      && zip(left.utf8, right.utf8).allSatisfy { ASCII.lowercased($0) == ASCII.lowercased($1) }
  }
}

extension HTTPFields: RandomAccessCollection {
  /// Always 0.
  public var startIndex: Int { fields.startIndex }
  /// The number of fields.
  public var endIndex: Int { fields.endIndex }
  /// The field at `position`, which must be below ``endIndex``.
  public subscript(position: Int) -> Field { fields[position] }
}
