/// Why a server cannot start, in words for its operator.
public struct StartError: Error, Sendable, CustomStringConvertible {
  public let description: String

  init(_ description: String) {
    self.description = description
  }
}
