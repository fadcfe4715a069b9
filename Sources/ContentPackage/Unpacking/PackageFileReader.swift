import CoreTypes
import Crypto
public import SystemCalls

/// Reads single files out of a package, without unpacking it.
public enum PackageFileReader {
  /// The bytes of one file, whose length the caller has found fit for memory. Blocks. Throws ``PackageValidationError`` for bytes
  /// that are not those of the manifest, `SystemError`, and what zlib throws.
  public static func content(
    of file: ManifestFile, in archive: borrowing FileDescriptor
  ) throws -> [UInt8] {
    var content: [UInt8] = []
    content.reserveCapacity(Int(file.length.rawValue))
    switch file.method {
    case .deflated:
      let digest = try Inflation.run(archive, range: file.storedRange, of: file) { bytes in
        for index in bytes.indices { content.append(bytes[index]) }
      }
      try require(digest == file.digest, file)
    case .stored:
      content = [UInt8](repeating: 0, count: Int(file.length.rawValue))
      var bytes = content.mutableSpan
      let isWhole = try archive.fill(&bytes, at: file.offset)
      try require(isWhole && SHA256Digest.of(content) == file.digest, file)
    }
    return content
  }

  private static func require(_ isRight: Bool, _ file: ManifestFile) throws(PackageValidationError) {
    guard isRight else {
      throw PackageValidationError(
        .fileDigestMismatch, "\(file.path.text): its bytes are not those of the manifest")
    }
  }
}
