import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliveryTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Testing

@testable import ContentPublishing
@testable import DeliveryRecords
@testable import RouteAccess

@Suite("Releases at a date")
struct ReleaseSchedulerTests {
  private let file: StateFile
  private let clock = ManualWallClock()
  private let timer = ManualMonotonicClock()
  private let product: ProductIdentifier

  init() throws {
    file = try StateFile()
    product = try #require(ProductIdentifier("com.example.issue1"))
  }

  private func scheduler(_ database: Database) -> ReleaseScheduler {
    ReleaseScheduler(database: database, clock: clock, timer: timer, stops: nil, log: Log(level: .error))
  }

  private func versions(_ database: Database, _ scheduler: ReleaseScheduler) -> VersionService {
    VersionService(
      database: database, clock: clock,
      operators: OperatorKeys([], wrongKeys: WrongKeys(timer: SystemMonotonicClock())), stops: nil,
      scheduler: scheduler)
  }

  private func version(_ text: String) throws -> ContentVersion { try #require(ContentVersion(text)) }

  /// An approved version whose package is `text`.
  private func approve(
    _ text: String, _ versions: VersionService, of named: ProductIdentifier? = nil
  ) async throws {
    let (product, version) = (named ?? product, try version(text))
    let digest = SHA256Digest.of(Array(text.utf8))
    let now = clock.now()
    try await versions.database.write(locking: [.everything]) { connection in
      if try !ProductTable.exists(product, in: connection) {
        try ProductTable.put(Product(id: product, type: .nonConsumable), at: now, in: connection)
      }
      try VersionTable.insert(
        VersionRecord(
          product: product, version: version, state: .draft, length: ByteCount(1), digest: digest,
          manifestDigest: digest, pieces: 1, files: 1, created: now), manifest: [], cover: nil, title: nil,
        in: connection)
    }
    _ = try await versions.submit(product, version, by: "ada")
    _ = try await versions.approve(product, version, by: "bob")
  }

  private func state(_ text: String, _ versions: VersionService) async throws -> VersionState {
    try await versions.version(product, try version(text)).state
  }

  @Test("a version is released when its date comes, in the name of who set it")
  func due() async throws {
    let database = try file.open()
    let scheduler = scheduler(database)
    let versions = versions(database, scheduler)
    try await approve("1.0", versions)
    let date = clock.now() + .seconds(600)
    _ = try await versions.release(
      product, try version("1.0"), as: ReleaseRequest(percentage: 10, at: date), by: "ada")
    clock.set(date - .milliseconds(1))
    #expect(try await scheduler.releaseDue() == 0)
    #expect(try await state("1.0", versions) == .approved)
    clock.set(date)
    #expect(try await scheduler.releaseDue() == 1)
    let record = try await versions.version(product, try version("1.0"))
    #expect(record.state == .released)
    #expect(record.percentage == 10)
    #expect(record.scheduled == nil)
    #expect(record.released == date)
    #expect(record.history?.first?.actor == "ada")
    #expect(record.history?.first?.detail == "to 10 % of devices; scheduled for \(date)")
    #expect(try await scheduler.releaseDue() == 0)
  }

  @Test("what came due while no server ran is released at the next start, in the order of the dates")
  func restart() async throws {
    let before = try file.open()
    let versionsBefore = versions(before, scheduler(before))
    try await approve("1.0", versionsBefore)
    try await approve("1.1", versionsBefore)
    let date = clock.now() + .seconds(600)
    _ = try await versionsBefore.release(product, try version("1.1"), as: ReleaseRequest(at: date), by: "ada")
    _ = try await versionsBefore.release(
      product, try version("1.0"), as: ReleaseRequest(at: date - .seconds(60)), by: "ada")
    before.close()

    clock.set(date + .seconds(1))
    let after = try file.open()
    let versionsAfter = versions(after, scheduler(after))
    #expect(try await scheduler(after).releaseDue() == 2)
    #expect(try await state("1.0", versionsAfter) == .superseded)
    #expect(try await state("1.1", versionsAfter) == .released)
  }

  @Test(
    "a version that cannot be released holds up later ones of its product, no other's, and is tried again after a pause"
  )
  func damaged() async throws {
    let database = try file.open()
    let scheduler = scheduler(database)
    let versions = versions(database, scheduler)
    let other = try #require(ProductIdentifier("com.example.issue2"))
    let date = clock.now() + .seconds(600)
    for (number, entry) in [(product, "1.0"), (product, "1.1"), (other, "2.0")].enumerated() {
      try await approve(entry.1, versions, of: entry.0)
      _ = try await versions.release(
        entry.0, try version(entry.1), as: ReleaseRequest(at: date + .seconds(number)), by: "ada")
    }
    try await database.write(locking: [.everything]) {
      try $0.execute("UPDATE versions SET state = 'strange' WHERE version = '1.0'")
    }
    clock.set(date + .seconds(2))
    #expect(try await scheduler.releaseDue() == 1)
    #expect(try await versions.version(other, try version("2.0")).state == .released)
    #expect(try await state("1.1", versions) == .approved)
    await withTaskGroup { group in
      group.addTask { await scheduler.run() }
      // The release before has told the scheduler, so that its first sleep may be over at once.
      repeat {
        await timer.waitForSleepers()
        await Task.yield()
      } while timer.timeToNextSleeper != ReleaseScheduler.longestPause
      group.cancelAll()
    }
    try await database.write(locking: [.everything]) {
      try $0.execute("UPDATE versions SET state = 'approved' WHERE version = '1.0'")
    }
    #expect(try await scheduler.releaseDue() == 2)
    #expect(try await state("1.0", versions) == .superseded)
    #expect(try await state("1.1", versions) == .released)
  }

  @Test("a release at a date locks its product and its package, and lets all other writes go on")
  func locks() async throws {
    let recorder = LockRecorder()
    let database = try file.open(options: recorder.options)
    let scheduler = scheduler(database)
    let versions = versions(database, scheduler)
    try await approve("1.0", versions)
    let date = clock.now() + .seconds(600)
    _ = try await versions.release(product, try version("1.0"), as: ReleaseRequest(at: date), by: "ada")
    clock.set(date)
    recorder.forget()
    #expect(try await scheduler.releaseDue() == 1)
    let package = SHA256Digest.of(Array("1.0".utf8))
    #expect(Set(recorder.writes) == [[.everything.shared, .content(package), .product(product)]])
  }

  @Test("a step names the transactions whose debts it settles, and only where it changes what is offered")
  func stepLocks() async throws {
    let database = try file.open()
    let versions = versions(database, scheduler(database))
    try await approve("1.0", versions)
    let (product, version) = (product, try version("1.0"))
    let device = try #require(DeviceIdentifier("device-1"))
    let now = clock.now()
    try await database.write(locking: [.everything]) { connection in
      let digest = SHA256Digest.of([1])
      var grant = GrantRecord(
        id: try #require(GrantIdentifier(String(repeating: "0", count: 32))), handle: .make(at: now),
        store: .sandbox, environment: .sandbox, transaction: .numbered(1), product: product, version: version,
        device: device, digest: digest, length: ByteCount(1), manifestDigest: digest, machine: GrantMachine(),
        created: now)
      grant.machine = GrantMachine(state: .completed)
      try GrantTable.insert(grant, in: connection)
      try ObligationTable.add([product], to: ObligationTable.Debt(grant), in: connection)
    }
    let transition = VersionTransition(product: product, version: version, actor: "ada", now: now)
    let (withdrawal, submission) = try await database.read { connection in
      (
        try VersionTransition.basis(
          of: .withdraw(stopsDownloads: false), with: product, version, in: connection),
        try VersionTransition.basis(of: .submit, with: product, version, in: connection)
      )
    }
    let package = SHA256Digest.of(Array("1.0".utf8))
    #expect(
      Set(transition.locks(on: withdrawal))
        == [.product(product), .content(package), .transaction(.numbered(1))])
    #expect(Set(transition.locks(on: submission)) == [.product(product), .content(package)])
  }

