import CoreTypes
import Crypto
import DeliveryTesting
import PullboxTesting
import Testing

@testable import DeliveryService

@Suite("What a generation of a backup is made of", .enabled(if: !TestDatabase.isOnServer))
struct BackupPlanTests {
  private let digests = (0..<4).map { SHA256Digest.of([UInt8($0)]) }.sorted {
    $0.hexadecimal < $1.hexadecimal
  }
  private let length = ByteCount(10)

  private func plan(
    _ need: PackageNeed, stored: ByteCount? = nil, previous: ByteCount? = nil
  ) -> BackupPlan {
    let digest = digests[0]
    return BackupPlan(
      [digest: need], stored: stored.map { [digest: $0] } ?? [:],
      previous: previous.map { [digest: $0] } ?? [:])
  }

  @Test("what the generation before has is taken from there, also where the state has lost it")
  func previous() {
    let need = PackageNeed(length: length, isRequired: true)
    #expect(plan(need, stored: length, previous: length).steps.map(\.source) == [.previous(orState: true)])
    #expect(plan(need, previous: length).steps.map(\.source) == [.previous(orState: false)])
    // A file in the state that was cut is no source.
    #expect(
      plan(need, stored: ByteCount(9), previous: length).steps.map(\.source) == [.previous(orState: false)])
  }

  @Test("what the generation before has with another length, or not at all, comes from the state")
  func state() {
    let need = PackageNeed(length: length, isRequired: true)
    #expect(plan(need, stored: length).steps.map(\.source) == [.state])
    #expect(plan(need, stored: length, previous: ByteCount(9)).steps.map(\.source) == [.state])
    #expect(plan(need, previous: ByteCount(9)).missing == [digests[0]])
  }

  @Test("only what a version needs is missed; what was withdrawn or is being uploaded may be gone")
  func missing() {
    #expect(plan(PackageNeed(length: length, isRequired: true)).missing == [digests[0]])
    let gone = plan(PackageNeed(length: nil, isRequired: false))
    #expect(gone.missing.isEmpty)
    #expect(gone.steps.isEmpty)
    #expect(plan(PackageNeed(length: nil, isRequired: false), stored: length).steps.count == 1)
  }

  @Test("packages that nothing refers to stay out, and the steps are in the order of the digests")
  func order() {
    let needs = Dictionary(
      uniqueKeysWithValues: digests.prefix(3).map { ($0, PackageNeed(length: length, isRequired: true)) })
    let stored = Dictionary(uniqueKeysWithValues: digests.map { ($0, length) })
    #expect(BackupPlan(needs, stored: stored, previous: [:]).steps.map(\.digest) == Array(digests.prefix(3)))
  }

  @Test("the oldest generations go, and one always stays")
  func retention() {
    let names = ["20261122T031500.000Z", "20261121T031500.000Z", "20251231T235959.999Z"]
    #expect(BackupPlan.superfluous(names, keeping: 2) == ["20251231T235959.999Z"])
    #expect(BackupPlan.superfluous(names, keeping: 3).isEmpty)
    #expect(BackupPlan.superfluous(names, keeping: 0).count == 2)
    #expect(BackupPlan.superfluous([], keeping: 1).isEmpty)
  }

  @Test("the generation just made stays, also behind one that counts as newer")
  func retentionOfTheNew() {
    let names = ["20261122T081500.000Z", "20261122T031500.000Z", "20261121T031500.000Z"]
    #expect(
      BackupPlan.superfluous(names, keeping: 1, besides: names[1]) == ["20261121T031500.000Z"])
  }

  @Test("a generation's name is its instant, and sorts as time does")
  func names() {
    let moment = Timestamp(millisecondsSinceEpoch: 1_795_317_125_123)
    #expect(BackupGeneration.name(of: moment) == "20261122T031205.123Z")
    #expect(
      BackupGeneration.name(of: moment) < BackupGeneration.name(of: moment + .milliseconds(1)))
  }

  @Test("only what a generation is named by is a generation's name")
  func otherNames() {
    #expect(BackupGeneration.isName("20261122T031205.123Z"))
    let others = [
      "before-upgrade", "20261122T031205.123Z.old", "20261122T031205Z", "20261322T031205.123Z", "",
      "20261122t031205.123Z", "2026-11-22T03:12:05.123Z", "20261122T031205.12345", "lost+found-and-others",
    ]
    for name in others { #expect(!BackupGeneration.isName(name), "\(name)") }
  }

  @Test("reading at a rate waits for what it is ahead, and for nothing without one")
  func rate() {
    let clock = ManualMonotonicClock()
    let pauses = Locked<[Duration]>([])
    let pause = { @Sendable (duration: Duration) in pauses.withLock { $0.append(duration) } }
    let rate = ReadingRate(ByteCount(1000), clock: clock, pause: pause)
    rate.didRead(ByteCount(500))
    clock.advance(by: .milliseconds(600))
    rate.didRead(ByteCount(500))
    clock.advance(by: .milliseconds(900))
    rate.didRead(ByteCount(500))
    #expect(pauses.current == [.milliseconds(500), .milliseconds(400)])
    ReadingRate(nil, clock: clock, pause: pause).didRead(.gibibytes(1))
    #expect(pauses.current.count == 2)
  }
}
