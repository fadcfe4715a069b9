import CoreTypes
import Database
import Dispatch
import Files
import PullboxTesting
import Synchronization
import SystemCalls
import Testing

@Suite("Writes that share a commit")
struct GroupCommitTests {
  private struct Refusal: Error, Equatable {}

  private let directory: TemporaryDirectory
  private let migrations = [
    Migration(
      "rows",
      script: """
        CREATE TABLE rows (id INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT;
        CREATE TABLE parts (row INTEGER NOT NULL REFERENCES rows (id) DEFERRABLE INITIALLY DEFERRED) STRICT;
        """)
  ]

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func open(_ options: Database.Options = .init(durability: .normal)) throws -> Database {
    try Database.open(path: directory.path("test.sqlite"), migrations: migrations, options: options)
  }

  private func ids(_ database: Database) async throws -> [Int64] {
    try await database.read { connection in
      try connection.query("SELECT id FROM rows ORDER BY id").map { try $0.integer("id") }
    }
  }

  /// Runs one body for each number, all of them queued while the writer is held, so that they share a commit.
  private func together(
    _ numbers: Range<Int>, in database: Database,
    _ body: @escaping @Sendable (Int) async throws -> Void
  ) async throws {
    let (begun, gate) = (Signal(), Gate())
    try await withThrowingTaskGroup { group in
      defer { gate.open() }
      group.addTask {
        // It shares the commit of the others, and its end.
        _ = try? await database.write(locking: [DatabaseLock(kind: "gate", name: "")]) { _ in
          begun.set()
          gate.wait()
        }
      }
      await begun.wait()
      for number in numbers {
        group.addTask { try await body(number) }
        while database.waiting.writes < number - numbers.lowerBound + 1 { await Task.yield() }
      }
      gate.open()
      try await group.waitForAll()
    }
  }

  @Test("one that throws leaves nothing of itself, and takes none of the others with it")
  func refusals()
    async throws
  {
    let database = try open()
    let refused = Mutex(0)
    try await together(0..<300, in: database) { number in
      do {
        try await database.write(locking: []) { connection in
          try connection.execute("INSERT INTO rows VALUES (?, 'a')", [.integer(number)])
          if number % 3 == 0 { throw Refusal() }
        }
      } catch is Refusal {
        refused.withLock { $0 += 1 }
      }
    }
    #expect(refused.withLock { $0 } == 100)
    #expect(try await ids(database) == (0..<300).filter { $0 % 3 != 0 })
  }

  @Test("what ran before one that fails runs again, and each is answered with its own value")
  func repetition() async throws {
    let database = try open()
    let runs = Mutex<[Int: Int]>([:])
    let values = Mutex<[Int: Int64]>([:])
    try await together(0..<10, in: database) { number in
      do {
        let value = try await database.write(locking: []) { connection in
          // Counts runs for this test; what is written depends on nothing of it.
          runs.withLock { $0[number, default: 0] += 1 }
          if number == 6 || number == 8 {
            try connection.execute("INSERT INTO rows VALUES (?, 'a')", [.integer(number)])
            throw Refusal()
          }
          // Nothing is written by then: there is nothing to undo.
          if number == 2 { throw Refusal() }
          try connection.execute("INSERT INTO rows (content) VALUES ('a')")
          return connection.lastInsertedRowID
        }
        values.withLock { $0[number] = value }
      } catch is Refusal {}
    }
    #expect(try await ids(database) == Array(1...7))
    #expect(values.withLock { $0 } == [0: 1, 1: 2, 3: 3, 4: 4, 5: 5, 7: 6, 9: 7])
    // The first that failed having written something, in a savepoint then, in which the next one runs at once.
    #expect(runs.withLock { [$0[6], $0[8]] } == [2, 1])
  }

  @Test("one sees what those before it in the same commit wrote, and nothing of one that threw")
  func order() async throws {
    let database = try open()
    let counts = Mutex<[Int64]>([])
    try await together(0..<100, in: database) { number in
      let count = try? await database.write(locking: []) { connection in
        try connection.execute("INSERT INTO rows (content) VALUES ('a')")
        if number % 2 == 0 { throw Refusal() }
        return try connection.first("SELECT count(*) AS n FROM rows")?.integer("n") ?? 0
      }
      if let count { counts.withLock { $0.append(count) } }
    }
    #expect(counts.withLock { $0.sorted() } == Array(1...50))
  }

