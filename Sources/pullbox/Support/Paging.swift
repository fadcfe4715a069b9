import PullboxAPI
import ServiceRuntime

/// Lists that the server gives page by page.
enum Paging {
  /// `--limit` unless given.
  static let defaultLimit = 200

  /// Why no more items follow.
  enum Ending: Hashable {
    /// The list has ended, or `body` wanted no more.
    case complete
    /// The list has more than `limit` items.
    case limited
  }

  /// Calls `body` with the items of each page, in the list's order, until the list has ended, `limit` items were passed or
  /// `body` answers false. Holds one page at a time. `page` fetches the page that follows the mark `after`. A
  /// page that names itself as the next ends the list. Throws what `page` and `body` throw.
  static func forEachPage<Item>(
    limit: Int = .max, page fetch: (_ after: String?) async throws -> Page<Item>,
    body: ([Item]) throws -> Bool
  ) async throws -> Ending {
    var rest = limit
    var after: String?
    repeat {
      let page = try await fetch(after)
      let items = Array(page.items.prefix(rest))
      rest -= items.count
      guard try body(items) else { return .complete }
      after = page.next == after ? nil : page.next
      if items.count < page.items.count || (rest == 0 && after != nil) { return .limited }
    } while after != nil
    return .complete
  }
}

extension CommandOption {
  /// `--limit N` of the commands that print a list.
  static let limit = CommandOption.value(
    "limit", "N", environment: .none, fallback: "\(Paging.defaultLimit)",
    help: "Print the first N entries at most")
}

extension CommandContext {
  /// Prints a list that the server gives page by page, up to `--limit` entries: JSON as the pages come, a table once all
  /// its rows are there. If the list has more, says how to print it. With JSON it ends quietly once the
  /// reader of standard output has closed it. Throws wrong usage for a `--limit` outside of 1 to
  /// 1,000,000,000.
  func printList<Item: Encodable>(
    page fetch: (_ after: String?) async throws -> Page<Item>, asTable printTable: ([Item]) throws -> Void
  ) async throws {
    let limit = try arguments.integer("limit", in: 1...1_000_000_000) ?? Paging.defaultLimit
    var rows: [Item] = []
    let ending = try await Paging.forEachPage(limit: limit, page: fetch) { items in
      guard console.printsJSON else {
        rows += items
        return true
      }
      return try items.allSatisfy { try console.print(json: $0) }
    }
    if !console.printsJSON { try printTable(rows) }
    if ending == .limited { console.note("there are more than \(limit); --limit N prints the first N") }
  }
}
