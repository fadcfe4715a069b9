/// What was found out about a publication that its manifest does not say: for the one who publishes it.
public struct PublicationReport: Hashable, Sendable {
  /// What a single file is by its bytes; nil for a folder.
  public var format: PublicationFormat?
  /// The files that are no pages although they could seem to be: what systems left behind, and pictures that are none.
  public var leftOut: [SkippedSource] = []
  /// What readers may stumble over. It is delivered all the same.
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
