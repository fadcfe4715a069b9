public import CoreTypes
public import Crypto

/// The body of `POST /v1/operator/collection`; both members may be left out.
public struct GarbageCollectionRequest: Codable, Sendable, OperatorWritten {
  /// Say what would go, and change nothing.
  public var dryRun: Bool?
  /// How long a blob must have been unneeded; the server's own period without it.
  public var graceSeconds: Int?

  public init(dryRun: Bool? = nil, graceSeconds: Int? = nil) {
    self.dryRun = dryRun
    self.graceSeconds = graceSeconds
  }
}

/// What a collection removed, or would remove.
public struct GarbageCollectionReport: Codable, Sendable {
  /// An upload that was not continued in time, or an incoming file that belongs to no upload.
  public struct UploadItem: Codable, Hashable, Sendable {
    public var upload: String
    public var bytes: ByteCount
    /// Nil for a file without an upload.
    public var owner: String?

    public init(upload: String, bytes: ByteCount, owner: String?) {
      self.upload = upload
      self.bytes = bytes
      self.owner = owner
    }
  }

  /// A package that nobody needs.
  public struct BlobItem: Codable, Hashable, Sendable {
    public var digest: SHA256Digest
    public var bytes: ByteCount
    /// When it was first found unneeded.
    public var since: Timestamp

    public init(digest: SHA256Digest, bytes: ByteCount, since: Timestamp) {
      self.digest = digest
      self.bytes = bytes
      self.since = since
    }
  }

  public var dryRun: Bool
  public var uploads: [UploadItem]
  public var blobs: [BlobItem]
  /// Unneeded, but not for long enough.
  public var waiting: [BlobItem]
  /// What the uploads and blobs removed (or to be removed) held together.
  public var bytes: ByteCount

  public init(dryRun: Bool, uploads: [UploadItem], blobs: [BlobItem], waiting: [BlobItem]) {
    self.dryRun = dryRun
    self.uploads = uploads
    self.blobs = blobs
    self.waiting = waiting
    bytes = uploads.map(\.bytes).reduce(.zero, +) + blobs.map(\.bytes).reduce(.zero, +)
  }
}
