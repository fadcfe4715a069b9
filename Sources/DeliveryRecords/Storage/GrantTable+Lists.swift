package import Commerce
import CoreTypes
package import Crypto
package import Database
package import DeliveryModel
import DeliverySchema
import PullboxAPI
import ServiceAPI

/// Grants as operators list them.
extension GrantTable {
  /// At most `limit` grants below the number `before`, newest first. It visits as many as it answers, whatever the filter
  /// and however many grants there are; of a transaction, a device and a customer, all of its own at worst. `before` is
  /// the number of the last grant of the page before; the largest number begins.
  package static func page(
    before: Int64, matching filter: GrantFilter, limit: Int, in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    let granted = try numbers(granted: filter.granted, in: connection)
    let range = granted.lowerBound..<max(granted.lowerBound, min(before, granted.upperBound))
    if let transaction = filter.transaction {
      return try rows(
        of: "transaction_id", .identifier(transaction), index: "grants_by_transaction", range: range,
        matching: filter, limit: limit, in: connection)
    }
    if let customer = filter.customer {
      return try rows(of: customer, range: range, matching: filter, limit: limit, in: connection)
    }
    if let device = filter.device {
      return try rows(
        of: "device", .identifier(device), index: "grants_by_device", range: range, matching: filter,
        limit: limit, in: connection)
    }
    if filter.product == nil && filter.state == nil {
      return try connection.query(
        "SELECT \(columns) FROM grants WHERE number >= ? AND number < ? ORDER BY number DESC LIMIT ?",
        [.integer(range.lowerBound), .integer(range.upperBound), .integer(limit)]
      ).map(record)
    }
    return try merged(range: range, matching: filter, limit: limit, in: connection)
  }

  /// Those of one customer, each held against the rest of the filter, but for the version: a filter has none beside a customer.
  private static func rows(
    of customer: CustomerIdentifier, range: Range<Int64>, matching filter: GrantFilter, limit: Int,
    in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    let (device, product) = (filter.device?.description ?? "", filter.product?.description ?? "")
    let batch = filter.state == nil ? limit : max(limit, 500)
    var found: [GrantRecord] = []
    var end = range.upperBound
    while found.count < limit {
      let grants = try connection.query(
        """
        SELECT \(columns) FROM grants WHERE number IN (
          SELECT held.number FROM transactions \(SQLDialect.index("transactions_by_customer"))
          JOIN grants AS held ON held.store = transactions.store AND held.environment = transactions.environment
            AND held.transaction_id = transactions.transaction_id
          WHERE transactions.customer = ? AND held.number >= ? AND held.number < ?
            AND (held.device = ? OR ? = '') AND (held.product = ? OR ? = '')
          ORDER BY held.number DESC LIMIT ?)
        ORDER BY number DESC
        """,
        [
          .customer(customer), .integer(range.lowerBound), .integer(end), .text(device), .text(device),
          .text(product), .text(product), .integer(batch),
        ]
      ).map(record)
      found += grants.filter { filter.state == nil || $0.machine.name == filter.state }
      guard grants.count == batch, let last = grants.last else { break }
      end = last.number
    }
    return Array(found.prefix(limit))
  }

  /// Those of one transaction or device, each held against the rest of the filter.
  private static func rows(
    of column: String, _ value: SQLValue, index: String, range: Range<Int64>, matching filter: GrantFilter,
    limit: Int, in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    var conditions = ["\(column) = ?", "number >= ?", "number < ?"]
    var values = [value, .integer(range.lowerBound), .integer(range.upperBound)]
    let others = [("device", filter.device?.description), ("product", filter.product?.description)]
    for case (let other, let text?) in others where other != column {
      conditions.append("\(other) = ?")
      values.append(.text(text))
    }
    if let version = filter.version {
      // Grants spell a version as its product does.
      conditions.append(
        """
        EXISTS (SELECT 1 FROM versions
          WHERE versions.product = grants.product AND versions.version = grants.version AND ordering = ?)
        """)
      values.append(.text(version.orderingKey))
    }
    if filter.state != nil {
      conditions.append("state IN (\(states(filter).map { "'\($0)'" }.joined(separator: ", ")))")
    }
    return try connection.query(
      """
      SELECT \(columns) FROM grants \(SQLDialect.index(index)) WHERE \(conditions.joined(separator: " AND "))
      ORDER BY number DESC LIMIT ?
      """, values + [.integer(limit)]
    ).map(record)
  }

