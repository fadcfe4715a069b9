public import Commerce

/// `GET /v1/news` of the agent: what has arrived and is not fetched by itself, the newest first. `POST /v1/restore` fetches
/// it.
public struct NewsResponse: Codable, Sendable {
  /// The arrivals that are listed.
  public var entries: [NewsEntry]

  /// Creates the document from its members.
  public init(entries: [NewsEntry]) {
    self.entries = entries
  }
}

/// An entry of the delivery server's feed, in one object with the agent's own knowledge of the product.
public struct NewsEntry: Codable, Hashable, Sendable {
  /// The entry as the feed has it.
  public var entry: FeedEntry
  /// The server's title of the product, in the language that the agent's configuration names; absent until the server has
  /// told it.
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
