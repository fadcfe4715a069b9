public import Commerce

/// Which receipts count, and how patiently a store is asked.
public struct VerifyReceiptPolicy: Sendable {
  public var bundleIdentifiers: Set<String>
  /// The environments whose purchases lead to content. Anyone can make a sandbox purchase for nothing.
  public var environments: Set<StoreEnvironment>
  /// The waits before the second and each later try while the store answers that it could not decide.
  public var retryDelays: [Duration]
  /// What the customer is told to wait when nothing was decided and the store named no time itself.
  public var retryAfter: Duration

  public init(
    bundleIdentifiers: Set<String>, environments: Set<StoreEnvironment>,
    retryDelays: [Duration] = [.milliseconds(200), .milliseconds(500), .seconds(1)],
    retryAfter: Duration = .seconds(5)
  ) {
    self.bundleIdentifiers = bundleIdentifiers
    self.environments = environments
    self.retryDelays = retryDelays
    self.retryAfter = retryAfter
  }
}
