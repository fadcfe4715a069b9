/// What an operator key may do; `admin` includes the others.
public enum OperatorScope: String, Codable, Sendable, CaseIterable {
  case read
  case publish
  case review
  case admin
}
