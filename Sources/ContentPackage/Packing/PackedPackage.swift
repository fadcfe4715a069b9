/// What packing made.
public struct PackedPackage: Sendable {
  public let manifest: Manifest
  /// What of the folder is not in the package, on purpose.
  public let skipped: [SkippedSource]

  public init(manifest: Manifest, skipped: [SkippedSource]) {
    self.manifest = manifest
    self.skipped = skipped
  }
}
