/// What packing made.
public struct PackedPackage: Sendable {
  public let manifest: Manifest
  /// What of the folder is not in the package, on purpose.
  public let skipped: [SkippedSource]
}
