internal import COpenSSL

/// An Ed25519 private key (RFC 8032).
@safe
public final class SigningKey: Sendable {
  /// Lives as long as the key object; libcrypto's keys may be read from several threads at once.
  private nonisolated(unsafe) let key: OpaquePointer

  /// A fresh key.
  public convenience init() {
    // 32 random bytes are always a key.
    guard let key = SigningKey(seed: RandomBytes.make(32)) else { preconditionFailure("no Ed25519") }
    unsafe self.init(takingOwnershipOf: EVP_PKEY_dup(key.key))
  }

  /// Nil unless `seed` is 32 bytes.
  public init?(seed: [UInt8]) {
    guard seed.count == 32, let key = unsafe EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, 32)
    else { return nil }
    unsafe self.key = key
  }

  private init(takingOwnershipOf key: OpaquePointer) {
    unsafe self.key = key
  }

  deinit {
    unsafe EVP_PKEY_free(key)
  }

  /// The 32 secret bytes, for a file that only its owner may read.
  public var seed: [UInt8] {
    unsafe raw { unsafe EVP_PKEY_get_raw_private_key(key, $0, $1) }
  }

  public var verificationKey: VerificationKey {
    guard let key = unsafe VerificationKey(raw { unsafe EVP_PKEY_get_raw_public_key(key, $0, $1) }) else {
      preconditionFailure("a private key has a public one")
    }
    return key
  }

  /// 64 bytes.
  public func sign(_ message: [UInt8]) -> [UInt8] {
    let context = unsafe EVP_MD_CTX_new()
    defer { unsafe EVP_MD_CTX_free(context) }
    var signature = [UInt8](repeating: 0, count: 64)
    var length = signature.count
    let done =
      unsafe EVP_DigestSignInit(context, nil, nil, nil, key) == 1
      && EVP_DigestSign(context, &signature, &length, message, message.count) == 1
    precondition(done && length == 64, "libcrypto refused to sign")
    return signature
  }

  private func raw(
    _ read: (UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<Int>?) -> Int32
  ) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 32)
    var length = bytes.count
    precondition(unsafe read(&bytes, &length) == 1 && length == 32, "an Ed25519 key has 32 bytes")
    return bytes
  }
}
