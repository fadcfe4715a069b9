/// One page of a list; `next`, when there, is the `after` of the request for the page that follows.
public struct Page<Item: Codable & Sendable>: Codable, Sendable {
  /// The entries of this page, in the order of the list.
  public var items: [Item]
  /// The `after` of the next page's request; absent on the last page.
  public var next: String?

  /// Creates the document from its members.
  public init(items: [Item], next: String? = nil) {
    self.items = items
    self.next = next
  }
}
