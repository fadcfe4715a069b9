/// A step from a version to its readers, as the address of the request names it.
public enum ReviewStep: String, Sendable, CaseIterable {
  case submit
  case approve
  /// To all devices, at once.
  case release
}
