public import CoreTypes

/// The bounds of the agent's downloads, as `GET /v1/status` tells them: how fast, when, and how much a month.
public struct NetworkLimits: Codable, Hashable, Sendable {
  /// The times at which downloads may run.
  public struct Window: Codable, Hashable, Sendable {
    /// Whether downloads may run now.
    public var isOpen: Bool
    /// When that changes; absent for windows without an end.
    public var until: Timestamp?

    /// Creates the document from its members.
    public init(isOpen: Bool, until: Timestamp? = nil) {
      self.isOpen = isOpen
      self.until = until
    }
  }

  /// The budget of this month.
  public struct Budget: Codable, Hashable, Sendable {
    /// Bytes a month.
    public var limit: ByteCount
    /// Bytes that came in this one.
    public var used: ByteCount
    /// Bytes that may still come.
    public var left: ByteCount
    /// When it begins anew.
    public var until: Timestamp?

    /// Creates the document from its members.
    public init(limit: ByteCount, used: ByteCount, left: ByteCount, until: Timestamp? = nil) {
      self.limit = limit
      self.used = used
      self.left = left
      self.until = until
    }
  }

  /// Bytes a second of all transfers together; absent without a bound.
  public var maximumRate: ByteCount?
  /// Absent where downloads may always run.
  public var window: Window?
  /// Absent without a bound.
  public var budget: Budget?

  /// Creates the document from its members.
  public init(maximumRate: ByteCount? = nil, window: Window? = nil, budget: Budget? = nil) {
    self.maximumRate = maximumRate
    self.window = window
    self.budget = budget
  }
}
