internal import Glibc

/// Bytes that cannot be guessed, for keys, tokens and identifiers: the kernel's own (getrandom(2)). OpenSSL's generator would keep
/// a state of its own for each thread, and loses it when a thread ends while the process does.
public enum RandomBytes {
  /// Traps when the system has no randomness to give: nothing secret may go on without it.
  public static func make(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    unsafe bytes.withUnsafeMutableBytes { buffer in
      // One call gives at most 256.
      for start in stride(from: 0, to: count, by: 256) {
        let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[start..<min(start + 256, count)])
        precondition(unsafe getentropy(part.baseAddress, part.count) == 0, "no randomness")
      }
    }
    return bytes
  }

  /// A token of `bits` random bits (a multiple of 8) in base64url.
  public static func token(bits: Int = 192) -> String {
    Base64.encode(make(bits / 8), .url)
  }
}
