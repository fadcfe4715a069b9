/// A command line that cannot be understood: one line for people, and where to read on.
public struct UsageError: Error, Hashable, Sendable, CustomStringConvertible {
  /// Without a full stop.
  public let message: String
  /// A second sentence, such as the command that shows the help; empty for none.
  public let hint: String

  public init(_ message: String, hint: String = "") {
    self.message = message
    self.hint = hint
  }

  /// One line.
  public var description: String { hint.isEmpty ? message : "\(message); \(hint)" }
}
