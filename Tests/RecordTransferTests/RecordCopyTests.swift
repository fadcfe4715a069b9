import CoreTypes
import Database
import DeliverySchema
import DeliveryTesting
import Foundation
import PostgreSQLEngine
import PullboxTesting
import Testing

@testable import DeliveryRecords
@testable import RecordTransfer

@Suite("Records from one file to another")
struct RecordFileCopyTests {
  private let directory: TemporaryDirectory
  private let tables: [RecordTable]

  init() throws {
    directory = try TemporaryDirectory()
    tables = try RecordTable.all()
    try SampleRecords.make(directory.path("a.db"), rows: 40)
  }

  @Test("all rows come, numbers that were given are not given again, and triggers count on")
  func copied() throws {
    let source = OpenRecords.file(directory.path("a.db"))
    let copy = RecordCopy(of: tables, from: source)
    let summaries = try copy.makeFile(directory.path("b.db"))
    #expect(summaries.map(\.table) == tables.map(\.name))
    #expect(
      zip(tables, summaries).allSatisfy { table, summary in
        summary.content.rows == (SampleRecords.isOneRow(table) ? 1 : 40) || table.isOfCounts
      })
    for table in tables {
      let rows = "SELECT \(table.columns.map { "\"\($0.name)\"" }.joined(separator: ", ")) FROM \(table.name)"
      let found = try ["a.db", "b.db"].map { name in
        try Database.inspect(directory.path(name)) { Set(try $0.query(rows).map(\.values)) }
      }
      #expect(table.isOfCounts || found[0] == found[1], "\(table.name)")
    }
    let schema = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
    let schemas = try ["a.db", "b.db"].map { name in
      try Database.inspect(directory.path(name)) { try $0.query(schema).map(\.values) }
    }
    #expect(schemas[0] == schemas[1])
    let database = try Database.open(path: directory.path("b.db"), migrations: Migrations.all)
    defer { database.close() }
    let (number, count) = try database.writeBlocking(locking: [.everything]) { connection in
      (
        try connection.insertNumbered(
          "INSERT INTO feeds (device, store, epoch, sequence, used) VALUES ('new', 's', 0, 0, 0)", [],
          answering: "number"),
        try connection.first("SELECT count(*) AS n FROM counters WHERE name LIKE 'grants %'")?.integer("n")
      )
    }
    // 40 rows, of which the last has number 118, and 1000 that are gone.
    #expect(number == 1119)
    #expect(count == 16)
  }

  @Test("a row that is not what was copied is found, and named by its table")
  func compared() throws {
    let copy = RecordCopy(of: tables, from: .file(directory.path("a.db")))
    let summaries = try copy.makeFile(directory.path("b.db"))
    let database = try Database.open(path: directory.path("b.db"), migrations: Migrations.all)
    try database.writeBlocking(locking: [.everything]) {
      try $0.execute("UPDATE delivered_bytes SET bytes = 2 WHERE grant_number = 1")
    }
    database.close()
    let error = #expect(throws: RecordTransferError.self) {
      try Database.inspect(directory.path("b.db")) { try copy.compare(summaries, in: $0) }
    }
    #expect(error?.code == .differs)
    #expect(error?.message.hasPrefix("the table delivered_bytes is not what was copied") == true)
  }

  @Test("progress counts each row twice: when it is copied, and when it is compared")
  func progress() throws {
    var seen: [RecordCopy.Progress] = []
    let copy = RecordCopy(of: tables, from: .file(directory.path("a.db"))) { seen.append($0) }
    let rows = try copy.makeFile(directory.path("b.db")).reduce(0) { $0 + $1.content.rows }
    let last = try #require(seen.last)
    #expect(last.step == .comparing)
    #expect(last.done == 2 * rows)
    // Counts of nothing are rows that do not come.
    #expect(last.total >= last.done && last.total < last.done + 100)
    #expect(zip(seen, seen.dropFirst()).allSatisfy { $0.done <= $1.done })
    #expect(Set(seen.map(\.table)) == Set(tables.map(\.name) + [""]))
  }
}

@Suite("Records between a file and PostgreSQL", .enabled(if: EmptyServer.url != nil))
struct RecordServerCopyTests {
  private struct BrokenOff: Error {}

  private let directory: TemporaryDirectory
  private let tables: [RecordTable]
  private let transfer: TableTransfer
  private let address: PostgreSQLAddress
  private let mark = MoveMark(
    move: "m1", state: .arrived, other: "there", at: Timestamp(millisecondsSinceEpoch: 0))

  init() throws {
    directory = try TemporaryDirectory()
    tables = try RecordTable.all()
    try SampleRecords.make(directory.path("a.db"), rows: 300)
    address = try EmptyServer.address()
    transfer = try TableTransfer(address, application: "pullbox-server move")
    try OpenRecords.server(transfer).update()
  }

