public import Crypto
public import CoreTypes

/// One file of a package.
public struct ManifestFile: Hashable, Sendable {
  public let path: PackagePath
  /// Where the file's bytes start in the package; behind the header that announces them.
  public let offset: ByteCount
  /// The bytes it takes in the package.
  public let storedLength: ByteCount
  /// The bytes of the file itself.
  public let length: ByteCount
  public let method: StorageMethod
  /// Of the file itself, not of its stored form.
  public let digest: SHA256Digest

  public init(
    path: PackagePath, offset: ByteCount, storedLength: ByteCount, length: ByteCount, method: StorageMethod,
    digest: SHA256Digest
  ) {
    self.path = path
    self.offset = offset
    self.storedLength = storedLength
    self.length = length
    self.method = method
    self.digest = digest
  }

  /// The part of the package it takes.
  public var storedRange: Range<Int64> { offset.rawValue..<offset.rawValue + storedLength.rawValue }
}
