import Commerce
import ContentPackage
import CoreTypes
import ServiceRuntime
import SystemCalls

/// A package that is ready to be sent or kept.
struct PreparedPackage: Sendable {
  /// Where its bytes lie: the source itself for a single file and for a package.
  let path: String
  let packed: PackedPackage
  let duration: Duration

  /// Packs a folder to `output`, or reads a file where it is. Shows a bar. Throws when a package is not what its manifest
  /// says.
  static func make(
    from source: PublishSource, product: ProductIdentifier, version: ContentVersion,
    output: String, following previous: Manifest?
  ) async throws -> PreparedPackage {
    let clock = SystemMonotonicClock()
    let start = clock.now()
    let builder = PackageBuilder(product: product, version: version)
    let label = source.isFile ? "reading \(source.name)" : "packing \(source.name)"
    let packed = try await TransferBar.show(label) { bar in
      try await BlockingPool.shared.run {
        switch source.form {
        case .file: try builder.describe(file: source.path) { bar.report($0, of: $1) }
        case .package(let manifest):
          try read(source.path, against: manifest, builder) { bar.report($0, of: $1) }
        case .folder, .descriptionOnly:
          try builder.pack(folder: source.path, to: output, following: previous) {
            bar.report($0, of: $1)
          }
        }
      }
    }
    return PreparedPackage(
      path: source.isFile ? source.path : output, packed: packed, duration: clock.now() - start)
  }

  /// What is in it the server looks at; that it is this package at all is known before anything is sent.
  private static func read(
    _ path: String, against manifest: Manifest, _ builder: PackageBuilder,
    _ progress: @escaping PackageBuilder.Progress
  ) throws -> PackedPackage {
    let found = try builder.describe(file: path, progress: progress).manifest
    guard found.length == manifest.length, found.digest == manifest.digest else {
      throw CommandFailure(
        .integrity,
        "\(path) is not the package of its manifest: it has \(found.length.rawValue) bytes with the SHA-256 "
          + "\(found.digest), the manifest is for \(manifest.length.rawValue) with \(manifest.digest); "
          + "pack it again, or take the manifest away to publish the file as it is")
    }
    return PackedPackage(manifest: manifest, skipped: [])
  }
}