  @Test("the scheduler sleeps until the next date and no longer, and wakes when a nearer one is set")
  func sleeps() async throws {
    let database = try file.open()
    let scheduler = scheduler(database)
    let versions = versions(database, scheduler)
    try await approve("1.0", versions)
    // Ended below, when the test has seen what it came for.
    let run = Task { await scheduler.run() }
    await timer.waitForSleepers()
    #expect(timer.timeToNextSleeper == ReleaseScheduler.longestPause)
    let date = clock.now() + .seconds(5)
    _ = try await versions.release(product, try version("1.0"), as: ReleaseRequest(at: date), by: "ada")
    while timer.timeToNextSleeper != .seconds(5) { await Task.yield() }
    clock.set(date)
    timer.advance(by: .seconds(5))
    while try await state("1.0", versions) != .released { await Task.yield() }
    run.cancel()
    await run.value
  }

  @Test("a version that was replaced before its date stays replaced")
  func replaced() async throws {
    let database = try file.open()
    let scheduler = scheduler(database)
    let versions = versions(database, scheduler)
    try await approve("1.0", versions)
    try await approve("1.1", versions)
    _ = try await versions.release(product, try version("1.0"), as: ReleaseRequest(), by: "ada")
    _ = try await versions.release(product, try version("1.1"), as: ReleaseRequest(percentage: 10), by: "ada")
    let date = clock.now() + .seconds(600)
    _ = try await versions.release(product, try version("1.1"), as: ReleaseRequest(at: date), by: "ada")
    // Rolled back: raising 1.1 to all on that date is off.
    _ = try await versions.release(product, try version("1.0"), as: ReleaseRequest(), by: "bob")
    clock.set(date)
    #expect(try await scheduler.releaseDue() == 0)
    #expect(try await state("1.0", versions) == .released)
    #expect(try await state("1.1", versions) == .superseded)
  }

