/// Which world of a payment store a purchase was made in. Only ``production`` costs anybody money, so which ones lead
/// to content is a decision of the operator, never of the proof.
public enum StoreEnvironment: String, Codable, Sendable, CaseIterable {
  case production = "Production"
  case sandbox = "Sandbox"
  /// Signed on a developer's own machine, by a certificate nobody vouches for.
  case xcode = "Xcode"
}
