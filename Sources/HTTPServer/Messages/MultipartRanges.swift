internal import CoreTypes

/// Several ranges of a file as one `multipart/byteranges` body (RFC 9110 §14.6).
public struct MultipartRanges: Sendable {
  /// For the response's `Content-Type`; the boundary is not quoted, which some clients do not understand.
  public let contentType: String
  /// For ``ResponseBody/parts(_:meter:)`` or ``InlineResponse/finish(parts:meter:)``.
  public let parts: [BodyPart]

  /// `partType` is the file's own media type. The boundary must not occur in the file: leave it to chance.
  public init(
    _ ranges: [Range<Int64>], of file: SharedDescriptor, partType: String,
    boundary: String = MultipartRanges.randomBoundary()
  ) {
    contentType = "multipart/byteranges; boundary=\(boundary)"
    var parts: [BodyPart] = []
    for (index, range) in ranges.enumerated() {
      let head =
        "\(index == 0 ? "" : "\r\n")--\(boundary)\r\nContent-Type: \(partType)\r\n"
        + "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(file.length.rawValue)\r\n\r\n"
      parts.append(.bytes(Array(head.utf8)))
      parts.append(.file(file, range))
    }
    parts.append(.bytes(Array("\r\n--\(boundary)--\r\n".utf8)))
    self.parts = parts
  }

  /// 128 random bits.
  public static func randomBoundary() -> String {
    String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
  }
}
