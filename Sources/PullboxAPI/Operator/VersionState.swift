/// Where a content version stands between upload and readers.
public enum VersionState: String, Codable, Sendable, CaseIterable {
  case draft
  case submitted
  case approved
  case rejected
  case released
  /// Another version was released in its place.
  case superseded
  /// No new grants.
  case withdrawn
}
