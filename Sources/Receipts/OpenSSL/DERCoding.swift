/// The two shapes of libcrypto's DER functions.
enum DERCoding {
  /// Runs a `d2i_` function over all of `bytes`. Nil when it refuses them or leaves some over.
  static func decode(
    _ bytes: [UInt8],
    with function: (
      UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int
    ) -> OpaquePointer?,
    free: (OpaquePointer) -> Void
  ) -> OpaquePointer? {
    unsafe bytes.withUnsafeBufferPointer { buffer in
      var cursor = buffer.baseAddress
      guard let object = unsafe function(&cursor, buffer.count) else { return nil }
      guard let cursor = unsafe cursor, let start = buffer.baseAddress,
        unsafe cursor - start == buffer.count
      else {
        unsafe free(object)
        return nil
      }
      return unsafe object
    }
  }

  /// Runs an `i2d_` function. Nil when it fails.
  static func encode(
    _ function: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
  ) -> [UInt8]? {
    let length = function(nil)
    guard length > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(length))
    let written = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      var cursor = buffer.baseAddress
      return unsafe function(&cursor)
    }
    return written == length ? bytes : nil
  }
}
