import AgentTesting
import ContentPackage
import CoreTypes
import Files
import HTTPClient
import PackageTesting
import PullboxTesting
import Synchronization
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

/// Transfers that are paused for the rate and for the budget.
@Suite(.timeLimit(.minutes(5))) struct TransferPacerTests {
  /// A pacer whose budget is spent, with room on the device for what passes it.
  private func spentPacer() -> TransferPacer {
    var meter = ByteMeter(counted: .zero, limit: .zero)
    meter.noteSaved(.gibibytes(1))
    let pacer = TransferPacer()
    pacer.count(by: meter, onSpent: {})
    return pacer
  }

  @Test(
    "a transfer that waits for the budget is woken once it passes it, and by nothing that changes nothing")
  func passing() {
    let pace = spentPacer().join()
    let wakes = Mutex(0)
    let wake: @Sendable () -> Void = { wakes.withLock { $0 += 1 } }
    #expect(!pace.take(1000, otherwise: wake))
    pace.set(RateShares.Claim(), passesBudget: false)
    #expect(wakes.withLock { $0 } == 0)
    pace.set(RateShares.Claim(), passesBudget: true)
    #expect(wakes.withLock { $0 } == 1)
    #expect(pace.take(1000, otherwise: wake))
    pace.set(RateShares.Claim(), passesBudget: false)
    #expect(!pace.take(1000, otherwise: wake))
  }

  @Test("a transfer that asks while it is let past the budget takes its bytes or is woken") func race()
    async
  {
    for _ in 0..<2000 {
      let pace = spentPacer().join()
      let isWoken = Locked(false)
      async let hasTaken = pace.take(1000, otherwise: { isWoken.withLock { $0 = true } })
      async let change: Void = pace.set(RateShares.Claim(), passesBudget: true)
      let goesOn = await hasTaken
      await change
      guard goesOn || isWoken.current else {
        Issue.record("it sleeps")
        return
      }
    }
  }

  @Test("of two connections of one transfer that wait, the turn of one wakes the other") func connections() {
    let clock = ManualMonotonicClock()
    let pacer = TransferPacer(rate: .mebibytes(1), clock: clock)
    let pace = pacer.join()
    let woken = Locked(0)
    // The first bytes use up what there is.
    while pace.take(16 << 10, otherwise: { woken.withLock { $0 += 1 } }) {}
    clock.advance(by: .milliseconds(100))
    // The other one comes before the pacer gives its turns, and takes it.
    let hasTaken = pace.take(16 << 10, otherwise: {})
    #expect(hasTaken)
    #expect(woken.current == 1)
  }

  @Test("a rate that is set later, and is below what a stalled peer gives, ends no connection")
  func lowerRate() async throws {
    let package = try FixturePackage.file(length: 48 << 10)
    let server = FakeServer([package])
    let directory = try TemporaryDirectory()
    let clock = SystemMonotonicClock()
    let pacer = TransferPacer(rate: .mebibytes(100), clock: clock)
    var path = ServerPath()
    // The request bears the highest floor: 16 KiB a second. The head comes before the rate is low.
    path.speeds.record(.mebibytes(100), in: .seconds(10))
    path.onEnd = { _ in pacer.setRate(.kibibytes(8)) }
    try FileSystem.createDirectory(directory.path("staging"))
    let session = StagingSession(
      manifest: package.manifest,
      paths: ContentJobPaths(state: directory.path("state"), staging: directory.path("staging/area")))
    let transfer = PieceTransfer(
      client: try HTTPClient(), session: session, buffers: BufferPool(limit: 4),
      progress: TransferProgress(received: .zero, verified: .zero, pace: pacer.join()),
      limits: PieceTransfer.Limits(stallAfter: .seconds(1)), path: path)
    try await server.open { url async throws in
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { await pacer.run() }
        try await transfer.run(
          url: "\(url)/v1/content/\(package.manifest.digest)", ticket: server.state.current.ticket)
        group.cancelAll()
      }
    }
    #expect(server.state.current.sent == [0..<package.bytes.count], "over one answer")
  }
}
