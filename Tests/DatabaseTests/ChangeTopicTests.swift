import PullboxTesting
import Testing

@testable import Database

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

  @Test("however news and waits meet, a reader gets all names, and its wait ends for nothing else")
  func readers() async throws {
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<6 {
        group.addTask {
          let (counts, topic, last) = (ChangeCounts(), ChangeTopic("books"), 50_000)
          let reader = counts.reader(of: topic)
          async let heard: Int = {
            var highest = 0
            while highest < last, let news = await reader.next() {
              guard case .of(let names) = news else { return -1 }
              highest = max(highest, names.compactMap { Int($0) }.max() ?? 0)
            }
            return highest
          }()
          for number in 1...last {
            counts.tell(.of(["\(number)"]), of: topic)
            if number.isMultiple(of: 64) { await Task.yield() }
          }
          #expect(await heard == last)
        }
      }
    }
  }

  @Test("a reader that is closed, or whose task is cancelled, waits no longer")
  func readersEnd() async {
    let counts = ChangeCounts()
    let reader = counts.reader(of: topic)
    let waiting = Task { await reader.next() }
    waiting.cancel()
    #expect(await waiting.value == nil)
    counts.tell(.ofAnything, of: topic)
    #expect(await reader.next() == .ofAnything)
    counts.close()
    #expect(await reader.next() == nil)
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
