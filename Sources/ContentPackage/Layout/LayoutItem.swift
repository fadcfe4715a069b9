import Crypto
import CoreTypes

/// A file that is to be given a place in a package.
struct LayoutItem: Hashable, Sendable {
  var path: PackagePath
  var method: StorageMethod
  var storedLength: UInt64
  var length: UInt64
  var digest: SHA256Digest

  init(_ file: SourceFile, _ measured: FileMeasurement) {
    self.init(
      path: file.path, method: measured.method, storedLength: UInt64(measured.storedLength),
      length: UInt64(file.length.rawValue), digest: measured.digest)
  }

  init(_ file: ManifestFile) {
    self.init(
      path: file.path, method: file.method, storedLength: UInt64(file.storedLength.rawValue),
      length: UInt64(file.length.rawValue), digest: file.digest)
  }

  init(path: PackagePath, method: StorageMethod, storedLength: UInt64, length: UInt64, digest: SHA256Digest) {
    self.path = path
    self.method = method
    self.storedLength = storedLength
    self.length = length
    self.digest = digest
  }

  /// Bytes of its local header.
  var headerLength: UInt64 {
    ZipEntry(
      name: Array(path.text.utf8), method: method, checksum: 0, storedLength: storedLength, length: length,
      headerOffset: 0
    ).localHeaderLength
  }

  /// Bytes of header and data.
  var entryLength: UInt64 { headerLength + storedLength }

  /// Whether the same bytes stand in a package for both, names aside.
  func holdsSameBytes(as other: LayoutItem) -> Bool {
    digest == other.digest && method == other.method && storedLength == other.storedLength
      && length == other.length
  }
}
