import Crypto
import CoreTypes
import SystemCalls

/// What the header of a file that does not fit into memory must say, from a first reading.
struct FileMeasurement {
  let method: StorageMethod
  let storedLength: Int64
  let checksum: UInt32
  let digest: SHA256Digest

  init(method: StorageMethod, storedLength: Int64, checksum: UInt32, digest: SHA256Digest) {
    self.method = method
    self.storedLength = storedLength
    self.checksum = checksum
    self.digest = digest
  }

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
      throw PackageValidationError(
        .changedWhilePacking, path: file.path.text, "the file changed while it was packed")
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
