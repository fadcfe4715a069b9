public import Commerce

/// 200 when the store has finished the transaction, 202 while it has not.
public struct CompletionResponse: Codable, Sendable {
  public var state: GrantState
  /// Products that the same transaction still owes this device.
  public var remaining: [ProductIdentifier]?

  public init(state: GrantState, remaining: [ProductIdentifier]? = nil) {
    self.state = state
    self.remaining = remaining
  }
}
