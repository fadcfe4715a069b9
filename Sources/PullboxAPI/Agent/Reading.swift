public import Commerce
public import CoreTypes

/// `PUT /v1/library/{product}/progress` of the agent: how far a reader has read what the library holds of the product.
public struct ReadingReport: Codable, Hashable, Sendable {
  /// The page, counted from zero; absent where there are no pages.
  public var page: Int?
  /// How much was read, from 0 to 1; absent where it follows from the page, or is not known.
  public var progression: Double?
  /// The place as Readium's applications name it; absent where it is not told.
  public var locator: ReadingProgress.Locator?
  /// When it was read; absent for now.
  public var modified: Timestamp?
  /// Where it was read; absent for this device.
  public var device: ReadingProgress.Device?

  /// Creates the document from its members.
  public init(
    page: Int? = nil, progression: Double? = nil, locator: ReadingProgress.Locator? = nil,
    modified: Timestamp? = nil, device: ReadingProgress.Device? = nil
  ) {
    self.page = page
    self.progression = progression
    self.locator = locator
    self.modified = modified
    self.device = device
  }
}

/// The answer to `GET` and `PUT /v1/library/{product}/progress` of the agent.
public struct ReadingResponse: Codable, Hashable, Sendable {
  /// The version that is read now, whose pages are counted.
  public var version: ContentVersion
  /// Its pages; absent for content whose pages do not lie in it one by one.
  public var pages: Int?
  /// The latest word, for that version; absent where the product was not read.
  public var progress: ReadingProgress?

  /// Creates the document from its members.
  public init(version: ContentVersion, pages: Int? = nil, progress: ReadingProgress? = nil) {
    self.version = version
    self.pages = pages
    self.progress = progress
  }
}

/// `POST /v1/library/{product}/leases` and `…/rollback` of the agent: one of the versions that the library holds.
public struct LibraryVersionRequest: Codable, Hashable, Sendable {
  /// The version; absent for the one that is read, or the one before it.
  public var version: ContentVersion?

  /// Creates the document from its member.
  public init(version: ContentVersion? = nil) {
    self.version = version
  }
}

extension LibraryItem {
  /// The media type of the stream of a lease: lines, of which the first is the item as JSON and all others are empty.
  public static let leaseMediaType = "application/x-ndjson"
}
