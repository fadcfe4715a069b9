import Database
import PullboxTesting
import Testing

@Suite("What commits say that they have changed") struct ChangeTopicTests {
  private struct Refusal: Error {}

  private let directory: TemporaryDirectory
  private let database: Database
  private let topic = ChangeTopic("books")

  init() throws {
    directory = try TemporaryDirectory()
    database = try Database.open(
      path: directory.path("test.sqlite"),
      migrations: [Migration("books", script: "CREATE TABLE books (title TEXT PRIMARY KEY) STRICT")])
  }

  private func count() async throws -> Int64 {
    try await database.read { try $0.first("SELECT count(*) AS count FROM books")?.integer("count") ?? 0 }
  }

  @Test("a change is counted before its write is answered, and before what follows from it is done")
  func counted() async throws {
    let (database, topic) = (database, topic)
    #expect(database.changes(of: topic) == 0)
    let atEffect = Locked<[Int]>([])
    for number in 1...3 {
      try await database.write(locking: [.everything]) { connection in
        try connection.execute("INSERT INTO books VALUES (?)", [.text("\(number)")])
        try connection.noteChange(of: topic)
      } then: { _ in
        atEffect.withLock { $0.append(database.changes(of: topic)) }
      }
      #expect(database.changes(of: topic) == number)
    }
    #expect(atEffect.current == [1, 2, 3])
    #expect(database.changes(of: ChangeTopic("others")) == 0)
  }

  @Test("who reads the count and then the database has everything that is counted")
  func order() async throws {
    let (database, topic) = (database, topic)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          for number in 0..<50 {
            try await database.write(locking: [.everything]) { connection in
              try connection.execute("INSERT INTO books VALUES (?)", [.text("\(writer) \(number)")])
              try connection.noteChange(of: topic)
            }
          }
        }
      }
      // Several writes may share a commit, so there are at least as many rows as are counted.
      while database.changes(of: topic) == 0 { await Task.yield() }
      var counted = 0
      while try await count() < 200 {
        counted = database.changes(of: topic)
        let rows = try await count()
        #expect(rows >= counted)
      }
      try await group.waitForAll()
    }
  }

  @Test("what others have changed is counted though a body beside them fails") func failing() async throws {
    let (database, topic) = (database, topic)
    await #expect(throws: Refusal.self) {
      try await database.write(locking: [.everything]) { connection in
        try connection.execute("INSERT INTO books VALUES ('torn')")
        throw Refusal()
      }
    }
    try await database.write(locking: [.everything]) { connection in
      try connection.execute("INSERT INTO books VALUES ('whole')")
      try connection.noteChange(of: topic)
    }
    #expect(database.changes(of: topic) == 1)
    let rows = try await count()
    #expect(rows == 1)
  }

  @Test("a read changes nothing of a topic") func reads() async throws {
    let topic = topic
    let error = await #expect(throws: DatabaseError.self) {
      try await database.read { try $0.noteChange(of: topic) }
    }
    #expect(error?.code == .readOnly)
    #expect(database.changes(of: topic) == 0)
  }
}