  @Test("a release at a date writes down to how many subscribers more an issue of an earlier date opens")
  func lateRelease() async throws {
    let database = try file.open()
    let scheduler = scheduler(database)
    let versions = versions(database, scheduler)
    let plan = try #require(ProductIdentifier("com.example.plan"))
    let (product, dated, magazine) = (product, clock.now(), ProductIdentifier("com.example.magazine"))
    let customer = try #require(CustomerIdentifier([UInt8](repeating: 7, count: 16)))
    let name = try #require(TransactionIdentifier("2000000000000001"))
    let payment = VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: name, originalID: name, product: plan,
      purchaseDate: dated + .seconds(86_400), expiresDate: dated + .seconds(30 * 86_400))
    try await database.write(locking: [.everything]) { connection in
      try ProductTable.put(
        Product(id: plan, type: .autoRenewableSubscription, publication: magazine, period: .month), at: dated,
        in: connection)
      try ProductTable.put(
        Product(id: product, type: .nonConsumable, publication: magazine, publicationDate: dated), at: dated,
        in: connection)
      try LedgerTable.write(payment, of: customer, in: connection)
    }
    for text in ["1.0", "1.1"] { try await approve(text, versions) }
    let date = dated + .seconds(2 * 86_400)
    for (text, date) in [("1.0", date), ("1.1", date + .seconds(60))] {
      _ = try await versions.release(product, try version(text), as: ReleaseRequest(at: date), by: "ada")
    }
    clock.set(date + .seconds(60))
    #expect(try await scheduler.releaseDue() == 2)
    func detail(_ text: String) async throws -> String? {
      try await versions.version(product, try version(text)).history?
        .first { $0.action == "version.release" }?.detail
    }
    #expect(
      try await detail("1.0")
        == "to all devices; scheduled for \(date); opens to 1 subscriber more than at its date, \(dated)")
    #expect(try await detail("1.1") == "to all devices; scheduled for \(date + .seconds(60))")
  }
}
