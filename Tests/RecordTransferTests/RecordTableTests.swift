import Database
import DeliverySchema
import DeliveryTesting
import Testing

@testable import DeliveryRecords
@testable import RecordTransfer

@Suite("The tables of the records as a whole")
struct RecordTableTests {
  @Test("each table that the migrations make is there once, behind those that it refers to")
  func order() throws {
    let tables = try RecordTable.all()
    let names = tables.map(\.name)
    let made = try Database.inMemory(migrations: Migrations.all) { connection in
      try connection.query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
        .map { try $0.text("name") }
    }
    #expect(names.count > 40)
    #expect(names.sorted() == made.sorted())
    var before: Set<String> = []
    for table in tables {
      #expect(table.references.isSubset(of: before), "\(table.name)")
      before.insert(table.name)
    }
  }

  @Test(
    "a table has its columns without those that are made of others, and a key: that of the table, or that of a unique index",
    arguments: [
      ("unconfirmed_grants", ["grant_number"], ["grants", "unconfirmed_proofs"]),
      ("transactions", ["store", "environment", "transaction_id"], []),
      ("version_signatures", ["product", "version", "key_id"], ["versions"]),
      ("preview_contents", ["digest"], []),
      ("product_screenshots", ["product"], []), ("manifests", ["digest"], []),
    ] as [(String, [String], Set<String>)])
  func keys(name: String, key: [String], references: Set<String>) throws {
    let table = try #require(try RecordTable.all().first { $0.name == name })
    #expect(table.key == key)
    #expect(table.references == references)
  }

  @Test("columns that the database makes of others are not written")
  func generated() throws {
    let tables = try RecordTable.all()
    for (table, column) in [("audit", "product"), ("outbox", "state")] {
      let found = try #require(tables.first { $0.name == table })
      #expect(!found.columns.map(\.name).contains(column))
    }
    let allHaveKeys = tables.allSatisfy {
      !$0.key.isEmpty && Set($0.key).isSubset(of: $0.columns.map(\.name))
    }
    #expect(allHaveKeys)
  }

  private func table(_ name: String, _ references: Set<String> = []) -> RecordTable {
    RecordTable(name: name, columns: [.init(name: "id", isText: false)], key: ["id"], references: references)
  }

  @Test(
    "the order is by names where it may be, a reference to its own table or to none counts not, and a circle comes last"
  )
  func ordering() {
    let tables = [
      table("z"), table("b", ["z", "b", "elsewhere"]), table("a", ["c"]), table("c", ["a"]),
      table("y", ["b"]),
    ]
    #expect(RecordTable.inOrder(tables).map(\.name) == ["z", "b", "y", "a", "c"])
  }
}

@Suite("Rows that are compared")
struct RecordDigestTests {
  private func row(_ values: [SQLValue]) -> Row {
    Row(columns: values.indices.map { "c\($0)" }, values: values)
  }

  private func digest(_ rows: [[SQLValue]]) -> RecordDigest {
    var hasher = RecordHasher()
    hasher.add(rows.map(row))
    return hasher.finalize()
  }

