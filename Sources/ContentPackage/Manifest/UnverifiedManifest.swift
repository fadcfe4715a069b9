public import Crypto

/// The bytes of a manifest as they came; nothing in them is to be believed yet.
public struct UnverifiedManifest: Sendable {
  public let bytes: [UInt8]
  /// Of ``bytes``.
  public let digest: SHA256Digest

  public init(_ bytes: [UInt8]) {
    self.bytes = bytes
    digest = .of(bytes)
  }

  /// The manifest, authenticated by the digest that a grant carries. Throws ``PackageValidationError`` when the bytes are others,
  /// or are no well-formed manifest.
  public func verified(
    against digest: SHA256Digest, limits: PackageLimits = .standard
  ) throws(PackageValidationError) -> Manifest {
    guard digest == self.digest else {
      throw PackageValidationError(
        .manifestDigestMismatch, "the manifest's digest is \(self.digest), not \(digest)")
    }
    return try proposed(limits: limits)
  }

  /// The manifest as somebody proposes it, well-formed but authenticated by nobody: for the side that goes on to inspect
  /// a package against it (``PackageInspector``), never for one that downloads.
  public func proposed(limits: PackageLimits = .standard) throws(PackageValidationError) -> Manifest {
    let draft = try ManifestDecoder.draft(from: bytes, limits: limits)
    return try Manifest(draft, canonicalBytes: bytes, limits: limits)
  }
}
