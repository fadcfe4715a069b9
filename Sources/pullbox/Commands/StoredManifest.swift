import ContentPackage
import CoreTypes
import SystemCalls

/// The manifest that `pack` writes beside a package, under the package's name and `.manifest.json`.
enum StoredManifest {
  static func path(beside package: String) -> String { package + ".manifest.json" }

  /// Blocks. Nil where there is none; throws ``PackageValidationError`` for one that is not well-formed.
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
