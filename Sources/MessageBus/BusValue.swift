internal import Glibc
public import SystemCalls

/// A value on a bus, by the types of the D-Bus specification ("Type system").
///
/// ```swift
/// let options = BusValue.properties(["urgency": .byte(1), "category": .string("transfer.complete")])
/// options.type       // a{sv}
/// options["urgency"] // .byte(1)
/// ```
public indirect enum BusValue: Hashable, Sendable {
  /// `y`.
  case byte(UInt8)
  /// `b`.
  case boolean(Bool)
  /// `n`.
  case int16(Int16)
  /// `q`.
  case uint16(UInt16)
  /// `i`.
  case int32(Int32)
  /// `u`.
  case uint32(UInt32)
  /// `x`.
  case int64(Int64)
  /// `t`.
  case uint64(UInt64)
  /// `d`.
  case double(Double)
  /// `s`: without a zero byte.
  case string(String)
  /// `o`.
  case path(BusPath)
  /// `g`: the types of a signature.
  case signature(String)
  /// `h`.
  case descriptor(BusDescriptor)
  /// `ay`.
  case bytes([UInt8])
  /// `a` and the type of each element; for `ay` see ``bytes(_:)``.
  case array(of: BusType, [BusValue])
  /// `(…)`: one member or more.
  case structure([BusValue])
  /// `a{…}`: entries in their order.
  case dictionary(key: BusType, value: BusType, [BusEntry])
  /// `v`.
  case variant(BusValue)

  /// Returns the value as `a{sv}`, ordered by names.
  public static func properties(_ members: [String: BusValue]) -> BusValue {
    .dictionary(
      key: "s", value: "v",
      members.sorted { $0.key < $1.key }.map { BusEntry(key: .string($0.key), value: .variant($0.value)) })
  }

  /// Returns the texts as `as`.
  public static func strings(_ texts: [String]) -> BusValue { .array(of: "s", texts.map { .string($0) }) }

  /// The type of the value. Of a list or a dictionary it is the declared one, whatever is in it.
  public var type: BusType { BusType(unchecked: signatureText) }

  private var signatureText: String {
    switch self {
    case .byte: "y"
    case .boolean: "b"
    case .int16: "n"
    case .uint16: "q"
    case .int32: "i"
    case .uint32: "u"
    case .int64: "x"
    case .uint64: "t"
    case .double: "d"
    case .string: "s"
    case .path: "o"
    case .signature: "g"
    case .descriptor: "h"
    case .bytes: "ay"
    case .array(let element, _): "a\(element)"
    case .structure(let members): "(" + members.map(\.signatureText).joined() + ")"
    case .dictionary(let key, let value, _): "a{\(key)\(value)}"
    case .variant: "v"
    }
  }

  // MARK: reading

  /// A string's, a path's or a signature's text, also in a variant.
  public var text: String? {
    switch self {
    case .string(let text), .signature(let text): text
    case .path(let path): path.description
    case .variant(let value): value.text
    default: nil
    }
  }

  /// A whole number of any width that fits, also in a variant.
  public var number: Int? {
    switch self {
    case .byte(let number): Int(number)
    case .int16(let number): Int(number)
    case .uint16(let number): Int(number)
    case .int32(let number): Int(number)
    case .uint32(let number): Int(number)
    case .int64(let number): Int(exactly: number)
    case .uint64(let number): Int(exactly: number)
    case .variant(let value): value.number
    default: nil
    }
  }

  /// A double or a whole number, also in a variant.
  public var fraction: Double? {
    switch self {
    case .double(let number): number
    case .variant(let value): value.fraction
    default: number.map(Double.init)
    }
  }

  /// A boolean, also in a variant.
  public var flag: Bool? {
    switch self {
    case .boolean(let flag): flag
    case .variant(let value): value.flag
    default: nil
    }
  }

  /// A path, also in a variant.
  public var objectPath: BusPath? {
    switch self {
    case .path(let path): path
    case .variant(let value): value.objectPath
    default: nil
    }
  }

  /// A descriptor, also in a variant.
  public var openDescriptor: BusDescriptor? {
    switch self {
    case .descriptor(let descriptor): descriptor
    case .variant(let value): value.openDescriptor
    default: nil
    }
  }

  /// The elements of an array or the members of a structure, also in a variant.
  public var elements: [BusValue]? {
    switch self {
    case .array(_, let elements), .structure(let elements): elements
    case .bytes(let bytes): bytes.map { .byte($0) }
    case .variant(let value): value.elements
    default: nil
    }
  }

  /// The entries of a dictionary whose keys are texts, by them, without the variants around their values; the last one counts where a
  /// key is there twice. Also in a variant.
  public var members: [String: BusValue]? {
    switch self {
    case .dictionary(_, _, let entries):
      var members: [String: BusValue] = [:]
      for entry in entries {
        guard let key = entry.key.text else { return nil }
        members[key] = entry.value.withoutVariants
      }
      return members
    case .variant(let value): return value.members
    default: return nil
    }
  }

  /// The value of a dictionary's text; nil without it, and for what is no such dictionary.
  public subscript(key: String) -> BusValue? { members?[key] }

  /// The value in the innermost of the variants around it.
  public var withoutVariants: BusValue {
    if case .variant(let value) = self { value.withoutVariants } else { self }
  }
}

/// A key and its value in a dictionary.
public struct BusEntry: Hashable, Sendable {
  /// A value of a basic type.
  public var key: BusValue
  /// The key's value.
  public var value: BusValue

  /// An entry from its parts.
  public init(key: BusValue, value: BusValue) {
    self.key = key
    self.value = value
  }
}

/// An open file that came over a bus, or that is to be sent; closed with the last reference.
public final class BusDescriptor: Hashable, Sendable {
  /// The descriptor, open while this object lives.
  public let descriptor: FileDescriptor

  /// Takes the descriptor over.
  public init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

  /// Whether both are the same object.
  public static func == (left: BusDescriptor, right: BusDescriptor) -> Bool { left === right }

  /// By the object.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
