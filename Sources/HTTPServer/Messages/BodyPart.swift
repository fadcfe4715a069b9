/// A piece of a ``ResponseBody/parts(_:meter:)`` body.
public enum BodyPart: Sendable {
  case bytes([UInt8])
  case file(SharedDescriptor, Range<Int64>)

  public var length: Int64 {
    switch self {
    case .bytes(let bytes): Int64(bytes.count)
    case .file(_, let range): range.upperBound - range.lowerBound
    }
  }
}
