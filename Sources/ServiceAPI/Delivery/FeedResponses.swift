import Commerce
import CoreTypes
public import PullboxAPI

/// The answer to `GET /v1/feed`: what has changed behind a cursor, oldest first. A product has one entry, its latest.
public struct FeedResponse: Codable, Sendable {
  /// The changes; empty if there were none within the time that was waited.
  public var entries: [FeedEntry]
  /// The cursor that the next request sends as `after`.
  public var cursor: String
  /// Whether the entries are everything that there is to tell, because the cursor was none of this feed's, or there was none.
  public var isWhole: Bool
  /// The token that replaces the one before, which lasts until its own date.
  public var feed: FeedReference

  private enum CodingKeys: String, CodingKey {
    case entries
    case cursor
    case isWhole = "whole"
    case feed
  }

  /// Creates the document from its members.
  public init(entries: [FeedEntry], cursor: String, isWhole: Bool, feed: FeedReference) {
    self.entries = entries
    self.cursor = cursor
    self.isWhole = isWhole
    self.feed = feed
  }
}

/// The first event of `GET /v1/feed` as server-sent events, `feed`; each that follows is a `FeedEntry` named by its kind.
public struct FeedOpening: Codable, Sendable {
  /// Whether what follows is everything that there is to tell, because the cursor was none of this feed's, or there was none.
  public var isWhole: Bool
  /// The token that replaces the one before, which lasts until its own date.
  public var feed: FeedReference

  private enum CodingKeys: String, CodingKey {
    case isWhole = "whole"
    case feed
  }

  /// Creates the document from its members.
  public init(isWhole: Bool, feed: FeedReference) {
    self.isWhole = isWhole
    self.feed = feed
  }
}