  @Test("the canonical form of a row is its count of values, and of each its type, its length and its bytes")
  func form() {
    var bytes: [UInt8] = []
    RecordHasher.append([.null, .integer(Int64(-2)), .text("ä"), .blob([9]), .real(1.5)], to: &bytes)
    #expect(
      bytes == [
        0, 0, 0, 0, 0, 0, 0, 5, 0, 1, 255, 255, 255, 255, 255, 255, 255, 254, 3, 0, 0, 0, 0, 0, 0, 0, 2, 0xC3,
        0xA4, 4, 0, 0,
        0, 0, 0, 0, 0, 1, 9, 2, 0x3F, 0xF8, 0, 0, 0, 0, 0, 0,
      ])
  }

  @Test(
    "rows that differ in anything have another digest",
    arguments: [
      ([[1]], [[2]]), ([["1"]], [[1]]), ([["a"]], [[.blob([0x61])]]), ([[.null]], [[""]]),
      ([["a", "bc"]], [["ab", "c"]]),
      ([[1], [2]], [[2], [1]]), ([[1, 2]], [[1], [2]]), ([], [[.null]]), ([["\u{E9}"]], [["e\u{301}"]]),
      ([[0]], [[0.0]]),
    ] as [([[SQLValue]], [[SQLValue]])])
  func differences(left: [[SQLValue]], right: [[SQLValue]]) {
    #expect(digest(left) != digest(right))
  }

  @Test("the digest does not depend on how rows came in pages")
  func pages() {
    var hasher = RecordHasher()
    for number in 0..<10 { hasher.add([row([.integer(number)])]) }
    #expect(hasher.finalize() == digest((0..<10).map { [.integer($0)] }))
    #expect(digest([]).rows == 0)
  }

  @Test(
    "all rows come once, in the order of the key by its bytes, however many there are",
    arguments: [0, 1, 255, 256, 257, 9000])
  func everyRow(count: Int) throws {
    let table = RecordTable(
      name: "bought_products", columns: [.init(name: "product", isText: true)], key: ["product"])
    try Database.inMemory(migrations: Migrations.all) { connection in
      for number in 0..<count {
        let name = "\(["a", "B", "_", "é", "z"][number % 5])\(number)"
        try connection.execute("INSERT INTO bought_products (product) VALUES (?)", [.text(name)])
      }
      var pages = RecordPages(of: table)
      var found: [String] = []
      while let page = try pages.next(in: connection) { found += try page.map { try $0.text("product") } }
      #expect(found.count == count)
      #expect(found == found.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
      #expect(Set(found).count == count)
      #expect(try RecordDigest.of(table, in: connection).rows == count)
    }
  }

  @Test("a page of rows that hold much is short, so that no copy needs memory for many documents")
  func longRows() throws {
    let table = RecordTable(
      name: "manifests",
      columns: [.init(name: "digest", isText: false), .init(name: "document", isText: false)], key: ["digest"]
    )
    try Database.inMemory(migrations: Migrations.all) { connection in
      for number in 0..<400 {
        try connection.execute(
          "INSERT INTO manifests (digest, document) VALUES (?, zeroblob(65536))",
          [.blob([UInt8(number / 200), UInt8(number % 200)])])
      }
      var pages = RecordPages(of: table)
      var counts: [Int] = []
      while let page = try pages.next(in: connection) { counts.append(page.count) }
      #expect(counts.reduce(0, +) == 400)
      // 16 of them have 1 MiB.
      #expect(counts.dropFirst(2).allSatisfy { $0 <= 64 })
    }
  }

  @Test("counts of several rows are one sum, and those of nothing are none")
  func counts() throws {
    let tables = try RecordTable.all().filter(\.isOfCounts)
    #expect(tables.map(\.name) == ["counters", "outbox_counts"])
    try Database.inMemory(migrations: Migrations.all) { connection in
      // 15 counts of nothing are there.
      #expect(try RecordDigest.of(tables[0], in: connection) == digest([]))
      try connection.execute("UPDATE counters SET value = 7 WHERE name = 'unconfirmed grants'")
      try connection.execute(
        "INSERT INTO outbox_counts VALUES ('s', 'a', 0, 0), ('s', 'b', -1, 1), ('s', 'c', 0, 2)")
      #expect(try RecordDigest.of(tables[0], in: connection) == digest([["unconfirmed grants", 7]]))
      #expect(
        try RecordDigest.of(tables[1], in: connection) == digest([["s", "b", -1, 1], ["s", "c", 0, 2]]))
    }
  }

  @Test("texts with U+0000 are found, by table, column and key")
  func zero() throws {
    let tables = try RecordTable.all()
    let found = try Database.inMemory(migrations: Migrations.all) { connection in
      try connection.execute(
        "INSERT INTO audit (id, at, actor, action, subject, detail) VALUES (7, 0, 'ada', 'a', 'b', ?), (8, 0, 'ada', 'a', 'b', '0')",
        [.text("x\u{0}")])
      try connection.execute("INSERT INTO previews VALUES (?, 'o', 3, x'0001')", [.text("com\u{0}a")])
      try connection.execute("INSERT INTO content_stops VALUES (x'0000', 0)")
      return try tables.flatMap { try SQLDialect.textsWithZero(in: $0, limit: 5, in: connection) }
    }
    #expect(
      found.map(\.description) == [
        "column detail of audit, where id is 7",
        #"column product of previews, where product is 'com\u0000a', ordering is 'o', place is 3"#,
      ])
  }
}
