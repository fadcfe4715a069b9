import Commerce
import ContentPackage
import Measures
import ServiceRuntime
import SystemCalls

/// A package that is ready to be sent or kept.
struct MadePackage: Sendable {
  /// Where its bytes lie: the source itself for a finished file.
  let path: String
  let packed: PackedPackage
  let duration: Duration

  /// Packs a folder to `output`, or reads a finished file where it is. Shows a bar.
  static func make(
    from source: PublishSource, product: ProductIdentifier, version: ContentVersion,
    output: String, following previous: Manifest?
  ) async throws -> MadePackage {
    let clock = SystemMonotonicClock()
    let start = clock.now()
    let builder = PackageBuilder(product: product, version: version)
    let label = source.form == .file ? "reading \(source.name)" : "packing \(source.name)"
    let packed = try await TransferBar.show(label) { bar in
      try await BlockingPool.shared.run {
        switch source.form {
        case .file: try builder.describe(file: source.path) { bar.report($0, of: $1) }
        case .folder, .descriptionOnly:
          try builder.pack(folder: source.path, to: output, following: previous) {
            bar.report($0, of: $1)
          }
        }
      }
    }
    return MadePackage(
      path: source.form == .file ? source.path : output, packed: packed, duration: clock.now() - start)
  }
}
