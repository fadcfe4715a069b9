import Commerce

/// `PATCH /v1/downloads/{id}`.
struct AgentDownloadChange: Codable, Hashable, Sendable {
  /// Higher goes first; 0 unless changed.
  var priority: Int?

  static let priorities = -1000...1000
}

/// The answer to `POST /v1/restore`: what is being fetched now.
struct AgentRestoreResponse: Codable, Hashable, Sendable {
  var products: [ProductIdentifier]
}
