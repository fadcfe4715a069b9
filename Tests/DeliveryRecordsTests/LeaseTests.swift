import CoreTypes
import Database
import DeliveryModel
import DeliveryTesting
import PullboxTesting
import Testing

@testable import DeliveryRecords

@Suite("Leases of work that one process alone may do")
struct LeaseTests {
  private let file: StateFile
  private let database: Database
  private let clock = ManualWallClock(Timestamp(millisecondsSinceEpoch: 1_790_000_000_000))

  init() throws {
    file = try StateFile()
    database = try file.open()
  }

  private func lease(_ holder: String, _ name: String = "work") -> WorkerLease {
    WorkerLease(name, holder: holder, database: database, clock: clock)
  }

  private func until() async throws -> Int64? {
    try await database.read { try $0.first("SELECT until FROM leases WHERE name = 'work'")?.integer("until") }
  }

  @Test("one holds it, the other does not, until it was not renewed for its whole time")
  func exclusion() async throws {
    let (a, b) = (lease("a"), lease("b"))
    #expect(try await a.isHeld())
    #expect(try await !b.isHeld())
    #expect(try await lease("b", "other work").isHeld())
    clock.advance(by: LeaseMachine.duration - .milliseconds(1))
    #expect(try await !b.isHeld())
    clock.advance(by: .milliseconds(1))
    #expect(try await b.isHeld())
    #expect(try await !a.isHeld())
  }

  @Test("who works on renews it, and keeps it as long as that lasts")
  func renewal() async throws {
    let (a, b) = (lease("a"), lease("b"))
    for _ in 0..<20 {
      #expect(try await a.isHeld())
      #expect(try await !b.isHeld())
      clock.advance(by: .seconds(20))
    }
  }

  @Test("it is written once in half of its time, however often the work asks")
  func writes() async throws {
    let a = lease("a")
    #expect(try await a.isHeld())
    let first = try await until()
    for _ in 0..<14 {
      clock.advance(by: .seconds(1))
      #expect(try await a.isHeld())
      #expect(try await until() == first)
    }
    clock.advance(by: .seconds(1))
    #expect(try await a.isHeld())
    #expect(try await until() == first.map { $0 + 15_000 })
  }

  @Test("a clock that was set back makes its holder ask again")
  func clockSetBack() {
    var machine = LeaseMachine()
    let now = Timestamp(millisecondsSinceEpoch: 1_000_000_000)
    #expect(machine.decide(at: now) == .ask)
    machine.handle(isHeld: true, askedAt: now)
    #expect(machine.decide(at: now) == .work)
    #expect(machine.decide(at: now + .seconds(14)) == .work)
    #expect(machine.decide(at: now + .seconds(15)) == .ask)
    #expect(machine.decide(at: now - .seconds(1)) == .ask)
    machine.handle(isHeld: false, askedAt: now)
    #expect(machine.decide(at: now) == .ask)
  }

  @Test(
    "a hold that a clock has taken which is a day ahead is over when its process is, one that is a little ahead is not"
  )
  func clockAhead() async throws {
    let ahead = ManualWallClock(clock.now() + .seconds(86_400))
    #expect(try await WorkerLease("work", holder: "a", database: database, clock: ahead).isHeld())
    #expect(try await lease("b").isHeld())
    let little = ManualWallClock(clock.now() + LeaseMachine.duration)
    #expect(try await WorkerLease("other", holder: "a", database: database, clock: little).isHeld())
    #expect(try await !lease("b", "other").isHeld())
  }
}
