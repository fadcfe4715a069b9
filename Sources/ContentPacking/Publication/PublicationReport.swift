public import ContentPackage

/// Findings about a publication that its manifest does not say. They are for the publisher.
public struct PublicationReport: Hashable, Sendable {
  /// The format of a single file by its bytes; nil for a folder.
  public var format: PublicationFormat?
  /// The files that could seem to be pages and are none: leftovers of operating systems, and files with the
  /// name of a picture that hold none.
  public var leftOut: [SkippedSource] = []
  /// Properties that readers may stumble over. The publication is delivered all the same.
  public var oddities: [PublicationOddity] = []
  /// The picture that stands for a single file, inside of it. A manifest names the cover of a folder only.
  public var cover: String?

  /// Creates a report of nothing.
  public init() {}

  /// Whether everything is as it should be.
  public var isEmpty: Bool { leftOut.isEmpty && oddities.isEmpty }
}

/// Something in a publication that is unusual, and no fault.
public struct PublicationOddity: Hashable, Sendable {
  /// The file it is about; nil when it is about the whole.
  public let path: String?
  /// One clause for people.
  public let detail: String

  /// Creates the note; nil for `path` when it is about the whole.
  public init(path: String? = nil, _ detail: String) {
    self.path = path
    self.detail = detail
  }
}
