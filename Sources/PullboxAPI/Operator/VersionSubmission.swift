public import Commerce
public import ContentPackage

/// `POST /v1/operator/products/{id}/versions`.
public struct VersionSubmission: Codable, Sendable, OperatorWritten {
  /// A complete upload: its address as `Location` gave it, or the last part of that.
  public var upload: String
  public var version: ContentVersion
  /// The manifest's exact bytes in base 64. Without one, the package must be a single file, and the server describes
  /// it itself.
  public var manifest: String?
  /// Of that manifest; needed when the product names keys.
  public var signatures: [PublisherSignature]?

  public init(
    upload: String, version: ContentVersion, manifest: String? = nil, signatures: [PublisherSignature]? = nil
  ) {
    self.upload = upload
    self.version = version
    self.manifest = manifest
    self.signatures = signatures
  }
}
