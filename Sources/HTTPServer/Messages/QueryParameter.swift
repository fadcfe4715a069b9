/// One `name=value` of a query, decoded. `name` alone has an empty value.
public struct QueryParameter: Sendable, Hashable {
  public var name: String
  public var value: String

  public init(name: String, value: String) {
    self.name = name
    self.value = value
  }
}
