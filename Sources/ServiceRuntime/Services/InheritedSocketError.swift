import Glibc

/// Why inherited sockets cannot be taken over.
public struct InheritedSocketError: Error, Hashable, Sendable, CustomStringConvertible {
  public let description: String

  init(_ reason: String) {
    description = "sockets were handed over, but not in order: \(reason)"
  }
}
