/// A configuration that cannot be used: which part, and what is wrong with it.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The key, parts separated by dots; the file where the whole file is meant.
  public let subject: String
  /// Without a full stop.
  public let message: String

  public init(subject: String, message: String) {
    self.subject = subject
    self.message = message
  }

  public var description: String { "configuration: \(subject): \(message)" }
}
