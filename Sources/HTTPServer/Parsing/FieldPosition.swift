/// Where a header field stands in the input.
public struct FieldPosition: Sendable, Hashable {
  let nameStart: UInt16
  let nameLength: UInt16
  let valueStart: UInt16
  let valueLength: UInt16

  public var name: Range<Int> { Int(nameStart)..<Int(nameStart) + Int(nameLength) }
  /// Without the optional white space around it; may be empty.
  public var value: Range<Int> { Int(valueStart)..<Int(valueStart) + Int(valueLength) }
}
