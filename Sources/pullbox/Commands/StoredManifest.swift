import ContentPackage
import CoreTypes
import Files
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// The manifest that `pack` writes beside a package, under the package's name and `.manifest.json`.
enum StoredManifest {
  /// The path is the whole name of the package with its extension: `comic.zip.manifest.json`.
  static func path(beside package: String) -> String { package + ".manifest.json" }

  /// Blocks. Nil without a file; throws ``PackageValidationError`` for one that is not well-formed.
  static func read(_ path: String) throws -> Manifest? {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try FileSystem.read(path, upTo: PackageLimits.standard.maximumManifestLength)
    } catch {
      if error.isFileMissing { return nil }
      throw error
    }
    return try UnverifiedManifest(bytes).proposed()
  }

  /// Blocks; durable.
  static func write(_ manifest: Manifest, to path: String) throws(SystemError) {
    let bytes = manifest.canonicalBytes()
    try DurableFile.write(bytes.span, to: path)
  }
}

/// The signatures that `pack` writes beside a package, under the package's name and `.signatures.json`: one list, in the
/// form that the server reads.
enum StoredSignatures {
  /// `comic.zip.signatures.json` for `comic.zip`.
  static func path(beside package: String) -> String { package + ".signatures.json" }

  /// Blocks. Empty without a file. Throws a failure with exit code 6 for a file that is no such list, and a
  /// `SystemError` for one of more than 64 KiB.
  static func read(_ path: String) throws -> [PublisherSignature] {
    do {
      return try APIJSON.decode(
        [PublisherSignature].self, from: try FileSystem.read(path, upTo: .kibibytes(64)))
    } catch let error as SystemError where error.isFileMissing {
      return []
    } catch let error as DecodingError {
      throw CommandFailure(.integrity, "\(path): \(APIJSON.explain(error))")
    }
  }

  /// Blocks; durable.
  static func write(_ signatures: [PublisherSignature], to path: String) throws {
    let bytes = try APIJSON.encode(signatures) + [0x0A]
    try DurableFile.write(bytes.span, to: path)
  }
}
