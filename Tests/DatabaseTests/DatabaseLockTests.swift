import PullboxTesting
import Synchronization
import Testing

@testable import Database

@Suite("The locks of writes")
struct DatabaseLockTests {
  private let directory: TemporaryDirectory

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func open(_ options: Database.Options = .init(durability: .normal)) throws -> Database {
    try Database.open(path: directory.path("test.sqlite"), migrations: [], options: options)
  }

  private static let book = DatabaseLock(kind: "book", name: "a")
  private static let reader = DatabaseLock(kind: "reader", name: "ada", isFoundOnTheWay: true)

  @Test("a lock is exclusive unless it is asked for as shared, and the two are not the same")
  func modes() {
    #expect(Self.book.mode == .exclusive)
    #expect(Self.book.shared.mode == .shared)
    #expect(Self.book.shared.shared == Self.book.shared)
    #expect(Self.book.shared != Self.book)
    #expect(Self.reader.shared.isFoundOnTheWay)
    #expect(Self.book.description == "book a" && Self.book.shared.description == "book a shared")
  }

  @Test("every body holds everything shared, and one that names it holds it alone, before all others")
  func everything() {
    #expect(DatabaseLock.plan([]) == [.everything.shared])
    #expect(DatabaseLock.plan([.everything]) == [.everything])
    #expect(DatabaseLock.plan([Self.book, .everything]) == [.everything, Self.book])
    #expect(DatabaseLock.plan([Self.book]) == [.everything.shared, Self.book])
  }

  @Test("locks are taken by kind and name, whatever the order in which a body names them")
  func order() {
    let locks = [("writer", "a"), ("book", "b"), ("author", "z"), ("book", "a")].map {
      DatabaseLock(kind: $0.0, name: $0.1)
    }
    let expected = ["everything shared", "author z", "book a", "book b", "writer a"]
    #expect(DatabaseLock.plan(locks).map(\.description) == expected)
    #expect(DatabaseLock.plan(locks.reversed()).map(\.description) == expected)
  }

  @Test("a lock that is named in both modes is taken once, and exclusively", arguments: [true, false])
  func bothModes(sharedFirst: Bool) {
    let locks = sharedFirst ? [Self.book.shared, Self.book] : [Self.book, Self.book.shared]
    #expect(DatabaseLock.plan(locks + locks) == [.everything.shared, Self.book])
    #expect(
      DatabaseLock.plan([Self.book.shared, Self.book.shared]) == [.everything.shared, Self.book.shared])
  }

  @Test("locks that are found on the way come after all others, in their own order")
  func onTheWay() {
    let other = DatabaseLock(kind: "reader", name: "ben", isFoundOnTheWay: true)
    let last = DatabaseLock(kind: "writer", name: "z")
    #expect([other, last, Self.reader, .everything].sorted() == [.everything, last, Self.reader, other])
  }

  @Test("a body that names what is to be found on the way is a defect")
  func namedBefore() async {
    await #expect(processExitsWith: .failure) {
      _ = DatabaseLock.plan([DatabaseLock(kind: "reader", name: "ada", isFoundOnTheWay: true)])
    }
  }

  @Test("a write takes what it finds on its way, as often as it likes")
  func lock() async throws {
    let database = try open()
    try await database.write(locking: [Self.book]) { connection in
      for _ in 0..<2 { try connection.lock(Self.reader) }
    }
  }

  @Test("a read takes no locks")
  func read() async throws {
    let database = try open()
    let error = await #expect(throws: DatabaseError.self) {
      try await database.read { try $0.lock(Self.reader) }
    }
    #expect(error?.code == .readOnly)
  }

  @Test("what is to be named before is not taken on the way")
  func tooLate() async throws {
    let database = try open()
    let error = await #expect(throws: DatabaseError.self) {
      try await database.write(locking: [Self.book]) { try $0.lock(Self.book) }
    }
    #expect(error?.code == .misuse)
  }

  @Test("a test sees the locks of each body, those that it names first")
  func observed() async throws {
    let seen = Mutex<[DatabaseLock]>([])
    let observer = { @Sendable (lock: DatabaseLock) in seen.withLock { $0.append(lock) } }
    let database = try open(.init(durability: .normal, lockObserver: observer))
    try await database.write(locking: [Self.book.shared, Self.book]) { try $0.lock(Self.reader) }
    try await database.read { _ = try $0.first("SELECT 1") }
    #expect(seen.withLock { $0 } == [.everything.shared, Self.book, Self.reader])
  }
}