  private var file: OpenRecords { .file(directory.path("a.db")) }

  private func digests(_ records: OpenRecords) throws -> [String: RecordDigest] {
    try records.read { connection in
      var digests: [String: RecordDigest] = [:]
      for table in tables { digests[table.name] = try RecordDigest.of(table, in: connection) }
      return digests
    }
  }

  @Test("every table has the same columns and the same kind of key in both")
  func columns() throws {
    try transfer.read { connection in
      for table in tables {
        let rows = try connection.query(
          """
          SELECT a.attname AS name, format_type(a.atttypid, NULL) AS type FROM pg_attribute a
          WHERE a.attrelid = to_regclass(?) AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attname <> 'stripe'
          """, [.text(table.name)])
        #expect(Set(try rows.map { try $0.text("name") }) == Set(table.columns.map(\.name)), "\(table.name)")
        for row in rows {
          #expect(["bigint", "text", "bytea"].contains(try row.text("type")), "\(table.name): \(row)")
        }
      }
    }
  }

  @Test("a filled database goes there and back, and is equal table by table")
  func thereAndBack() throws {
    try OpenRecords.refuseRecords(of: tables, in: transfer)
    let before = try digests(file)
    let there = try RecordCopy(of: tables, from: file).fill(transfer, marking: mark)
    #expect(Dictionary(uniqueKeysWithValues: there.map { ($0.table, $0.content) }) == before)
    #expect(try digests(.server(transfer)) == before)
    let back = try RecordCopy(of: tables, from: .server(transfer)).makeFile(directory.path("b.db"))
    #expect(back == there)
    #expect(try digests(.file(directory.path("b.db"))) == before)
    let numbers = try ["a.db", "b.db"].map { name in
      try Database.inspect(directory.path(name)) { try SQLDialect.lastNumbers(in: $0) }
    }
    #expect(numbers[0]["feeds"] == 1898)
    #expect(numbers[1] == numbers[0])
    let error = #expect(throws: RecordTransferError.self) {
      try OpenRecords.refuseRecords(of: tables, in: transfer)
    }
    #expect(error?.code == .notEmpty)
  }

  @Test("counts that several connections have kept come as their sums")
  func stripes() throws {
    _ = try RecordCopy(of: tables, from: file).fill(transfer, marking: mark)
    let database = try Database.open(
      address, schema: PostgreSQLSchema.definition, options: PostgreSQLOptions(writers: 1, readers: 1))
    try database.writeBlocking(locking: []) { connection in
      try connection.execute("DELETE FROM counters")
      try connection.execute("DELETE FROM outbox_counts")
      try connection.execute(
        "INSERT INTO counters (name, stripe, value) VALUES ('grants Sandbox granted', 1, 5), ('grants Sandbox granted', 63, -2), ('unconfirmed proofs', 2, 3), ('unconfirmed proofs', 3, -3)"
      )
      try connection.execute(
        "INSERT INTO outbox_counts (store, kind, stripe, waiting, parked) VALUES ('s', 'k', 1, 1, -1), ('s', 'k', 2, 0, 2)"
      )
    }
    database.close()
    _ = try RecordCopy(of: tables, from: .server(transfer)).makeFile(directory.path("b.db"))
    let (counters, calls) = try Database.inspect(directory.path("b.db")) { connection in
      (
        try connection.query("SELECT name, value FROM counters WHERE value <> 0").map(\.values),
        try connection.query(
          "SELECT store, kind, waiting, parked FROM outbox_counts WHERE waiting <> 0 OR parked <> 0"
        ).map(\.values)
      )
    }
    #expect(counters == [["grants Sandbox granted", 3]])
    #expect(calls == [["s", "k", 1, 1]])
  }

  @Test("numbers go on behind those that were given, on the server and in the file")
  func numbers() throws {
    _ = try RecordCopy(of: tables, from: file).fill(transfer, marking: mark)
    let database = try Database.open(
      address, schema: PostgreSQLSchema.definition, options: PostgreSQLOptions(writers: 1, readers: 1))
    let key = NumberedKey(of: "feeds", column: "number")
    let insertion =
      "INSERT INTO feeds (number, device, store, epoch, sequence, used) VALUES (?, ?, 's', 0, 0, 0)"
    let given = try database.writeBlocking(locking: []) { connection in
      let numbers = [
        try connection.insert(insertion, ["new"], numberedBy: key),
        try connection.insert(
          "INSERT INTO audit (id, at, actor, action, subject) VALUES (?, 0, 'ada', 'a', 'b')", [],
          numberedBy: NumberedKey(of: "audit", column: "id")),
        try connection.insertNumbered("INSERT INTO runs (started) VALUES (0)", [], answering: "id"),
      ]
      try connection.execute("DELETE FROM feeds WHERE device = 'new'")
      return numbers
    }
    database.close()
    // 300 rows have the numbers 1, 4, …, 898, and 1000 feeds are gone.
    #expect(given == [1899, 899, 899])
    _ = try RecordCopy(of: tables, from: .server(transfer)).makeFile(directory.path("b.db"))
    let back = try Database.open(path: directory.path("b.db"), migrations: Migrations.all)
    defer { back.close() }
    let next = try back.writeBlocking(locking: [.everything]) {
      try $0.insert(insertion, ["newer"], numberedBy: key)
    }
    #expect(next == 1900)
  }

  @Test(
    "a copy that is broken off at any table, or while it is compared, leaves nothing, and one behind it brings all"
  )
  func brokenOff() throws {
    try SampleRecords.make(directory.path("few.db"), rows: 3)
    let file = OpenRecords.file(directory.path("few.db"))
    let before = try digests(file)
    for step in [RecordCopy.Progress.Step.copying, .indexing, .comparing] {
      for table in step == .indexing ? [""] : tables.map(\.name) {
        let copy = RecordCopy(of: tables, from: file) { progress in
          if progress.table == table, progress.step == step { throw BrokenOff() }
        }
        #expect(throws: BrokenOff.self) { try copy.fill(transfer, marking: mark) }
        try OpenRecords.refuseRecords(of: tables, in: transfer)
        #expect(try transfer.mark() == nil)
      }
    }
    _ = try RecordCopy(of: tables, from: file).fill(transfer, marking: mark)
    #expect(try digests(.server(transfer)) == before)
    #expect(try transfer.mark() == mark)
  }

  @Test("a connection that is lost in the middle leaves nothing")
  func lost() throws {
    let name = "pullbox-server move \(UUID().uuidString)"
    let other = try TableTransfer(address, application: name)
    let copy = RecordCopy(of: tables, from: file) { progress in
      guard progress.table == "outbox" else { return }
      _ = try transfer.read {
        try $0.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ?", [.text(name)])
      }
    }
    let error = #expect(throws: DatabaseError.self) { try copy.fill(other, marking: mark) }
    #expect(error?.code == .unavailable)
    try OpenRecords.refuseRecords(of: tables, in: transfer)
    #expect(try transfer.mark() == nil)
  }

  @Test(
    "a file that is made of PostgreSQL's records and broken off is no database that counts, and the records stay"
  )
  func fileBrokenOff() throws {
    _ = try RecordCopy(of: tables, from: file).fill(transfer, marking: mark)
    let before = try digests(.server(transfer))
    let copy = RecordCopy(of: tables, from: .server(transfer)) { progress in
      if progress.table == "outbox" { throw BrokenOff() }
    }
    #expect(throws: BrokenOff.self) { try copy.makeFile(directory.path("b.db")) }
    #expect(try digests(.server(transfer)) == before)
    #expect(
      try RecordCopy(of: tables, from: .server(transfer)).makeFile(directory.path("c.db")).count
        == tables.count)
  }

  @Test("rows that are others than those that were copied are refused before the commit")
  func wrongRows() throws {
    // A function of the server's own that the copy does not know of: texts change as they come.
    let error = #expect(throws: RecordTransferError.self) {
      try file.read { connection in
        let copy = RecordCopy(of: tables, from: file)
        var summaries: [RecordCopy.Summary] = []
        try transfer.fill(tables.map(\.name), marking: mark) { filling in
          for table in tables {
            var pages = RecordPages(of: table)
            var hasher = RecordHasher()
            try filling.copy(into: table.name, columns: table.columns.map(\.name)) {
              guard let page = try pages.next(in: connection) else { return nil }
              hasher.add(page)
              guard table.name == "manifests" else { return page }
              return page.map { Row(columns: $0.columns, values: [$0.values[0], .blob([1])]) }
            }
            summaries.append(.init(table: table.name, content: hasher.finalize()))
          }
        } comparing: {
          try copy.compare(summaries, in: $0)
        }
      }
    }
    #expect(error?.code == .differs)
    #expect(error?.message.hasPrefix("the table manifests is not what was copied: 300 rows") == true)
    try OpenRecords.refuseRecords(of: tables, in: transfer)
  }

  @Test("a text that PostgreSQL cannot hold is named before anything is written")
  func unstorable() throws {
    try file.refuseUnstorableTexts(of: tables)
    let database = try Database.open(path: directory.path("a.db"), migrations: Migrations.all)
    try database.writeBlocking(locking: [.everything]) {
      try $0.execute(
        "UPDATE products SET document = ? WHERE id = (SELECT min(id) FROM products)", [.text("{\u{0}}")])
    }
    database.close()
    let error = #expect(throws: RecordTransferError.self) { try file.refuseUnstorableTexts(of: tables) }
    #expect(error?.code == .unstorable)
    #expect(error?.message.contains("column document of products, where id is '") == true)
    try OpenRecords.server(transfer).refuseUnstorableTexts(of: tables)
  }
}
