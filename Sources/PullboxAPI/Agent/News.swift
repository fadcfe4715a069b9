/// `GET /v1/news` of the agent: what has arrived and is not fetched by itself, the newest first. `POST /v1/restore` fetches
/// it.
public struct NewsResponse: Codable, Sendable {
  /// As the delivery server's feed told them.
  public var entries: [FeedEntry]

  /// Creates the document from its members.
  public init(entries: [FeedEntry]) {
    self.entries = entries
  }
}
