import AgentTesting
import Commerce
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

/// The recovery of an agent.sqlite that another program, or a device, has damaged.
@Suite struct DatabaseRecoveryTests {
  private let directory: TemporaryDirectory
  private let lines = Locked<[String]>([])
  private let transaction: TransactionIdentifier
  private let product: ProductIdentifier

  init() throws {
    directory = try TemporaryDirectory()
    transaction = try #require(TransactionIdentifier("2000000000000001"))
    product = try #require(ProductIdentifier(FixturePackage.product))
  }

  private var path: String { directory.path("agent.sqlite") }
  private var log: Log {
    Log(level: .error, format: .json) { [lines] line in
      lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
    }
  }

  private let now = Timestamp(millisecondsSinceEpoch: 0)

  private func open() throws -> (database: AgentDatabase, isNewAfterDamage: Bool) {
    try AgentDatabase.open(path, log: log, at: now)
  }

  /// A database of several pages, closed.
  private func fill() throws {
    let database = try open().database
    try database.save(
      TransactionRecord(identifier: transaction, product: product, storeState: .purchased), now: now)
    for _ in 0..<200 { _ = try database.createDownload(for: transaction, product: product, now: now) }
    database.close()
  }

  private func overwrite(_ bytes: [UInt8], at offset: ByteCount) throws {
    let file = try FileDescriptor.open(path, .readWrite)
    try file.write(bytes.span, at: offset)
  }

  @Test(
    "a database that is garbage, cut short or has a damaged page is kept aside and started anew (D9, K18)",
    arguments: ["garbage", "cut", "page"])
  func damaged(how: String) throws {
    try fill()
    let length = try #require(try FileSystem.status(of: path)).length
    try #require(length > .kibibytes(16))
    switch how {
    case "garbage":
      try overwrite(FixturePackage.noise(Int(length.rawValue), seed: 3), at: .zero)
    case "cut":
      let file = try FileDescriptor.open(path, .readWrite)
      try file.truncate(to: length - .kibibytes(6))
    default:
      try overwrite(FixturePackage.noise(4096, seed: 4), at: length - .kibibytes(8))
    }
    let damagedBytes = try FileSystem.read(path, upTo: .mebibytes(64))
    let opened = try open()
    #expect(opened.isNewAfterDamage)
    #expect(try opened.database.unfinishedTransactions().isEmpty && opened.database.allDownloads().isEmpty)
    _ = try opened.database.createDownload(for: transaction, product: product, now: now)
    let kept = directory.path("agent.sqlite.damaged-19700101T000000.000Z")
    #expect(try FileSystem.read(kept, upTo: .mebibytes(64)) == damagedBytes)
    #expect(lines.current.contains { $0.contains("damaged") && $0.contains(kept) })
    opened.database.close()
    #expect(try !open().isNewAfterDamage)
  }

  @Test("a whole database is opened as it is")
  func whole() throws {
    try fill()
    let opened = try open()
    #expect(!opened.isNewAfterDamage && lines.current.isEmpty)
    #expect(try opened.database.allDownloads().count == 200)
  }

  @Test(
    "a row that cannot be read costs that row, which is logged, and its transaction plans again (D9, K18)")
  func row() throws {
    let database = try open().database
    let other = try #require(TransactionIdentifier("2000000000000002"))
    for identifier in [transaction, other] {
      var record = TransactionRecord(identifier: identifier, product: product, storeState: .purchased)
      record.machine = TransactionMachine(step: .delivering)
      try database.save(record, now: now)
      _ = try database.createDownload(for: identifier, product: product, now: now)
    }
    try database.database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        "UPDATE downloads SET terms = '{' WHERE transaction_id = ?", [.text("2000000000000001")])
      try connection.execute(
        "INSERT INTO transactions (id, product, store_state, step, tries) VALUES ('3', 'p', 'eaten', 'x', 0)")
      try connection.execute(
        """
        INSERT INTO library (product, version, path, digest, length, placed_at)
        VALUES ('p', 'no version', '/p', 'no digest', 0, 0)
        """)
    }
    #expect(try database.allDownloads().map(\.transaction) == [other])
    #expect(try database.libraryRecords().isEmpty)
    let steps = try database.unfinishedTransactions().map(\.machine.step)
    #expect(steps == [.planning, .delivering])
    #expect(lines.current.count == 3)
    // They are gone for good, and are not told again.
    #expect(try database.allDownloads().count == 1 && database.unfinishedTransactions().count == 2)
    #expect(lines.current.count == 3)
    #expect(try database.createDownloads(for: transaction, products: [product], now: now).count == 1)
  }

  @Test("a row that cannot be read costs that row, whatever it is read for (D9, K18)")
  func rowsElsewhere() throws {
    let database = try open().database
    let digest = SHA256Digest.of([1])
    try database.database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        INSERT INTO content_jobs (id, digest, phase, state, reason, failures, renewals, violations, grant_id, terms,
          bytes_verified, bytes_received, bytes_wasted)
        VALUES ('0123456789abcdef', ?, 'transfer', 'waiting', 'queued', 0, 0, 0, 'g', '{', 0, 0, 0)
        """, [.text(digest.hexadecimal)])
      try connection.execute(
        """
        INSERT INTO transactions (id, product, store_state, step, tries, ended_at)
        VALUES ('3', 'p', 'eaten', 'finished', 0, 1), ('4', 'com.example.p', 'purchased', 'finished', 0, 1)
        """)
      try connection.execute(
        """
        INSERT INTO library (product, version, path, digest, length, placed_at)
        VALUES ('com.example.p', '1.0', '/p', 'none', 0, 0), ('com.example.q', 'none', '/q', ?, 0, 0)
        """, [.text(digest.hexadecimal)])
    }
    #expect(try database.contentJobs().isEmpty)
    let page = try database.transactions(.over, after: nil, limit: 10)
    #expect(page.map(\.record.identifier.description) == ["4"])
    #expect(try database.transaction(try #require(TransactionIdentifier("3"))) == nil)
    #expect(try database.libraryRecords(digest: digest).isEmpty)
    let version = try #require(ContentVersion("1.0"))
    let product = try #require(ProductIdentifier("com.example.p"))
    #expect(try database.libraryRecord(of: product, version: version) == nil)
    #expect(lines.current.count == 4)
    #expect(try database.contentJobs().isEmpty && database.libraryRecords().isEmpty)
    #expect(lines.current.count == 4)
  }

  @Test("a database in which nothing was written down is that of a first start that was cut off")
  func blank() throws {
    #expect(try AgentDatabase.isBlank(path))
    let database = try open().database
    database.close()
    #expect(try AgentDatabase.isUsed(path) && AgentDatabase.isBlank(path))
    let used = try open().database
    try used.expect(.identified("a-library"))
    used.close()
    #expect(try !AgentDatabase.isBlank(path))
  }

  @Test("a database with a transaction, or one that cannot be read, is not blank")
  func notBlank() throws {
    try fill()
    #expect(try !AgentDatabase.isBlank(path))
    try overwrite(Array(repeating: 0x55, count: 8192), at: .zero)
    #expect(try !AgentDatabase.isBlank(path))
  }

  @Test("a missing or an empty file is a new database, and was not used")
  func new() throws {
    #expect(try !AgentDatabase.isUsed(path))
    let nothing: [UInt8] = []
    try DurableFile.write(nothing.span, to: path)
    #expect(try !AgentDatabase.isUsed(path))
    #expect(try !open().isNewAfterDamage && AgentDatabase.isUsed(path))
  }
}
