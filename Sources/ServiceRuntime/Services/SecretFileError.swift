/// Why a secret's file cannot be used.
public struct SecretFileError: Error, Hashable, Sendable, CustomStringConvertible {
  public let path: String
  public let reason: String

  public init(path: String, reason: String) {
    self.path = path
    self.reason = reason
  }

  public var description: String { "the secret's file \(path) cannot be used: \(reason)" }
}
