import CoreTypes
import Database
import DeliveryModel
import DeliveryTesting
import PullboxTesting
import ServiceRuntime
import Testing

@testable import ContentGrants
@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService

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

  @Test("dates are released by the process that holds the lease, and by no other")
  func releases() async throws {
    let timer = ManualMonotonicClock()
    #expect(try await lease("another", "releases").isHeld())
    let scheduler = ReleaseScheduler(
      database: database, clock: clock, timer: timer, stops: nil, lease: lease("this", "releases"),
      log: Log(level: .error))
    await withTaskGroup { group in
      group.addTask { await scheduler.run() }
      await timer.waitForSleepers()
      #expect(timer.timeToNextSleeper == LeaseMachine.duration)
      group.cancelAll()
    }
  }

  @Test("debts are swept by the process that holds the lease, and by no other")
  func sweeps() async throws {
    #expect(try await lease("another", "settling").isHeld())
    let outbox = Outbox(
      grantStore: GrantStore(database: database, clock: clock), stores: [:], timer: ManualMonotonicClock(),
      sweepLease: lease("this", "settling"), log: Log(level: .error))
    #expect(try await outbox.sweepOnce() == .pause(atMost: LeaseMachine.duration))
    clock.advance(by: LeaseMachine.duration)
    #expect(try await outbox.sweepOnce() == .pause(atMost: Outbox.sweepInterval))
  }
}
