import Commerce
import Database
import PullboxAPI

/// Products as operators list them.
extension ProductTable {
  /// Which products to list; nil members ask for nothing.
  struct Filter: Sendable {
    var publication: ProductIdentifier?
    var type: ProductType?
    /// Those with a version in that state.
    var state: VersionState?
  }

  /// At most `limit` products after `after`, by identifier.
  static func page(
    after: String, _ filter: Filter, limit: Int, in connection: borrowing Connection
  ) throws -> [Entry] {
    var conditions = ["id > ?"]
    var values: [SQLValue] = [.text(after)]
    if let publication = filter.publication {
      conditions.append("publication = ?")
      values.append(.text(publication.text))
    }
    if let type = filter.type {
      conditions.append("type = ?")
      values.append(.text(type.rawValue))
    }
    if let state = filter.state {
      // The index on state and product answers it in the products' order.
      conditions.append(
        """
        id IN (SELECT DISTINCT product FROM versions WHERE state = ? AND product > ? ORDER BY product LIMIT ?)
        """)
      values += [.text(state.rawValue), .text(after), .integer(filter.isByStateOnly ? limit : Int.max)]
    }
    return try connection.query(
      "SELECT * FROM products WHERE \(conditions.joined(separator: " AND ")) ORDER BY id LIMIT ?",
      values + [.integer(limit)]
    ).map(entry)
  }
}

extension ProductTable.Filter {
  /// The first matches by state are the page then; else the other conditions may leave some of them out.
  fileprivate var isByStateOnly: Bool { publication == nil && type == nil }
}
