package import CoreTypes
package import Crypto

/// An upload as the database knows it; its bytes are an incoming file of the blob store. It is open until it
/// has a length and its end, complete then, and on its way to a version once it has a digest.
package struct Upload: Sendable {
  /// 32 characters of 192 random bits, the last part of the upload's address.
  package var id: String
  /// The name of the operator key that began it.
  package var owner: String
  /// Nil while the client has not said.
  package var length: ByteCount?
  /// `Upload-Metadata` as it was given.
  package var metadata: String
  /// Set when the bytes are complete and on their way into the store of packages.
  package var digest: SHA256Digest?
  /// A request that says so ends it (`Upload-Complete: ?1`), not its length alone.
  package var awaitsEnd: Bool
  /// The digest that the whole file must have, where the client gave one when it began.
  package var wholeDigest: SHA256Digest?
  /// When the upload was begun, by the wall clock.
  package var created: Timestamp
  /// When a request last added to it.
  package var touched: Timestamp
  /// A client may know its address. One that none can know is of no use after the request that makes it.
  package var isAddressed: Bool

  /// Creates an upload as its row holds it.
  package init(
    id: String, owner: String, length: ByteCount? = nil, metadata: String, digest: SHA256Digest? = nil,
    awaitsEnd: Bool, wholeDigest: SHA256Digest? = nil, created: Timestamp, touched: Timestamp,
    isAddressed: Bool = true
  ) {
    self.id = id
    self.owner = owner
    self.length = length
    self.metadata = metadata
    self.digest = digest
    self.awaitsEnd = awaitsEnd
    self.wholeDigest = wholeDigest
    self.created = created
    self.touched = touched
    self.isAddressed = isAddressed
  }
}

extension Upload {
  /// The upload that a client asks for, as the database begins it.
  package init(_ newUpload: NewUpload, owner: String, at now: Timestamp) {
    self.init(
      id: RandomBytes.token(bits: 192), owner: owner, length: newUpload.length, metadata: newUpload.metadata,
      digest: nil, awaitsEnd: newUpload.awaitsEnd, wholeDigest: newUpload.wholeDigest, created: now,
      touched: now, isAddressed: newUpload.isAddressed)
  }
}

/// The request of a client that begins an upload. Both protocols fill it from their own fields.
package struct NewUpload: Sendable {
  /// The length of the whole; nil where the client does not know it yet.
  package var length: ByteCount?
  /// `Upload-Metadata` in the form of tus; empty for none.
  package var metadata = ""
  /// Whether a request has to say that the upload ends, as in the draft.
  package var awaitsEnd = false
  /// The SHA-256 that the whole must have; nil where the client gave none.
  package var wholeDigest: SHA256Digest?
  /// How many bytes come with the same request; nil for a chunked body.
  package var contentLength: ByteCount?
  /// The client learns the address before its bytes come, or there are none.
  package var isAddressed = true

  package init(
    length: ByteCount? = nil, metadata: String = "", awaitsEnd: Bool = false,
    wholeDigest: SHA256Digest? = nil, contentLength: ByteCount? = nil, isAddressed: Bool = true
  ) {
    self.length = length
    self.metadata = metadata
    self.awaitsEnd = awaitsEnd
    self.wholeDigest = wholeDigest
    self.contentLength = contentLength
    self.isAddressed = isAddressed
  }
}

/// `Upload-Metadata` of tus: keys, each with a base 64 value or none, separated by commas.
package struct UploadMetadata {
  private let values: [String: [UInt8]]

  /// Nil when the list is malformed: an element without a key, a key that is not ASCII or there twice. An empty
  /// text is a list without elements.
  package init?(_ text: String) {
    var values: [String: [UInt8]] = [:]
    let pairs = text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false)
    for pair in pairs {
      let parts = pair.split(separator: " ")
      guard (1...2).contains(parts.count), parts[0].allSatisfy(\.isASCII), values[String(parts[0])] == nil
      else {
        return nil
      }
      guard parts.count == 2 else {
        values[String(parts[0])] = []
        continue
      }
      guard let value = Base64.decode(parts[1]) else { return nil }
      values[String(parts[0])] = value
    }
    self.values = values
  }

  /// The value as text; nil without the key or when it is not UTF-8.
  package subscript(key: String) -> String? {
    values[key].flatMap { String(validating: $0, as: UTF8.self) }
  }
}
