public import CoreTypes

/// What a request carries. A body is sent with `Content-Length`; above 1 MiB the client asks with
/// `Expect: 100-continue` first, so that a refusal costs nothing.
public enum ClientBody: Sendable {
  case none
  case bytes([UInt8])
  /// That range of a file, read while it is sent. `progress` gets the bytes read so far, on the client's
  /// thread; it must not block. A repeated request (a kept connection that was gone) starts again from a
  /// lower number.
  case file(UploadFile, Range<Int64>, progress: (@Sendable (ByteCount) -> Void)? = nil)

  /// Zero for ``none``.
  public var length: ByteCount {
    switch self {
    case .none: .zero
    case .bytes(let bytes): ByteCount(bytes.count)
    case .file(_, let range, _): ByteCount(range.upperBound - range.lowerBound)
    }
  }
}
