public import Commerce
public import CoreTypes

/// A part of placed content that is fetched and given up by itself.
public struct ContentSection: Codable, Hashable, Sendable {
  /// The section's name.
  public var tag: SectionTag
  /// When devices fetch it.
  public var policy: SectionPolicy
  /// The titles for people, by language tag (BCP 47); absent where the publisher gave nothing.
  public var title: [String: String]?
  /// The number of its files.
  public var files: Int
  /// Bytes of its files, unpacked.
  public var length: ByteCount
  /// Whether its files lie in the library.
  public var isHere: Bool
  /// The download that brings it; absent where none is under way.
  public var download: DownloadIdentifier?

  private enum CodingKeys: String, CodingKey {
    case tag, policy, title, files, length, download
    case isHere = "here"
  }

  /// Creates the document from its members.
  public init(
    tag: SectionTag, policy: SectionPolicy, title: [String: String]? = nil, files: Int, length: ByteCount,
    isHere: Bool, download: DownloadIdentifier? = nil
  ) {
    self.tag = tag
    self.policy = policy
    self.title = title
    self.files = files
    self.length = length
    self.isHere = isHere
    self.download = download
  }
}

/// `GET /v1/library/{product}/sections` of the agent: those of the version that is read.
public struct ContentSections: Codable, Hashable, Sendable {
  /// The product.
  public var product: ProductIdentifier
  /// The content version.
  public var version: ContentVersion
  /// By tag; empty for content without sections.
  public var sections: [ContentSection]

  /// Creates the document from its members.
  public init(product: ProductIdentifier, version: ContentVersion, sections: [ContentSection]) {
    self.product = product
    self.version = version
    self.sections = sections
  }
}
