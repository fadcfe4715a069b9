import Foundation

/// Something in the state directory that cannot be used.
struct StateError: Error, Hashable, Sendable, CustomStringConvertible {
  let path: String
  let message: String

  var description: String { "\(path): \(message)" }
}
