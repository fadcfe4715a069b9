/// zlib could not go on.
struct CompressionError: Error, Hashable {
  enum Reason: Hashable {
    /// The bytes are no deflate stream.
    case invalidData
    /// zlib got no memory.
    case outOfMemory
  }

  let reason: Reason

  /// From a zlib code that is none of the outcomes a stream expects. `Z_STREAM_ERROR` and `Z_VERSION_ERROR` mean a defect
  /// of ours.
  static func from(_ code: Int32, _ call: StaticString) -> CompressionError {
    switch code {
    case -3, 2: return CompressionError(reason: .invalidData)
    case -4: return CompressionError(reason: .outOfMemory)
    default: preconditionFailure("\(call) answered \(code)")
    }
  }
}
