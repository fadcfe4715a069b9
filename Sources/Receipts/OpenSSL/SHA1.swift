import COpenSSL

/// SHA-1, which the device hash of app receipts is made of. Nothing else here may rest on it.
enum SHA1 {
  static func of(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 20)
    let result = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, EVP_sha1(), nil)
    precondition(result == 1, "libcrypto refused SHA-1")
    return digest
  }
}
