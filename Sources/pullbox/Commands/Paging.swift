import PullboxAPI

/// Lists that the server gives page by page.
enum Paging {
  /// More than this is not for reading in a terminal.
  static let maximumItems = 10_000

  /// Everything up to `limit`.
  static func all<Item>(
    limit: Int = maximumItems, _ page: (_ after: String?) async throws -> Page<Item>
  ) async throws -> [Item] {
    var items: [Item] = []
    var after: String?
    repeat {
      let page = try await page(after)
      items += page.items
      after = page.items.isEmpty ? nil : page.next
    } while after != nil && items.count < limit
    return Array(items.prefix(limit))
  }
}