  @Test("an error that ends the whole transaction is that of its own body: the others are written")
  func fullDisk() async throws {
    let database = try open()
    // Pages of the file as it is: the next one that is needed is one too many.
    try await database.write(locking: []) { connection in
      let pages = try connection.first("PRAGMA page_count")?.integer("page_count") ?? 0
      _ = try connection.query("PRAGMA max_page_count = \(pages)")
    }
    let failed = Mutex<[Int: DatabaseError.Code]>([:])
    try await together(0..<20, in: database) { number in
      let content = String(repeating: "x", count: number == 7 ? 100_000 : 10)
      do {
        try await database.write(locking: []) { connection in
          try connection.execute(
            "INSERT INTO rows VALUES (?, ?)", [.integer(number), .text(content)])
        }
      } catch let error as DatabaseError {
        failed.withLock { $0[number] = error.code }
      }
    }
    #expect(failed.withLock { $0 } == [7: .outOfSpace])
    #expect(try await ids(database) == (0..<20).filter { $0 != 7 })
    await #expect(throws: DatabaseError.self) {
      try await database.write(locking: []) {
        try $0.execute(
          "INSERT INTO rows VALUES (99, ?)", [.text(String(repeating: "x", count: 100_000))])
      }
    }
    #expect(database.lastWriteFailure?.code == .outOfSpace)
    try await database.write(locking: []) { connection in
      _ = try connection.query("PRAGMA max_page_count = 1000000")
    }
    try await database.checkWritable()
    #expect(database.lastWriteFailure == nil)
    try await database.write(locking: []) {
      try $0.execute(
        "INSERT INTO rows VALUES (99, ?)", [.text(String(repeating: "x", count: 100_000))])
    }
  }

  @Test("a file that may not be written is told, and noticed by the check of readiness") func readOnly()
    async throws
  {
    let database = try open()
    try await database.check()
    // From the next transaction on.
    try await database.write(locking: []) { _ = try $0.query("PRAGMA query_only = ON") }
    let error = await #expect(throws: DatabaseError.self) {
      try await database.write(locking: []) { try $0.execute("INSERT INTO rows VALUES (1, 'a')") }
    }
    #expect(error?.code == .readOnly)
    #expect(error?.temporaryFailure == .storage)
    #expect(database.lastWriteFailure?.code == .readOnly)
    await #expect(throws: DatabaseError.self) { try await database.check() }
    #expect(try await ids(database).isEmpty)
  }

  @Test("a commit that fails is the error of the body that broke it, and no row of that stays")
  func commitFails() async throws {
    let database = try open()
    let failed = Mutex<[Int]>([])
    try await together(0..<30, in: database) { number in
      do {
        try await database.write(locking: []) { connection in
          try connection.execute("INSERT INTO rows VALUES (?, 'a')", [.integer(number)])
          // Nothing of it is noticed before the commit.
          if number == 11 { try connection.execute("INSERT INTO parts VALUES (1000)") }
        }
      } catch let error as DatabaseError {
        #expect(error.isForeignKeyViolation)
        failed.withLock { $0.append(number) }
      }
    }
    #expect(failed.withLock { $0 } == [11])
    #expect(try await ids(database) == (0..<30).filter { $0 != 11 })
  }

  @Test(
    "a commit that the disk refuses is the error of every body that shares it, and no row of them is there",
    .enabled(if: SmallDisk.isAvailable))
  func commitOnFullDisk() async throws {
    let disk = try SmallDisk(.mebibytes(2))
    let database = try Database.open(path: disk.path("test.sqlite"), migrations: migrations)
    let applied = Mutex(0)
    try disk.fill()
    let errors = Mutex<[DatabaseError.Code]>([])
    // More than one statement writes to the log only when the transaction is committed.
    try await together(0..<10, in: database) { number in
      do {
        try await database.write(locking: []) { connection in
          try connection.execute(
            "INSERT INTO rows VALUES (?, ?)",
            [.integer(number), .text(String(repeating: "x", count: 90_000))])
        } then: { _ in
          applied.withLock { $0 += 1 }
        }
      } catch let error as DatabaseError {
        errors.withLock { $0.append(error.code) }
      }
    }
    #expect(errors.withLock { $0 } == [DatabaseError.Code](repeating: .outOfSpace, count: 10))
    #expect(applied.withLock { $0 } == 0)
    #expect(try await ids(database).isEmpty)
    #expect(database.lastWriteFailure?.code == .outOfSpace)
    try disk.clear()
    try await database.write(locking: []) { try $0.execute("INSERT INTO rows VALUES (1, 'a')") }
    #expect(try await ids(database) == [1])
    #expect(database.lastWriteFailure == nil)
    database.close()
  }

  @Test("effects happen in the order of commits, each before the answer") func effects()
    async throws
  {
    let database = try open()
    let seen = Mutex<[Int64]>([])
    try await together(0..<500, in: database) { number in
      let id = try? await database.write(locking: []) { connection in
        try connection.execute("INSERT INTO rows (content) VALUES ('a')")
        if number % 5 == 0 { throw Refusal() }
        return connection.lastInsertedRowID
      } then: { id in
        seen.withLock { $0.append(id) }
      }
      if let id { #expect(seen.withLock { $0.contains(id) }) }
    }
    #expect(seen.withLock { $0 } == Array(1...400))
  }

  @Test(
    "a read that begins after a write was answered sees it, on every connection",
    arguments: [Database.Options.Durability.normal, .full])
  func readYourWrites(_ durability: Database.Options.Durability) async throws {
    let database = try open(.init(durability: durability, readers: 4))
    try await withThrowingTaskGroup { group in
      for task in 0..<8 {
        group.addTask {
          for number in 0..<50 {
            let id = task * 1000 + number
            try await database.write(locking: []) {
              try $0.execute("INSERT INTO rows VALUES (?, 'a')", [.integer(id)])
            }
            let row = try await database.read {
              try $0.first("SELECT id FROM rows WHERE id = ?", [.integer(id)])
            }
            #expect(row != nil)
          }
        }
      }
      try await group.waitForAll()
    }
  }

  @Test("a read sees one state from its first statement to its last, whatever is written meanwhile")
  func snapshot() async throws {
    let database = try open(.init(durability: .normal, readers: 2))
    let (begun, gate) = (Signal(), Gate())
    async let counts = database.read { connection -> [Int64?] in
      let sql = "SELECT count(*) AS n FROM rows"
      let before = try connection.first(sql)?.integer("n")
      begun.set()
      gate.wait()
      return [before, try connection.first(sql)?.integer("n")]
    }
    await begun.wait()
    try await database.write(locking: []) { try $0.execute("INSERT INTO rows VALUES (1, 'a')") }
    #expect(try await ids(database) == [1])
    gate.open()
    #expect(try await counts == [0, 0])
  }

  @Test("a write of more pages than are kept in memory is read meanwhile, and afterwards by others")
  func spilled() async throws {
    let options = Database.Options(readers: 2, cache: .kibibytes(64), log: .kibibytes(256))
    let database = try open(options)
    let content = String(repeating: "a", count: 6000)
    for round in 0..<6 {
      let count = try await database.write(locking: []) { connection in
        for number in 0..<300 {
          try connection.execute(
            "INSERT INTO rows VALUES (?, ?)", [.integer(round * 1000 + number), .text(content)])
        }
        // Half of it is changed again, wherever it lies by now.
        try connection.execute("UPDATE rows SET content = content || 'b' WHERE id % 2 = 0")
        if round == 3 { try connection.execute("DELETE FROM rows WHERE id < 2000") }
        return try connection.first("SELECT count(*) AS n FROM rows WHERE content LIKE '%b'")?.integer("n")
      }
      let seen = try await database.read { connection in
        try connection.first("SELECT count(*) AS n FROM rows WHERE content LIKE '%b'")?.integer("n")
      }
      #expect(seen == count)
    }
    let expected = (2..<6).flatMap { round in (0..<300).map { Int64(round * 1000 + $0) } }
    #expect(try await ids(database) == expected)
    let verdict = try await database.read {
      try $0.first("PRAGMA integrity_check")?.text("integrity_check")
    }
    #expect(verdict == "ok")
  }

  /// On a disk of 8 MiB, with one reader and next to nothing of the database in memory.
  private func open(on disk: SmallDisk, log: ByteCount) throws -> Database {
    let options = Database.Options(readers: 1, cache: .kibibytes(64), log: log)
    return try Database.open(path: disk.path("test.sqlite"), migrations: migrations, options: options)
  }

  private func insert(_ numbers: Range<Int>, with connection: borrowing Connection) throws {
    let content = String(repeating: "a", count: 6000)
    for number in numbers {
      try connection.execute("INSERT INTO rows VALUES (?, ?)", [.integer(number), .text(content)])
    }
  }

  @Test(
    "what of the log met a full disk in a statement that was undone is written by the commit, or there is none",
    .enabled(if: SmallDisk.isAvailable), arguments: [true, false])
  func spilledOntoFullDisk(isCleared: Bool) async throws {
    let disk = try SmallDisk(.mebibytes(8))
    let database = try open(on: disk, log: .kibibytes(256))
    let isCommitted: Bool
    do {
      try await database.write(locking: []) { connection in
        try insert(0..<100, with: connection)
        try disk.fill()
        // SQLite undoes this statement alone, and the body goes on.
        let error = #expect(throws: DatabaseError.self) {
          try connection.execute("INSERT INTO rows SELECT id + 1000, content || 'b' FROM rows")
        }
        #expect(error?.code == .outOfSpace)
        if isCleared { try disk.clear() }
      }
      isCommitted = true
    } catch is DatabaseError {
      isCommitted = false
    }
    #expect(isCommitted == isCleared)
    if !isCleared { try disk.clear() }
    #expect(try await ids(database) == (isCommitted ? (0..<100).map { Int64($0) } : []))
    try await database.write(locking: []) { try $0.execute("INSERT INTO rows VALUES (1000, 'b')") }
    let verdict = try await database.read {
      try $0.first("PRAGMA integrity_check")?.text("integrity_check")
    }
    #expect(verdict == "ok")
  }

  @Test(
    "a write too large for a full disk takes no room from the next one, for which there is some",
    .enabled(if: SmallDisk.isAvailable))
  func smallAfterLargeOnFullDisk() async throws {
    let disk = try SmallDisk(.mebibytes(8))
    let database = try open(on: disk, log: .kibibytes(64))
    // Makes the log long; it begins anew with the next write.
    try await database.write(locking: []) { try insert(0..<200, with: $0) }
    try await database.write(locking: []) { try $0.execute("INSERT INTO rows VALUES (1000, 'a')") }
    try disk.fill()
    await #expect(throws: DatabaseError.self) {
      try await database.write(locking: []) { try insert(2000..<2600, with: $0) }
    }
    try await database.write(locking: []) { try $0.execute("UPDATE rows SET content = 'b' WHERE id = 1000") }
    #expect(try await ids(database) == (0..<200).map { Int64($0) } + [1000])
  }

  @Test(
    "a commit that was refused for want of space is not in the files later on",
    .enabled(if: SmallDisk.isAvailable))
  func refusedStaysAway() async throws {
    let disk = try SmallDisk(.mebibytes(8))
    let database = try open(on: disk, log: .mebibytes(64))
    try await database.write(locking: []) { try insert(0..<100, with: $0) }
    try disk.fill()
    await #expect(throws: DatabaseError.self) {
      try await database.write(locking: []) { try $0.execute("INSERT INTO rows VALUES (1000, 'a')") }
    }
    try disk.clear()
    // Reads what stands in the log.
    let length = try await database.write(locking: []) { connection in
      try connection.first("SELECT sum(length(content)) AS n FROM rows")?.integer("n")
    }
    #expect(length == 600_000)
    // The files as the kernel has them are what a killed process leaves.
    let copies = try TemporaryDirectory()
    for name in ["test.sqlite", "test.sqlite-wal"] {
      let bytes = try FileSystem.read(disk.path(name), upTo: .mebibytes(64))
      try DurableFile.write(bytes.span, to: copies.path(name))
    }
    let copy = try Database.open(path: copies.path("test.sqlite"), migrations: migrations)
    #expect(try await ids(copy) == (0..<100).map { Int64($0) })
    copy.close()
  }

  @Test(
    "what was answered is there when the process dies, and nothing of what was not",
    arguments: [Database.Options.Durability.normal, .full])
  func crash(_ durability: Database.Options.Durability) async throws {
    let database = try open(.init(durability: durability))
    try await together(0..<50, in: database) { number in
      _ = try await database.write(locking: []) {
        try $0.execute("INSERT INTO rows VALUES (?, 'a')", [.integer(number)])
      }
    }
    // The files as the kernel has them are what a killed process leaves.
    let copies = try TemporaryDirectory()
    let directory = directory
    try await database.write(locking: []) { connection in
      try connection.execute("INSERT INTO rows VALUES (1000, 'a')")
      for name in ["test.sqlite", "test.sqlite-wal"] {
        let bytes = try FileSystem.read(directory.path(name), upTo: .mebibytes(64))
        try DurableFile.write(bytes.span, to: copies.path(name))
      }
    }
    let copy = try Database.open(path: copies.path("test.sqlite"), migrations: migrations)
    #expect(try await ids(copy) == Array(0..<50))
    copy.close()
  }

  @Test("on an engine for tests a body runs twice, and what it did first is undone") func twice() async throws
  {
    let database = try open(.init(durability: .normal, rehearsal: .twice, kindsNotRehearsed: ["once"]))
    let runs = Mutex<[String: Int]>([:])
    for kind in ["row", "once"] {
      try await database.write(locking: [DatabaseLock(kind: kind, name: "a")]) { connection in
        runs.withLock { $0[kind, default: 0] += 1 }
        try connection.execute("INSERT INTO rows (content) VALUES ('a')")
      }
    }
    #expect(runs.withLock { $0 } == ["row": 2, "once": 1])
    #expect(try await ids(database) == [1, 2])
    await #expect(throws: Refusal()) {
      try await database.write(locking: []) { connection in
        try connection.execute("INSERT INTO rows (content) VALUES ('a')")
        throw Refusal()
      }
    }
    #expect(try await ids(database) == [1, 2])
  }

  @Test("on an engine for tests the next body runs between the two runs of the one before it")
  func interleaved() async throws {
    let database = try open(.init(durability: .normal, rehearsal: .interleaved, kindsNotRehearsed: ["gate"]))
    let seen = Mutex<[Int: [Int64]]>([:])
    try await together(0..<2, in: database) { number in
      try await database.write(locking: []) { connection in
        let count = try connection.first("SELECT count(*) AS n FROM rows")?.integer("n") ?? -1
        seen.withLock { $0[number, default: []].append(count) }
        try connection.execute("INSERT INTO rows (content) VALUES ('a')")
      }
    }
    #expect(seen.withLock { $0 } == [0: [0, 1], 1: [0]])
    #expect(try await ids(database) == [1, 2])
  }

  @Test("close serves what was asked before, and refuses what comes after") func closing()
    async throws
  {
    let database = try open()
    let gate = Gate()
    let begun = Signal()
    try await withThrowingTaskGroup { group in
      group.addTask {
        try await database.write(locking: []) { connection in
          begun.set()
          gate.wait()
          try connection.execute("INSERT INTO rows VALUES (0, 'a')")
        }
      }
      await begun.wait()
      for number in 1...20 {
        group.addTask {
          do {
            try await database.write(locking: []) {
              try $0.execute("INSERT INTO rows VALUES (?, 'a')", [.integer(number)])
            }
          } catch let error as DatabaseError {
            #expect(error.code == .closed)
          }
        }
      }
      group.addTask { await BlockingPool.shared.run { database.close() } }
      gate.open()
      try await group.waitForAll()
    }
    await #expect(throws: DatabaseError.self) { try await database.write(locking: []) { _ in } }
    #expect(try await ids(open()).contains(0))
  }

  @Test(
    "a write that is to be alone shares no transaction: neither its failure nor another's runs a body again")
  func alone() async throws {
    let database = try open()
    let runs = Locked<[Int: Int]>([:])
    try await together(1..<6, in: database) { number in
      do {
        try await database.write(locking: [.everything], committing: number == 3 ? .alone : .atOnce) {
          connection in
          runs.withLock { $0[number, default: 0] += 1 }
          try connection.execute("INSERT INTO rows VALUES (?, 'content')", [.integer(Int64(number))])
          if number == 3 { throw Refusal() }
        }
        #expect(number != 3)
      } catch is Refusal {
        #expect(number == 3)
      }
    }
    #expect(runs.current == [1: 1, 2: 1, 3: 1, 4: 1, 5: 1])
    #expect(try await ids(database) == [1, 2, 4, 5])
    try await database.write(locking: [.everything], committing: .alone) { connection in
      try connection.execute("INSERT INTO rows VALUES (6, 'content')")
    }
    #expect(try await ids(database) == [1, 2, 4, 5, 6])
  }
}
