/// Where a grant stands.
public enum GrantState: String, Codable, Sendable, CaseIterable {
  /// The receipt was checked; tickets may be issued.
  case granted
  /// The device reported "verified and placed", and the report was right; the transaction still waits, for other
  /// products it pays for or for the store's answer.
  case completed
  /// The store has marked the transaction finished.
  case finished
  /// Refunded or withdrawn: no tickets, no completion.
  case revoked
}
