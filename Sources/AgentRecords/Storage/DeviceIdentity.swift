package import Commerce
package import CoreTypes
package import Crypto
import Files
import FoundationEssentials
import ServiceRuntime
package import SystemCalls

/// The identity of this device: a random UUID and an Ed25519 key, made at the first start. Only an operator changes it.
package struct DeviceIdentity: Sendable {
  private static let identifierName = "device-id"
  private static let keyName = "device-key"

  package let identifier: DeviceIdentifier
  package let key: SigningKey

  /// Reads `device-id` and `device-key` in `directory`, or makes them, readable by their owner alone. Blocks.
  /// Throws `SystemError`, or ``StateDirectoryError`` when one of them is damaged, or may be used by others, or is missing
  /// where there was one: `isExpected` says so of a state directory that was used. A new identity would lose every grant,
  /// so that is for the operator to decide (``setAside(in:at:)``).
  package static func load(from directory: String, isExpected: Bool = false) throws -> DeviceIdentity {
    let identifierPath = "\(directory)/\(identifierName)"
    let keyPath = "\(directory)/\(keyName)"
    if try isExpected || FileSystem.status(of: keyPath) != nil { try require(identifierPath) }
    if isExpected { try require(keyPath) }
    let name = try stored(identifierPath, mask: 0) { Array(UUID().uuidString.lowercased().utf8) }
    let seed = try stored(keyPath, mask: 0o177) { Array(Base64.encode(SigningKey().seed, .url).utf8) }
    guard let identifier = DeviceIdentifier(line(of: name)) else {
      throw damaged(identifierPath, "does not hold a device identifier")
    }
    guard let bytes = Base64.decode(line(of: seed), .url), let key = SigningKey(seed: bytes) else {
      throw damaged(keyPath, "does not hold an Ed25519 key")
    }
    return DeviceIdentity(identifier: identifier, key: key)
  }

  /// Whether both files are there. Blocks.
  package static func isThere(in directory: String) throws(SystemError) -> Bool {
    for name in [identifierName, keyName] where try FileSystem.status(of: "\(directory)/\(name)") == nil {
      return false
    }
    return true
  }

  /// Gives both files names that end with `.replaced-` and the time, so that the next ``load(from:isExpected:)`` makes a new
  /// identity. What is not there is no error. Blocks.
  package static func setAside(in directory: String, at time: Timestamp) throws(SystemError) {
    for name in [keyName, identifierName] {
      let path = "\(directory)/\(name)"
      guard try FileSystem.status(of: path) != nil else { continue }
      try FileSystem.rename(path, to: "\(path).replaced-\(time.compactText)", ifPresent: .refuse)
    }
    try FileSystem.synchronizeDirectory(directory)
  }

  /// Throws ``StateDirectoryError``, with the way out for the operator, where the file is gone.
  private static func require(_ path: String) throws {
    guard try FileSystem.status(of: path) == nil else { return }
    throw damaged(
      path,
      """
      is missing, and this device has been in use: put the file back, or start once with --new-identity, which asks \
      for every open grant anew
      """)
  }

  /// Reads the file, or makes it durably with mode 0600.
  ///
  /// - Parameter mask: the permission bits that the file must not have.
  private static func stored(_ path: String, mask: UInt32, _ make: () -> [UInt8]) throws -> [UInt8] {
    guard let status = try FileSystem.status(of: path) else {
      let bytes = make() + [0x0A]
      try DurableFile.write(bytes.span, to: path, permissions: 0o600, ifPresent: .refuse)
      return bytes
    }
    guard status.kind == .regular else { throw damaged(path, "is not a file") }
    guard status.permissions & mask == 0 else {
      let mode = String(status.permissions, radix: 8)
      throw damaged(path, "has mode \(mode), so that others may know the key: it must be 600")
    }
    return try FileSystem.read(path, upTo: .kibibytes(1))
  }

  private static func damaged(_ path: String, _ message: String) -> StateDirectoryError {
    StateDirectoryError(.damaged, path: path, message: message)
  }

  /// Ends before the first line feed.
  private static func line(of bytes: [UInt8]) -> String {
    String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
  }
}

extension Timestamp {
  /// For the names of files: `20261121T083000.000Z`.
  var compactText: String { rfc3339.filter { $0 != "-" && $0 != ":" } }
}
