internal import COpenSSL

/// Bytes nobody can guess, for keys, tokens and identifiers.
public enum RandomBytes {
  /// Traps when the system has no randomness to give: nothing secret may go on without it.
  public static func make(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let result = unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      unsafe RAND_bytes(buffer.baseAddress, Int32(buffer.count))
    }
    precondition(result == 1, "no randomness")
    return bytes
  }

  /// A token of `bits` random bits (a multiple of 8) in base64url.
  public static func token(bits: Int = 192) -> String {
    Base64.encode(make(bits / 8), .url)
  }
}
