/// One page of a list; `next`, when there, is the `after` of the request for the page that follows.
public struct Page<Item: Codable & Sendable>: Codable, Sendable {
  public var items: [Item]
  public var next: String?

  public init(items: [Item], next: String? = nil) {
    self.items = items
    self.next = next
  }
}
