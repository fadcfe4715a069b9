public import Crypto
public import CoreTypes

/// A finished package that is to be sent.
public struct UploadSource: Hashable, Sendable {
  public var path: String
  public var length: ByteCount
  /// As packing computed it; the name under which an upload that was broken off is found again.
  public var digest: SHA256Digest
  /// Sent as the upload's `filename`, for whoever looks at the server's list.
  public var name: String

  public init(path: String, length: ByteCount, digest: SHA256Digest, name: String) {
    self.path = path
    self.length = length
    self.digest = digest
    self.name = name
  }
}
