import Commerce
public import ContentPackage
public import CoreTypes
import Crypto
import SystemCalls

/// A file that is to be given a place in a package. Lengths are bytes; `storedLength` is that of the data in
/// the package, `length` that of the file.
struct LayoutItem: Hashable, Sendable {
  /// The path in the package, on which the header's length depends.
  var path: PackagePath
  /// The form of the data.
  var method: StorageMethod
  /// Bytes of the data in the package.
  var storedLength: UInt64
  /// Bytes of the file itself.
  var length: UInt64
  /// The SHA-256 of the file itself.
  var digest: SHA256Digest
  /// The section that it belongs to; nil for none.
  var section: SectionTag?

  /// A file that was measured just now.
  init(_ file: SourceFile, _ measured: FileMeasurement, section: SectionTag? = nil) {
    self.init(
      path: file.path, method: measured.method, storedLength: UInt64(measured.storedLength),
      length: UInt64(file.length.rawValue), digest: measured.digest, section: section)
  }

  /// A file of a package, as its manifest has it.
  init(_ file: ManifestFile, section: SectionTag? = nil) {
    self.init(
      path: file.path, method: file.method, storedLength: UInt64(file.storedLength.rawValue),
      length: UInt64(file.length.rawValue), digest: file.digest, section: section)
  }

  /// An item of all members.
  init(
    path: PackagePath, method: StorageMethod, storedLength: UInt64, length: UInt64, digest: SHA256Digest,
    section: SectionTag? = nil
  ) {
    self.path = path
    self.method = method
    self.storedLength = storedLength
    self.length = length
    self.digest = digest
    self.section = section
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

  /// Whether the same bytes stand in a for both, names aside. The digest is that of the file. With the same
  /// method and stored length the stored bytes are taken for the same.
  func holdsSameBytes(as other: LayoutItem) -> Bool {
    digest == other.digest && method == other.method && storedLength == other.storedLength
      && length == other.length
  }
}

/// A file of a source folder.
public struct SourceFile: Hashable, Sendable {
  /// Where the file lies below the source folder, and in the package.
  public let path: PackagePath
  /// Bytes of the file when the folder was looked through.
  public let length: ByteCount
  /// The format of the picture by its first bytes; nil unless the file is called like a page.
  public let picture: PictureFormat?
}

/// The values for the header of a file that does not fit into memory, from a first reading.
struct FileMeasurement {
  /// The form in which the file is stored.
  let method: StorageMethod
  /// Bytes in that form.
  let storedLength: Int64
  /// The CRC-32 of the file itself.
  let checksum: UInt32
  /// The SHA-256 of the file itself.
  let digest: SHA256Digest

  /// A measurement that was made elsewhere.
  init(method: StorageMethod, storedLength: Int64, checksum: UInt32, digest: SHA256Digest) {
    self.method = method
    self.storedLength = storedLength
    self.checksum = checksum
    self.digest = digest
  }

  /// Reads the file once, and deflates it without keeping the result where its format is worth that. It is
  /// stored where that is no gain, or the gain is more than the limits allow. Throws
  /// ``PackageValidationError`` `changed-while-packing` for a file that has another length by then.
  init(_ file: SourceFile, _ descriptor: borrowing FileDescriptor, limits: PackageLimits) throws {
    var check = CRC32()
    var hasher = SHA256Hasher()
    var deflatedLength: Int64 = 0
    let length = file.length.rawValue
    let isWhole: Bool
    if file.path.isWorthDeflating {
      isWhole = try Deflation.run(descriptor, length: length) { chunk in
        check.update(chunk)
        hasher.update(chunk)
      } output: { chunk in
        deflatedLength += Int64(chunk.count)
      }
    } else {
      deflatedLength = length
      isWhole = try FileDigest.forEachChunk(of: descriptor, in: 0..<length) { chunk in
        check.update(chunk)
        hasher.update(chunk)
      }
    }
    guard isWhole else {
      throw SourceStamp.changed(file.path.text)
    }
    let gains =
      deflatedLength < length
      && limits.allowsRatio(length: file.length, storedLength: ByteCount(deflatedLength))
    method = gains ? .deflated : .stored
    storedLength = gains ? deflatedLength : length
    checksum = check.value
    digest = hasher.finalize()
  }
}
