public import PullboxAPI

/// The answer to `GET` and `PUT /v1/grants/{grant}/progress`: how far the grant's customer has read its product, on any device.
public struct GrantProgress: Codable, Hashable, Sendable {
  /// The word that counts; absent where it was not read so far.
  public var progress: ReadingProgress?

  /// Creates the document from its members.
  public init(progress: ReadingProgress?) {
    self.progress = progress
  }
}
