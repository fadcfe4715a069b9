package import Crypto
package import Database

/// The rows of a table in the order of its key, page by page: by the same statements in both databases, whose texts and bytes have the same
/// order.
package struct RecordPages {
  /// The bytes of values that a page should have.
  private static let goodLength = 1 << 20
  private static let lengths = 16...4096

  private let table: RecordTable
  private let keyPlaces: [Int]
  private var last: [SQLValue]?
  private var length = 256
  private var isAtEnd = false

  /// Begins before the first row.
  package init(of table: RecordTable) {
    self.table = table
    keyPlaces = table.key.compactMap { key in table.columns.firstIndex { $0.name == key } }
  }

  /// The next rows, with their values in the order of the table's columns; nil at the end. Within one transaction that sees one state.
  package mutating func next(in connection: borrowing Connection) throws(DatabaseError) -> [Row]? {
    guard !isAtEnd else { return nil }
    let rows = try connection.query(
      RecordStatements.page(of: table, isFirst: last == nil), (last ?? []) + [.integer(length)])
    isAtEnd = rows.count < length
    guard let end = rows.last else { return nil }
    last = keyPlaces.map { end.values[$0] }
    adapt(to: rows)
    return rows
  }

  /// Few rows of those that hold documents, and many of those that hold numbers.
  private mutating func adapt(to rows: [Row]) {
    let bytes = rows.reduce(0) { $0 + $1.values.reduce(0) { $0 + $1.byteCount } }
    if bytes > Self.goodLength, length > Self.lengths.lowerBound { length /= 2 }
    if bytes < Self.goodLength / 2, length < Self.lengths.upperBound { length *= 2 }
  }
}

/// The statements on a table that both databases run.
package enum RecordStatements {
  /// The first rows, or those behind a key; of counts, the sums that are not nothing.
  package static func page(of table: RecordTable, isFirst: Bool) -> String {
    let name = RecordTable.quoted(table.name)
    let columns = table.columns.map { RecordTable.quoted($0.name) }.joined(separator: ", ")
    let key = table.key.map(RecordTable.quoted).joined(separator: ", ")
    let places = Array(repeating: "?", count: table.key.count).joined(separator: ", ")
    let counted = table.columns.filter { !table.key.contains($0.name) }.map { RecordTable.quoted($0.name) }
    guard table.isOfCounts else {
      return isFirst
        ? "SELECT \(columns) FROM \(name) ORDER BY \(key) LIMIT ?"
        : "SELECT \(columns) FROM \(name) WHERE (\(key)) > (\(places)) ORDER BY \(key) LIMIT ?"
    }
    let sums = table.columns.map { column in
      let name = RecordTable.quoted(column.name)
      return table.key.contains(column.name) ? name : "CAST(sum(\(name)) AS BIGINT) AS \(name)"
    }.joined(separator: ", ")
    let something = counted.map { "sum(\($0)) <> 0" }.joined(separator: " OR ")
    return isFirst
      ? "SELECT \(sums) FROM \(name) GROUP BY \(key) HAVING \(something) ORDER BY \(key) LIMIT ?"
      : "SELECT \(sums) FROM \(name) WHERE (\(key)) > (\(places)) GROUP BY \(key) HAVING \(something) ORDER BY \(key) LIMIT ?"
  }

  /// How many rows there are; of counts, in as many rows as the database has.
  package static func count(of table: RecordTable) -> String {
    "SELECT count(*) AS count FROM \(RecordTable.quoted(table.name))"
  }

  /// Adds a row to an empty table; of counts, in place of one of the same key.
  package static func insertion(into table: RecordTable) -> String {
    let columns = table.columns.map { RecordTable.quoted($0.name) }
    let places = Array(repeating: "?", count: columns.count).joined(separator: ", ")
    let insertion =
      "INSERT INTO \(RecordTable.quoted(table.name)) (\(columns.joined(separator: ", "))) VALUES (\(places))"
    guard table.isOfCounts else { return insertion }
    let key = table.key.map(RecordTable.quoted)
    let changes = columns.filter { !key.contains($0) }.map { "\($0) = excluded.\($0)" }
    return
      "\(insertion) ON CONFLICT (\(key.joined(separator: ", "))) DO UPDATE SET \(changes.joined(separator: ", "))"
  }
}

/// The number of a table's rows, and the SHA-256 of their values in the order of the key: the same for the same rows, whichever database
/// holds them.
package struct RecordDigest: Hashable, Sendable {
  /// How many rows were read.
  package let rows: Int
  /// The SHA-256 of what ``RecordHasher`` writes of them.
  package let digest: SHA256Digest

  package init(rows: Int, digest: SHA256Digest) {
    self.rows = rows
    self.digest = digest
  }

  /// Reads all rows of the table. `progress` is told of each page.
  package static func of(
    _ table: RecordTable, in connection: borrowing Connection, progress: (Int) throws -> Void = { _ in }
  ) throws -> RecordDigest {
    var pages = RecordPages(of: table)
    var hasher = RecordHasher()
    while let page = try pages.next(in: connection) {
      hasher.add(page)
      try progress(page.count)
    }
    return hasher.finalize()
  }
}

/// Hashes rows in a form in which no two lists of rows are the same bytes: for each value a byte for its type, for texts and blobs their
/// length in eight bytes, and the bytes of the value, numbers with their highest byte first; for each row the number of its values before
/// them, in eight bytes.
package struct RecordHasher {
  private var hasher = SHA256Hasher()
  private var rows = 0

  /// Begins with no rows.
  package init() {}

  /// Takes in rows, which must come in the order of the table's key.
  package mutating func add(_ rows: [Row]) {
    var bytes: [UInt8] = []
    for row in rows { Self.append(row.values, to: &bytes) }
    hasher.update(bytes.span)
    self.rows += rows.count
  }

  /// Returns the digest of all rows; the hasher takes no more then.
  package mutating func finalize() -> RecordDigest {
    RecordDigest(rows: rows, digest: hasher.finalize())
  }

  /// The canonical form of one row.
  package static func append(_ values: [SQLValue], to bytes: inout [UInt8]) {
    append(UInt64(values.count), to: &bytes)
    for value in values {
      switch value {
      case .null: bytes.append(0)
      case .integer(let integer):
        bytes.append(1)
        append(UInt64(bitPattern: integer), to: &bytes)
      case .real(let real):
        bytes.append(2)
        append(real.bitPattern, to: &bytes)
      case .text(let text):
        bytes.append(3)
        append(UInt64(text.utf8.count), to: &bytes)
        bytes.append(contentsOf: text.utf8)
      case .blob(let blob):
        bytes.append(4)
        append(UInt64(blob.count), to: &bytes)
        bytes.append(contentsOf: blob)
      }
    }
  }

  private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
    for shift in stride(from: UInt64(56), through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: number >> shift))
    }
  }
}

extension SQLValue {
  /// The bytes of the value, without what says its type.
  fileprivate var byteCount: Int {
    switch self {
    case .null: 0
    case .integer, .real: 8
    case .text(let text): text.utf8.count
    case .blob(let blob): blob.count
    }
  }
}
