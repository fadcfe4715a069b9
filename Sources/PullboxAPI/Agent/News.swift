public import Commerce

/// `GET /v1/news` of the agent: what has arrived and is not fetched by itself, the newest first. `POST /v1/restore` fetches
/// it.
public struct NewsResponse: Codable, Sendable {
  /// What is listed.
  public var entries: [NewsEntry]

  /// Creates the document from its members.
  public init(entries: [NewsEntry]) {
    self.entries = entries
  }
}

/// What the delivery server's feed told, in one object with what the agent knows of the product besides.
public struct NewsEntry: Codable, Hashable, Sendable {
  /// As the feed told it.
  public var entry: FeedEntry
  /// What the server called the product, in the language that the agent's configuration names; absent until it has told.
  public var title: String?
  /// The absolute path of a small picture; absent until there is one.
  public var cover: String?

  private enum CodingKeys: String, CodingKey {
    case title
    case cover
  }

  /// Creates the document from its members.
  public init(_ entry: FeedEntry, title: String? = nil, cover: String? = nil) {
    self.entry = entry
    self.title = title
    self.cover = cover
  }

  /// Reads the members of both.
  public init(from decoder: any Decoder) throws {
    entry = try FeedEntry(from: decoder)
    let container = try decoder.container(keyedBy: CodingKeys.self)
    title = try container.decodeIfPresent(String.self, forKey: .title)
    cover = try container.decodeIfPresent(String.self, forKey: .cover)
  }

  /// Writes the members of both into one object.
  public func encode(to encoder: any Encoder) throws {
    try entry.encode(to: encoder)
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(title, forKey: .title)
    try container.encodeIfPresent(cover, forKey: .cover)
  }

  /// The issue.
  public var product: ProductIdentifier { entry.product }
}
