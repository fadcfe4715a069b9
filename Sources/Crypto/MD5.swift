internal import COpenSSL

/// MD5 (RFC 1321), for protocols that name things by it. It keeps no secret and proves nothing: two documents with one MD5 are easily made.
public enum MD5 {
  /// The digest in 32 lower-case hexadecimal digits; nil where libcrypto has no MD5, as by some rules of governments.
  public static func hexadecimal(of bytes: [UInt8]) -> String? {
    var digest = [UInt8](repeating: 0, count: 16)
    var length = 0
    let isMade = unsafe bytes.withUnsafeBufferPointer { bytes in
      unsafe digest.withUnsafeMutableBufferPointer { digest in
        unsafe EVP_Q_digest(nil, "MD5", nil, bytes.baseAddress, bytes.count, digest.baseAddress, &length) == 1
      }
    }
    guard Libcrypto.accepts(isMade), length == 16 else { return nil }
    return Hexadecimal.encode(digest)
  }
}
