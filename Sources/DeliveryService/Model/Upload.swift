import CoreTypes
import Crypto

/// An upload as the database knows it; its bytes are an incoming file of the blob store.
struct Upload: Sendable {
  var id: String
  /// The name of the operator key that began it.
  var owner: String
  /// Nil while the client has not said.
  var length: ByteCount?
  /// `Upload-Metadata` as it was given.
  var metadata: String
  /// Set when the bytes are complete and on their way into the store of packages.
  var digest: SHA256Digest?
  /// A request that says so ends it (`Upload-Complete: ?1`), not its length alone.
  var awaitsEnd: Bool
  /// What the whole must add up to, where the client said so when it began.
  var wholeDigest: SHA256Digest?
  var created: Timestamp
  /// When a request last added to it.
  var touched: Timestamp
  /// A client may know its address. One that none can know is of no use after the request that makes it.
  var isAddressed = true
}

extension Upload {
  /// The upload that a client asks for, as the database begins it.
  init(_ newUpload: NewUpload, owner: String, at now: Timestamp) {
    self.init(
      id: RandomBytes.token(bits: 192), owner: owner, length: newUpload.length, metadata: newUpload.metadata,
      digest: nil, awaitsEnd: newUpload.awaitsEnd, wholeDigest: newUpload.wholeDigest, created: now,
      touched: now, isAddressed: newUpload.isAddressed)
  }
}

/// What a client says when it begins an upload.
struct NewUpload: Sendable {
  var length: ByteCount?
  var metadata = ""
  var awaitsEnd = false
  var wholeDigest: SHA256Digest?
  /// How many bytes come with the same request; nil for a chunked body.
  var contentLength: ByteCount?
  /// The client learns the address before its bytes come, or there are none.
  var isAddressed = true
}

/// `Upload-Metadata` of tus: keys, each with a base 64 value or none, separated by commas.
struct UploadMetadata {
  private let values: [String: [UInt8]]

  /// Nil when the list is malformed: an element without a key, a key that is not ASCII or there twice. An empty
  /// text is a list without elements.
  init?(_ text: String) {
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
  subscript(key: String) -> String? {
    values[key].flatMap { String(validating: $0, as: UTF8.self) }
  }
}
