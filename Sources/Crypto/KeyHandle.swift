internal import COpenSSL

/// A key of libcrypto's, private or public and of whatever algorithm: the one owner of its handle, and the forms in which keys
/// are written.
@safe
final class KeyHandle: Sendable {
  /// Lives as long as this object; libcrypto's keys may be read from several threads at once.
  nonisolated(unsafe) let pointer: OpaquePointer

  private static let label = "PRIVATE KEY"

  init(takingOwnershipOf pointer: OpaquePointer) {
    unsafe self.pointer = pointer
  }

  /// Nil unless `pem` is one private key in PKCS #8, and one that is wanted.
  init?(pem: String, where isWanted: (OpaquePointer) -> Bool) {
    guard let document = PEMDocument(only: Self.label, in: pem) else { return nil }
    let read = unsafe document.bytes.withUnsafeBufferPointer { bytes in
      var cursor = bytes.baseAddress
      return unsafe d2i_AutoPrivateKey(nil, &cursor, bytes.count)
    }
    guard Libcrypto.accepts(unsafe read != nil), let read = unsafe read else { return nil }
    guard Libcrypto.accepts(unsafe isWanted(read)) else {
      unsafe EVP_PKEY_free(read)
      return nil
    }
    unsafe pointer = read
  }

  /// Nil unless `bytes` are the SubjectPublicKeyInfo (RFC 5280 §4.1) of a key that is wanted, in DER and nothing behind it.
  init?(subjectPublicKeyInfo bytes: [UInt8], where isWanted: (OpaquePointer) -> Bool) {
    let (read, isWhole) = unsafe bytes.withUnsafeBufferPointer { buffer -> (OpaquePointer?, Bool) in
      var cursor = buffer.baseAddress
      let read = unsafe d2i_PUBKEY(nil, &cursor, buffer.count)
      return unsafe (read, cursor == buffer.baseAddress.map { unsafe $0 + buffer.count })
    }
    guard Libcrypto.accepts(unsafe read != nil), let read = unsafe read else { return nil }
    guard isWhole, Libcrypto.accepts(unsafe isWanted(read)) else {
      unsafe EVP_PKEY_free(read)
      return nil
    }
    unsafe pointer = read
  }

  deinit {
    unsafe EVP_PKEY_free(pointer)
  }

  /// A private key in PKCS #8, `-----BEGIN PRIVATE KEY-----`. Secret.
  var pem: String {
    let information = unsafe EVP_PKEY2PKCS8(pointer)
    defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
    let bytes = unsafe Self.written { cursor in unsafe i2d_PKCS8_PRIV_KEY_INFO(information, cursor) }
    return PEMDocument(label: Self.label, bytes: bytes).text
  }

  /// The public half (RFC 5280 §4.1), in DER.
  var subjectPublicKeyInfo: [UInt8] {
    unsafe Self.written { cursor in unsafe i2d_PUBKEY(pointer, cursor) }
  }

  /// Returns the bytes that `write` writes. A first call of it without a buffer tells their number.
  private static func written(
    _ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32
  ) -> [UInt8] {
    let length = write(nil)
    Libcrypto.require(length > 0, "write a key")
    var bytes = [UInt8](repeating: 0, count: Int(length))
    unsafe bytes.withUnsafeMutableBufferPointer { buffer in
      var cursor = buffer.baseAddress
      Libcrypto.require(unsafe write(&cursor) == length, "write a key")
    }
    return bytes
  }
}
