/// How much a line matters. A log writes its own level and what stands before it.
public enum LogLevel: Int, Sendable, CaseIterable, Comparable {
  /// Somebody has to act.
  case error
  /// Something was not as it should be, and was dealt with.
  case warning
  /// What an operator wants to know of a quiet day.
  case info
  /// What a developer wants to know.
  case debug

  /// `error`, `warning`, `info` or `debug`.
  public init?(name: String) {
    guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = level
  }

  public var name: String {
    switch self {
    case .error: "error"
    case .warning: "warning"
    case .info: "info"
    case .debug: "debug"
    }
  }

  public static func < (left: LogLevel, right: LogLevel) -> Bool { left.rawValue < right.rawValue }
}
