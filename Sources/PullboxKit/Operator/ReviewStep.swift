/// What an operator does with a version, as the address of the request names it.
public enum ReviewStep: String, Sendable, CaseIterable {
  case submit
  case approve
  case reject
  case release
  case withdraw
}
