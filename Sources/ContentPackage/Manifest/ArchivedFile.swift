package import CoreTypes

/// A file of an archive that was published as its maker made it, as the archive's directory lists it: where its bytes begin, its own
/// header says.
package struct ArchivedFile: Hashable, Sendable {
  /// The path within the archive, as people read it.
  package var path: String
  /// Bytes of the file itself.
  package var length: ByteCount
  /// Where its header begins.
  package var headerOffset: Int64
  /// The bytes that it takes in the archive.
  package var storedLength: Int64
  /// The form in which it lies there.
  package var method: StorageMethod
  /// Its CRC-32.
  package var checksum: UInt32

  /// A file of all members.
  package init(
    path: String, length: ByteCount, headerOffset: Int64, storedLength: Int64, method: StorageMethod,
    checksum: UInt32
  ) {
    self.path = path
    self.length = length
    self.headerOffset = headerOffset
    self.storedLength = storedLength
    self.method = method
    self.checksum = checksum
  }
}
