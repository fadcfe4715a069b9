/// Something came into the library or left it.
public struct LibraryEvent: Codable, Hashable, Sendable {
  public enum Change: String, Codable, Sendable {
    case placed
    case removed
  }

  public var change: Change
  public var item: LibraryItem

  public init(change: Change, item: LibraryItem) {
    self.change = change
    self.item = item
  }
}
