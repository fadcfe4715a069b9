public import CoreTypes
public import Crypto
public import PullboxAPI

/// The body of `POST /v1/operator/collection`; both members may be left out.
public struct GarbageCollectionRequest: Codable, Sendable, OperatorWritten {
  /// Say what would go, and change nothing.
  public var dryRun: Bool?
  /// How long a blob must have been unneeded; the server's own period without it.
  public var graceSeconds: Int?

  /// Creates the request. What is nil is left out of it, and stays as it is or takes its default.
  public init(dryRun: Bool? = nil, graceSeconds: Int? = nil) {
    self.dryRun = dryRun
    self.graceSeconds = graceSeconds
  }
}

/// A report of the items that a garbage collection removed, or would remove.
public struct GarbageCollectionReport: Codable, Sendable {
  /// An upload that was not continued in time, or an incoming file that belongs to no upload.
  public struct UploadItem: Codable, Hashable, Sendable {
    /// The last part of the upload's address.
    public var upload: String
    /// Bytes on disk.
    public var bytes: ByteCount
    /// Nil for a file without an upload.
    public var owner: String?

    /// Creates the document from its members.
    public init(upload: String, bytes: ByteCount, owner: String?) {
      self.upload = upload
      self.bytes = bytes
      self.owner = owner
    }
  }

  /// A package that nothing needs.
  public struct BlobItem: Codable, Hashable, Sendable {
    /// The package's digest, by which it is stored.
    public var digest: SHA256Digest
    /// Bytes of the package.
    public var bytes: ByteCount
    /// When it was first found unneeded.
    public var since: Timestamp

    /// Creates the document from its members.
    public init(digest: SHA256Digest, bytes: ByteCount, since: Timestamp) {
      self.digest = digest
      self.bytes = bytes
      self.since = since
    }
  }

  /// Whether nothing was changed.
  public var dryRun: Bool
  /// The uploads that were removed, or would be.
  public var uploads: [UploadItem]
  /// Bytes of the package.
  public var blobs: [BlobItem]
  /// Unneeded, but not for long enough.
  public var waiting: [BlobItem]
  /// The bytes of all uploads and blobs that were removed, or would be.
  public var bytes: ByteCount

  /// Adds ``bytes`` up from `uploads` and `blobs`.
  public init(dryRun: Bool, uploads: [UploadItem], blobs: [BlobItem], waiting: [BlobItem]) {
    self.dryRun = dryRun
    self.uploads = uploads
    self.blobs = blobs
    self.waiting = waiting
    bytes = uploads.map(\.bytes).reduce(.zero, +) + blobs.map(\.bytes).reduce(.zero, +)
  }
}
