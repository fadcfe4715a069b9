import Crypto
import CoreTypes
import SystemCalls

extension StagingArea {
  /// Turns the whole spool of a deflated file into the file, and removes it. Killed at any point, it is done again: the
  /// spool goes last.
  mutating func unpackIfDeflated(_ index: Int) throws {
    let file = manifest.files[index]
    guard file.method == .deflated, !isUnpacked[index] else { return }
    let source = try spool.open(String(index), .readOnly)
    let target = try tree.replaceFile(at: file.path)
    var written: Int64 = 0
    let digest = try Inflation.run(source, range: 0..<file.storedLength.rawValue, of: file) { bytes in
      try target.write(bytes, at: ByteCount(written))
      written += Int64(bytes.count)
    }
    guard digest == file.digest else {
      throw PackageValidationError(
        .fileDigestMismatch, path: file.path.text, "the unpacked file is not the one the manifest lists")
    }
    try target.startWriteback(of: 0..<written)
    try spool.removeFile(String(index))
    isUnpacked[index] = true
  }
}
