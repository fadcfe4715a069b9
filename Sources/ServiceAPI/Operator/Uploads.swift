public import CoreTypes

/// An upload that is open: `GET /v1/operator/uploads`.
public struct UploadRecord: Codable, Sendable {
  /// The last part of the upload's address.
  public var upload: String
  /// The name of the operator key that began it.
  public var owner: String
  /// The file's name, where the client gave one.
  public var name: String?
  /// Nil while the client has not said.
  public var length: ByteCount?
  /// How many bytes have arrived.
  public var offset: ByteCount
  /// When the upload began, by the server's clock.
  public var created: Timestamp
  /// When it is forgotten unless a request adds to it before.
  public var expires: Timestamp

  /// Creates the document from its members.
  public init(
    upload: String, owner: String, name: String?, length: ByteCount?, offset: ByteCount, created: Timestamp,
    expires: Timestamp
  ) {
    self.upload = upload
    self.owner = owner
    self.name = name
    self.length = length
    self.offset = offset
    self.created = created
    self.expires = expires
  }
}
