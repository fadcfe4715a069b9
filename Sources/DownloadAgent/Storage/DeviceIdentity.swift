import Commerce
import CoreTypes
import Crypto
import Foundation
import ServiceRuntime
import SystemCalls

/// Who this device is: a random UUID and an Ed25519 key, made at the first start and never changed.
struct DeviceIdentity: Sendable {
  let identifier: DeviceIdentifier
  let key: SigningKey

  /// Reads `device-id` and `device-key` in `directory`, or makes them, readable by their owner alone. Blocks.
  /// Throws `SystemError`, or ``StateDirectoryError`` when one of them is damaged: a new identity would lose
  /// every grant, so that is for the operator to decide.
  static func load(from directory: String) throws -> DeviceIdentity {
    let name = try stored("\(directory)/device-id") { Array(UUID().uuidString.lowercased().utf8) }
    let seed = try stored("\(directory)/device-key") {
      Array(Base64.encode(SigningKey().seed, .url).utf8)
    }
    guard let identifier = DeviceIdentifier(line(of: name)) else {
      throw StateDirectoryError(
        .damaged, path: "\(directory)/device-id", message: "does not hold a device identifier")
    }
    guard let bytes = Base64.decode(line(of: seed), .url), let key = SigningKey(seed: bytes) else {
      throw StateDirectoryError(
        .damaged, path: "\(directory)/device-key", message: "does not hold an Ed25519 key")
    }
    return DeviceIdentity(identifier: identifier, key: key)
  }

  private static func stored(_ path: String, _ make: () -> [UInt8]) throws(SystemError) -> [UInt8] {
    if try FileSystem.status(of: path) != nil { return try FileSystem.read(path, upTo: .kibibytes(1)) }
    let bytes = make() + [0x0A]
    try DurableFile.write(bytes.span, to: path, permissions: 0o600, ifPresent: .refuse)
    return bytes
  }

  private static func line(of bytes: [UInt8]) -> String {
    String(decoding: bytes.prefix { $0 != 0x0A }, as: UTF8.self)
  }
}
