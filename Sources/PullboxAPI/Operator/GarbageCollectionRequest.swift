/// The body of `POST /v1/operator/collection`; both members may be left out.
public struct GarbageCollectionRequest: Codable, Sendable, OperatorWritten {
  /// Say what would go, and change nothing.
  public var dryRun: Bool?
  /// How long a blob must have been unneeded; the server's own period without it.
  public var graceSeconds: Int?

  public init(dryRun: Bool? = nil, graceSeconds: Int? = nil) {
    self.dryRun = dryRun
    self.graceSeconds = graceSeconds
  }
}
