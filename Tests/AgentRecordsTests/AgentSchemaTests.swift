import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Database
import Files
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords

/// docs/formats/agent-state.md: the records of the agents before this one, and of those after it.
@Suite("The agent's records of earlier and of later versions")
struct AgentSchemaTests {
  private let directory: TemporaryDirectory
  private let now = Timestamp(millisecondsSinceEpoch: 1_795_249_800_000)

  /// The schema of the tests' first fixture that has its tables as they are now, and those behind it that are not the newest.
  private static let schemas = 7..<AgentDatabase.migrations.count

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func path(_ name: String) -> String { directory.path(name) }

  /// Today's records with a row in each table, closed.
  private func fill(_ name: String) throws {
    let database = try AgentDatabase(path: path(name))
    defer { database.close() }
    let package = try FixturePackage.inSections()
    let product = package.manifest.product
    let key = SigningKey().verificationKey
    let transaction = try #require(TransactionIdentifier("2000000000000001"))
    try database.save(
      TransactionRecord(identifier: transaction, product: product, storeState: .purchased), now: now)
    var download = try #require(
      try database.createDownloads(for: transaction, products: [product], now: now).first)
    download.grant = GrantIdentifier("00112233445566778899aabbccddeeff")
    download.terms = package.terms
    try database.save(download)
    try database.save(
      ContentJobRecord(identifier: .random(), grant: try #require(download.grant), terms: package.terms))
    try database.save(
      LibraryRecord(package.manifest, placedAt: now, sizeOnDisk: package.manifest.unpackedLength), stamps: nil
    )
    try database.noteChoice(true, of: try #require(SectionTag("hires")), in: product)
    try database.expect(.identified("volume"))
    _ = try database.noteOffered([product: package.manifest.version])
    try database.expectListing(of: product)
    let owned = KnownOwnership(isOwned: true, because: "purchased", until: nil, asOf: now)
    var time = HighestTime()
    time.note(HighestTime.Reading(wall: now, boot: "boot", uptime: .seconds(7)))
    try database.save(
      license: "a.b.c", of: "https://delivery.example", trust: LicenseTrust(kept: [key]), time: time,
      [product: owned])
    let progress = ReadingProgress(modified: now, device: .init(id: "this"), page: 1)
    _ = try database.put(
      ReadingRecord(
        product: product, progress: progress, version: package.manifest.version, pageName: "002.jpg")
    ) { _ in }
    try database.database.writeBlocking(locking: [.everything]) { connection in
      for values in [
        "publisher_keys VALUES ('\(product)', 'key')", "services VALUES ('report-microseconds', 77)",
        "feed VALUES ('cursor')", "budget_periods VALUES (20261101, 1, 2, 1, 0, 0)",
        "publications VALUES ('com.example.magazine', 'Magazine', 'en')",
        #"arrivals VALUES ('\#(product)', '{"kind":"issue-available","product":"\#(product)"}', 1)"#,
      ] {
        try connection.execute("INSERT INTO \(values)")
      }
    }
  }

  /// The columns of each table, without those of SQLite itself.
  private func columns(_ connection: borrowing Connection) throws -> [String: [String]] {
    var found: [String: [String]] = [:]
    for row in try connection.query(
      """
      SELECT t.name AS name, c.name AS column FROM sqlite_master t JOIN pragma_table_info(t.name) c
      WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid
      """)
    {
      found[try row.text("name"), default: []].append(try row.text("column"))
    }
    return found
  }

  /// The rows of the table as SQL writes their values, in these columns.
  private func rows(
    of table: String, _ columns: [String], _ connection: borrowing Connection
  ) throws -> Set<String> {
    let values = columns.map { "quote(\($0))" }.joined(separator: " || ', ' || ")
    return Set(try connection.query("SELECT \(values) AS line FROM \(table)").map { try $0.text("line") })
  }

  private func rows(
    of columns: [String: [String]], in database: Database
  ) throws -> [String: Set<String>] {
    try database.readBlocking { connection in
      var found: [String: Set<String>] = [:]
      for (table, names) in columns { found[table] = try rows(of: table, names, connection) }
      return found
    }
  }

  @Test("what an agent of an earlier schema left is here whole, row by row, and is read", arguments: schemas)
  func earlier(version: Int) throws {
    try fill("today")
    let today = try Database.open(path: path("today"), migrations: AgentDatabase.migrations)
    defer { today.close() }
    let before = try Database.open(
      path: path("agent.sqlite"), migrations: Array(AgentDatabase.migrations.prefix(version)))
    let kept = try before.readBlocking { try columns($0) }
    let expected = try rows(of: kept, in: today)
    #expect(expected.allSatisfy { $0.value.count == 1 }, "\(expected.filter { $0.value.isEmpty }.keys)")
    try before.writeBlocking(locking: [.everything]) { connection in
      for (table, names) in kept {
        for row in expected[table] ?? [] {
          try connection.execute(
            "INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(row))")
        }
      }
    }
    before.close()

    let lines = Locked<[String]>([])
    let log = Log(level: .warning, format: .json) { line in
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
    let opened = try AgentDatabase.open(path("agent.sqlite"), log: log, at: now)
    let database = opened.database
    defer { database.close() }
    #expect(!opened.isNewAfterDamage)
    #expect(try rows(of: kept, in: database.database) == expected)
    #expect(try database.allDownloads().map(\.terms?.version.description) == ["1.0"])
    #expect(try database.unfinishedTransactions().count == 1)
    #expect(try database.contentJobs().count == 1)
    #expect(try database.libraryRecords().map(\.version.description) == ["1.0"])
    if kept["ownership"] != nil { #expect(try database.ownership().count == 1) }
    if kept["reading"] != nil { #expect(try database.readings(limit: 9).map(\.progress.page) == [1]) }
    if kept["license_keys"] != nil {
      let trust = try database.licenseTrust(in: "https://delivery.example")
      #expect(trust.keys.count == 1 && trust.retired.isEmpty)
    }
    #expect(lines.current == [])
  }

  @Test(
    "an agent of an earlier schema refuses today's records, and they are as they were", arguments: schemas)
  func refused(version: Int) throws {
    try fill("agent.sqlite")
    func all() throws -> [String: Set<String>] {
      let database = try Database.open(path: path("agent.sqlite"), migrations: AgentDatabase.migrations)
      defer { database.close() }
      return try rows(of: try database.readBlocking { try columns($0) }, in: database)
    }
    let before = try all()
    let error = #expect(throws: DatabaseError.self) {
      try Database.open(
        path: path("agent.sqlite"), migrations: Array(AgentDatabase.migrations.prefix(version)))
    }
    #expect(error?.code == .newerSchema)
    let latest = AgentDatabase.migrations.count
    #expect(error?.message == "its version is \(latest), this program knows \(version)")
    #expect(try all() == before)
  }

  @Test("this agent refuses the records of a later one, and does not take them for damaged")
  func later() throws {
    try fill("agent.sqlite")
    let latest = AgentDatabase.migrations.count
    let next = Migration("of tomorrow", script: "ALTER TABLE downloads ADD COLUMN tomorrow TEXT;")
    try Database.open(path: path("agent.sqlite"), migrations: AgentDatabase.migrations + [next]).close()
    for _ in 0..<2 {
      let error = #expect(throws: DatabaseError.self) {
        try AgentDatabase.open(path("agent.sqlite"), log: Log(level: .error), at: now)
      }
      #expect(error?.code == .newerSchema)
      #expect(error?.message == "its version is \(latest + 1), this program knows \(latest)")
    }
    #expect(try FileSystem.list(directory.path("")).filter { $0.name.contains("damaged") }.isEmpty)
    let kept = try Database.open(path: path("agent.sqlite"), migrations: AgentDatabase.migrations + [next])
    defer { kept.close() }
    #expect(try kept.readBlocking { try $0.query("SELECT tomorrow FROM downloads").count } == 1)
  }
}
