package import CoreTypes
package import Crypto

/// A file within a package that is read without the others: where its bytes lie, and by what they are known to be right.
package struct PackedFile: Hashable, Sendable {
  /// A proof that a file's bytes are the right ones.
  package enum Check: Hashable, Sendable {
    /// The SHA-256 that the manifest lists.
    case digest(SHA256Digest)
    /// The CRC-32 of an archive that was published as its maker made it.
    case checksum(UInt32)
  }

  /// The path within the package.
  package var name: String
  /// The part of the package that it takes.
  package var range: Range<Int64>
  /// Bytes of the file itself.
  package var length: ByteCount
  /// The form in which the file lies there.
  package var method: StorageMethod
  /// The proof of its bytes.
  package var check: Check

  /// A file of all members.
  package init(
    name: String, range: Range<Int64>, length: ByteCount, method: StorageMethod, check: Check
  ) {
    self.name = name
    self.range = range
    self.length = length
    self.method = method
    self.check = check
  }

  /// The file as a manifest lists it.
  package init(_ file: ManifestFile) {
    self.init(
      name: file.path.text, range: file.storedRange, length: file.length, method: file.method,
      check: .digest(file.digest))
  }
}
