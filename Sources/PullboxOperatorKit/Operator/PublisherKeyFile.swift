public import Crypto
import Files
import ServiceRuntime
import SystemCalls

/// A publisher's signing key in a file that only its owner may read: PKCS #8 PEM, as `openssl genpkey
/// -algorithm ed25519` writes it. Every call blocks, and throws `SecretFileError` or `SystemError`.
public struct PublisherKeyFile: Sendable {
  /// Where the key is, or will be.
  public let path: String

  /// Touches no file yet.
  public init(path: String) {
    self.path = path
  }

  /// The key; nil when there is no file. Throws `SecretFileError` for a file that others may read, or that
  /// holds no such key.
  public func read() throws -> SigningKey? {
    try SecretFile.read(path).map { try key(in: $0.revealed) }
  }

  /// The key; makes the file with a fresh one, durably, when there is none. Missing directories are made too,
  /// for the owner alone.
  public func readOrMake() throws -> SigningKey {
    try FileSystem.createDirectories(FileSystem.parent(of: path), permissions: 0o700)
    return try key(in: SecretFile.readOrCreate(path) { Array(SigningKey().pem.utf8) }.revealed)
  }

  /// Writes `key` durably; missing directories are made, for the owner alone. Throws `SystemError` (`EEXIST`)
  /// rather than overwrite a file.
  public func write(_ key: SigningKey) throws {
    try FileSystem.createDirectories(FileSystem.parent(of: path), permissions: 0o700)
    let bytes = Array(key.pem.utf8)
    try DurableFile.write(bytes.span, to: path, permissions: 0o600, ifPresent: .refuse)
  }

  private func key(in bytes: [UInt8]) throws -> SigningKey {
    guard let text = String(validating: bytes, as: UTF8.self), let key = SigningKey(pem: text) else {
      throw SecretFileError(path: path, message: "it holds no Ed25519 private key (PKCS #8, PEM)")
    }
    return key
  }
}
