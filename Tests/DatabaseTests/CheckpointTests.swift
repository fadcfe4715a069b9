import CoreTypes
import Files
import PullboxTesting
import SystemCalls
import Testing

@testable import Database

@Suite("The write-ahead log is moved to its place beside the writer")
struct CheckpointTests {
  private static let interval: Int32 = 4096

  private var schedule: CheckpointSchedule { CheckpointSchedule(every: .mebibytes(16)) }

  @Test("it is moved each time that it has grown by the interval, and not while it is being moved")
  func interval() {
    var schedule = schedule
    #expect(schedule.decide(pages: Self.interval - 1, moved: 0) == .none)
    #expect(schedule.decide(pages: Self.interval, moved: nil) == .none)
    #expect(schedule.decide(pages: Self.interval + 10, moved: 0) == .move)
    #expect(schedule.decide(pages: Self.interval + 11, moved: 0) == .none)
    #expect(schedule.decide(pages: 2 * Self.interval + 10, moved: Self.interval) == .move)
  }

  @Test("one that has begun anew is counted from its beginning")
  func begunAnew() {
    var schedule = schedule
    #expect(schedule.decide(pages: 3 * Self.interval, moved: 0) == .move)
    #expect(schedule.decide(pages: 5, moved: 3 * Self.interval) == .none)
    #expect(schedule.decide(pages: Self.interval, moved: 3 * Self.interval) == .move)
  }

  @Test("a long one begins anew once little of it is left to be moved, so that writes wait for little")
  func restart() {
    var schedule = schedule
    let long = CheckpointSchedule.longIntervals * Self.interval
    #expect(schedule.decide(pages: long, moved: long - Self.interval) == .move)
    #expect(schedule.decide(pages: long + 10, moved: long - Self.interval) == .none)
    let later = long + Self.interval / 8
    #expect(schedule.decide(pages: later, moved: nil) == .none)
    #expect(schedule.decide(pages: later, moved: later - Self.interval / 8) == .restart)
    // Readers may have kept it from that: it is not tried at every commit.
    #expect(schedule.decide(pages: later + 1, moved: later) == .none)
    #expect(schedule.decide(pages: later + Self.interval, moved: later + Self.interval) == .restart)
  }

  @Test("the longest one begins anew however much is left, so that it has a bound")
  func longest() {
    var schedule = schedule
    let longest = CheckpointSchedule.longestIntervals * Self.interval
    #expect(schedule.decide(pages: longest - 1, moved: 0) == .move)
    #expect(schedule.decide(pages: longest + Self.interval, moved: 0) == .restart)
    #expect(schedule.decide(pages: longest + 2 * Self.interval, moved: nil) == .restart)
  }

  @Test(
    "the log of a database that is written without a pause keeps its bound, and nothing written is lost",
    arguments: [Database.Options.Durability.normal, .full])
  func bound(_ durability: Database.Options.Durability) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("bound.sqlite")
    let interval = ByteCount.kibibytes(256)
    let migrations = [
      Migration("pages", script: "CREATE TABLE pages (id INTEGER PRIMARY KEY, bytes BLOB) STRICT")
    ]
    let database = try Database.open(
      path: path, migrations: migrations,
      options: Database.Options(durability: durability, log: interval))
    let bytes = [UInt8](repeating: 7, count: 3000)
    var longest = ByteCount.zero
    // A durable commit takes its time.
    let together = durability == .full ? 40 : 1
    for first in stride(from: 1, through: 4000, by: together) {
      try await database.write(locking: []) { connection in
        for number in first..<first + together {
          try connection.execute("INSERT INTO pages VALUES (?, ?)", [.integer(number), .blob(bytes)])
        }
      }
      if first % 50 < together, let status = try FileSystem.status(of: path + "-wal") {
        longest = max(longest, status.length)
      }
    }
    #expect(longest > .zero)
    #expect(longest.rawValue <= interval.rawValue * Int64(CheckpointSchedule.longestIntervals + 2))
    database.close()
    #expect(try FileSystem.status(of: path + "-wal") == nil, "all of it is in the file")
    let again = try Database.open(path: path, migrations: migrations)
    defer { again.close() }
    #expect(try await again.read { try $0.first("SELECT count(*) AS n FROM pages")?.integer("n") } == 4000)
  }
}
