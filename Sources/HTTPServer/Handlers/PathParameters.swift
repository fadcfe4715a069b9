/// What the placeholders of a route's pattern stand for, percent-decoded.
public struct PathParameters: Sendable, Hashable {
  private let values: [String: String]

  public init(_ values: [String: String] = [:]) {
    self.values = values
  }

  /// The value of a placeholder of the route's own pattern; asking for another one is a defect and traps.
  public subscript(name: String) -> String {
    guard let value = values[name] else { preconditionFailure("the pattern has no {\(name)}") }
    return value
  }
}