  /// Those of a product, a version of it, or a state: an index has them by state, and the newest of each state are
  /// merged.
  private static func merged(
    range: Range<Int64>, matching filter: GrantFilter, limit: Int, in connection: borrowing Connection
  ) throws -> [GrantRecord] {
    var conditions: [String] = []
    var values: [SQLValue] = []
    var index = "grants_by_state"
    if let product = filter.product {
      conditions.append("product = ?")
      values.append(.identifier(product))
      index = "grants_by_product"
      if let version = filter.version {
        guard let known = try VersionTable.find(product, version, in: connection)?.version else { return [] }
        conditions.append("version = ?")
        values.append(.identifier(known))
        index = "grants_by_version"
      }
    }
    let condition = (conditions + ["state = ?", "number >= ?", "number < ?"]).joined(separator: " AND ")
    let states = states(filter)
    let newest = """
      SELECT number FROM (SELECT number FROM grants \(SQLDialect.index(index)) WHERE \(condition)
        ORDER BY number DESC LIMIT ?) AS newest
      """
    return try connection.query(
      """
      SELECT \(columns) FROM grants WHERE number IN (
        \([String](repeating: newest, count: states.count).joined(separator: " UNION ALL "))
        ORDER BY number DESC LIMIT ?)
      ORDER BY number DESC
      """,
      states.flatMap {
        values + [.text($0), .integer(range.lowerBound), .integer(range.upperBound), .integer(limit)]
      } + [.integer(limit)]
    ).map(record)
  }

  /// The packages that a device was granted, each once, `limit` at most.
  package static func contents(
    on device: DeviceIdentifier, limit: Int, in connection: borrowing Connection
  ) throws -> [(product: ProductIdentifier, digest: SHA256Digest)] {
    try connection.query(
      """
      SELECT DISTINCT product, digest FROM grants \(SQLDialect.index("grants_by_device"))
      WHERE device = ? ORDER BY product LIMIT ?
      """, [.identifier(device), .integer(limit)]
    ).map { (try $0.identifier("product"), try $0.digest("digest")) }
  }

  /// Whether a page can have ended there.
  package static func exists(_ number: Int64, in connection: borrowing Connection) throws -> Bool {
    try connection.first("SELECT 1 FROM grants WHERE number = ?", [.integer(number)]) != nil
  }

  /// How many numbers were given to grants that were made in that time. PostgreSQL also gives some to requests that are refused then,
  /// and takes none of them back.
  package static func count(granted times: TimeRange, in connection: borrowing Connection) throws -> Int {
    let granted = try numbers(granted: times, in: connection)
    let end = try connection.first("SELECT max(number) AS last FROM grants")?.optionalInteger("last") ?? 0
    return Int(max(0, min(granted.upperBound, end + 1) - max(granted.lowerBound, 1)))
  }

  /// The numbers of the grants that were made in that time. Numbers are in the order of time; where the wall clock was
  /// set back, grants that it dated wrongly may be on the other side of a bound.
  private static func numbers(
    granted times: TimeRange, in connection: borrowing Connection
  ) throws -> Range<Int64> {
    let first = try times.since.map { try firstNumber(notBefore: $0, in: connection) } ?? .min
    let end = try times.until.map { try firstNumber(notBefore: $0, in: connection) } ?? .max
    return first..<max(first, end)
  }

  /// Found by halves: some twenty looks at rows, whatever the number of grants.
  private static func firstNumber(
    notBefore time: Timestamp, in connection: borrowing Connection
  ) throws -> Int64 {
    var low: Int64 = 1
    var high =
      (try connection.first("SELECT max(number) AS last FROM grants")?.optionalInteger("last") ?? 0) + 1
    while low < high {
      let middle = low + (high - low) / 2
      let row = try connection.first(
        "SELECT number, created FROM grants WHERE number >= ? ORDER BY number LIMIT 1", [.integer(middle)])
      if let row, try row.timestamp("created") < time {
        low = try row.integer("number") + 1
      } else {
        high = middle
      }
    }
    return high
  }

  /// The states that the filter accepts, as the database spells them.
  private static func states(_ filter: GrantFilter) -> [String] {
    GrantMachine.State.all.filter { filter.state == nil || GrantMachine(state: $0).name == filter.state }
      .map(\.stored)
  }

  /// At most `limit` devices behind `after`, by name, each with the version of the product that it last
  /// reported as placed and that was not taken back from it.
  package static func holders(
    of product: ProductIdentifier, after: String, limit: Int, in connection: borrowing Connection
  ) throws -> [(device: DeviceIdentifier, version: ContentVersion)] {
    try connection.query(
      """
      SELECT device, version FROM grants AS held
      WHERE product = ? AND placed IS NOT NULL AND revoked_by IS NULL AND device > ?
        AND NOT EXISTS (
          SELECT 1 FROM grants AS later
          WHERE later.product = held.product AND later.device = held.device AND later.placed IS NOT NULL
            AND later.revoked_by IS NULL AND (later.placed, later.version) > (held.placed, held.version))
      ORDER BY device LIMIT ?
      """, [.identifier(product), .text(after), .integer(limit)]
    ).map { (try $0.identifier("device"), try $0.identifier("version")) }
  }
}
