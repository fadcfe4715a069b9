public import Commerce
public import CoreTypes
public import Crypto

/// `GET /v1/downloads/{id}/files` and `GET /v1/library/{product}/files` of the agent: the files of content that is at its place or on its
/// way, and how much of each can be read now.
public struct ContentFiles: Codable, Hashable, Sendable {
  /// The product.
  public var product: ProductIdentifier
  /// The content version.
  public var version: ContentVersion
  /// Whether the content is at its place: then all of it can be read.
  public var placed: Bool
  /// Bytes of all files together.
  public var length: ByteCount
  /// All files, by path.
  public var files: [ContentFile]

  /// Creates the document from its members.
  public init(
    product: ProductIdentifier, version: ContentVersion, placed: Bool, length: ByteCount,
    files: [ContentFile]
  ) {
    self.product = product
    self.version = version
    self.placed = placed
    self.length = length
    self.files = files
  }

  /// The file that is the page of that number, counted from 1 in the order of reading; nil where the content has none.
  public func page(_ number: Int) -> ContentFile? { files.first { $0.page == number } }
}

/// One file of content.
public struct ContentFile: Codable, Hashable, Sendable {
  /// A run of bytes that were compared with the manifest.
  public struct Part: Codable, Hashable, Sendable {
    /// Where it begins in the file.
    public var offset: ByteCount
    /// Its bytes, at least one.
    public var length: ByteCount

    /// Creates the document from its members.
    public init(offset: ByteCount, length: ByteCount) {
      self.offset = offset
      self.length = length
    }
  }

  /// The path below the content's folder.
  public var path: String
  /// Bytes of the whole file.
  public var length: ByteCount
  /// The SHA-256 of the whole file, which in quotes is its entity tag.
  public var digest: SHA256Digest
  /// The place in the publisher's order of reading, from 1; absent for a file that is no page of it.
  public var page: Int?
  /// The bytes that can be read at once, ascending; those that are not here yet are fetched when they are asked for.
  public var verified: [Part]

  /// Creates the document from its members.
  public init(path: String, length: ByteCount, digest: SHA256Digest, page: Int? = nil, verified: [Part]) {
    self.path = path
    self.length = length
    self.digest = digest
    self.page = page
    self.verified = verified
  }

  /// Whether all of it can be read at once.
  public var isWhole: Bool { length == .zero || verified == [Part(offset: .zero, length: length)] }
}

extension ContentFiles: SelfWritten {
  /// A file has some 200 bytes.
  package var expectedLength: Int { 2048 + 200 * files.count }

  package func write(to object: inout JSONObjectWriter) throws {
    try object.set("files", to: files)
    object.set("length", to: length.rawValue)
    object.set("placed", to: placed)
    object.set("product", to: product.description)
    object.set("version", to: version.description)
  }
}

extension ContentFile: SelfWritten {
  package func write(to object: inout JSONObjectWriter) throws {
    object.set("digest", to: digest)
    object.set("length", to: length.rawValue)
    if let page { object.set("page", to: Int64(page)) }
    object.set("path", to: path)
    try object.set("verified", to: verified)
  }
}

extension ContentFile.Part: SelfWritten {
  package func write(to object: inout JSONObjectWriter) {
    object.set("length", to: length.rawValue)
    object.set("offset", to: offset.rawValue)
  }
}
