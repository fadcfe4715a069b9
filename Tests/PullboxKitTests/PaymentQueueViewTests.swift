import Commerce
import CoreTypes
import Crypto
import Foundation
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import Synchronization
import Testing

@testable import PullboxKit

/// Whatever an app of one screen shows, it has from the queue alone.
@Suite("What a payment queue passes on") struct PaymentQueueViewTests {
  private final class Recorder: PaymentQueueObserver {
    let story = Mutex<[String]>([])
    let told = AsyncSignal()

    private func note(_ text: String) {
      story.withLock { $0.append(text) }
      told.signal()
    }

    func paymentQueue(_ queue: PaymentQueue, updated transactions: [PaymentTransaction]) async {}

    func paymentQueue(_ queue: PaymentQueue, restored products: [ProductIdentifier]) async {
      note("restored \(products.map(\.description))")
    }

    func paymentQueue(_ queue: PaymentQueue, restoreFailed failure: RestoreFailure) async {
      let error = failure.error.map { "\($0)" } ?? "-"
      note(
        "failed \(failure.restored.map(\.description)) \(failure.downloads.map(\.reason)) "
          + (error.contains("purchase") ? "purchase" : error))
    }

    func paymentQueue(_ queue: PaymentQueue, library event: LibraryEvent) async {
      note("library \(event.change.rawValue) \(event.item.product)")
    }

    func paymentQueue(_ queue: PaymentQueue, issueReady item: LibraryItem) async {
      note("issue \(item.product) \(item.version)")
    }

    func paymentQueue(_ queue: PaymentQueue, correctionReady item: LibraryItem) async {
      note("correction \(item.product) \(item.version)")
    }

    func paymentQueue(_ queue: PaymentQueue, owned entry: FeedEntry) async {
      note("owned \(entry.product)")
    }

    func wait(for count: Int) async -> [String] {
      while story.withLock({ $0.count }) < count {
        await told.wait(atMost: nil, clock: SystemMonotonicClock())
      }
      return story.withLock { $0 }
    }
  }

  private static func item(_ product: String, _ state: LibraryItem.State = .present) throws -> LibraryItem {
    LibraryItem(
      product: try #require(ProductIdentifier(product)), version: try #require(ContentVersion("1.0")),
      path: "/library/\(product)", digest: SHA256Digest.of([]), length: ByteCount(1),
      placedAt: Timestamp(millisecondsSinceEpoch: 1_795_249_800_000), state: state)
  }

  /// A queue of an agent that does what the double says, for as long as `body` takes.
  private func queue(
    _ double: AgentDouble, observed recorder: Recorder, runs: Bool = true,
    _ body: @escaping @Sendable (PaymentQueue) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    try await withServer(double, at: .unix(path: path)) { _ in
      let queue = PaymentQueue(try AgentClient(socketPath: path))
      queue.add(observer: recorder)
      try await body(queue)
      // The double has no further script: the queue ends with its refusal.
      if runs { await #expect(throws: (any Error).self) { try await queue.run() } }
    }
  }

  @Test(
    "a download says all that the agent says of it: what it is, why it waits, until when, for how much room")
  func download() throws {
    var status = try Sample.download(.waiting, "insufficient-space")
    let (begun, next) = (
      Timestamp(millisecondsSinceEpoch: 1_795_249_800_000),
      Timestamp(millisecondsSinceEpoch: 1_795_249_860_000)
    )
    status.title = "Heroes 42"
    status.priority = 7
    status.created = begun
    status.notBefore = next
    status.cause = "write(2): No space left on device"
    status.space = SpaceShortage(
      needed: .mebibytes(20), free: .mebibytes(3), reserve: .mebibytes(32), removable: .mebibytes(5))
    status.bytesNeeded = ByteCount(900)
    status.bytesReused = ByteCount(100)
    status.stalledSince = begun
    let download = ContentDownload(status)
    #expect(download.title == "Heroes 42" && download.priority == 7 && download.created == begun)
    #expect(download.notBefore == next && download.cause == "write(2): No space left on device")
    #expect(download.space == status.space && download.space?.needed == .mebibytes(20))
    #expect(download.bytesNeeded == ByteCount(900) && download.bytesReused == ByteCount(100))
    #expect(download.stalledSince == begun)
    // An agent that does not tell leaves all of them out.
    let silent = ContentDownload(try Sample.download())
    #expect(silent.cause == nil && silent.space == nil && silent.notBefore == nil)
  }

  @Test("an app with a shelf hears of the library, of what came by itself and of what is owned, in order")
  func shelf() async throws {
    let double = AgentDouble()
    let item = try Self.item("com.example.a")
    let entry = FeedEntry(
      kind: .issueAvailable, product: item.product, transaction: try #require(TransactionIdentifier("20")))
    double.script([
      [
        try AgentDouble.text(.library(LibraryEvent(change: .placed, item: item))),
        try AgentDouble.text(.issueReady(item)), try AgentDouble.text(.correctionReady(item)),
        try AgentDouble.text(.owned(entry)),
      ]
    ])
    let recorder = Recorder()
    try await queue(double, observed: recorder) { _ in }
    #expect(
      recorder.story.withLock { $0 } == [
        "library placed com.example.a", "issue com.example.a 1.0", "correction com.example.a 1.0",
        "owned com.example.a",
      ])
  }

  @Test("a restore takes a choice of products, and observers hear once all of them are here")
  func restored() async throws {
    let double = AgentDouble()
    let download = try Sample.download(.finished, "placed", verified: 10 << 20)
    double.answer(restored: [download.product])
    double.script([
      [try AgentDouble.text(.download(try Sample.download())), try AgentDouble.text(.download(download))]
    ])
    let recorder = Recorder()
    let product = download.product
    try await queue(double, observed: recorder) { queue in
      let wanted = AgentRestoreRequest(products: [product], order: .newest, limit: 3)
      let begun = try await queue.restoreCompletedTransactions(wanted)
      #expect(begun == [product])
    }
    #expect(await recorder.wait(for: 1) == ["restored [\"\(product)\"]"])
    #expect(double.restores == [AgentRestoreRequest(products: [product], order: .newest, limit: 3)])
  }

  @Test("where nothing is to be fetched a restore is complete at once")
  func nothingToRestore() async throws {
    let double = AgentDouble()
    double.answer(restored: [])
    let recorder = Recorder()
    try await queue(double, observed: recorder, runs: false) { queue in
      let begun = try await queue.restoreCompletedTransactions()
      #expect(begun.isEmpty)
      #expect(await recorder.wait(for: 1) == ["restored []"])
    }
  }

  @Test("a download that fails makes the restore fail, once the others have ended as well")
  func restoreFailed() async throws {
    let double = AgentDouble()
    let failed = try Sample.download(.failed, "integrity")
    var other = try Sample.download(.finished, "placed", verified: 10 << 20)
    other.id = try #require(DownloadIdentifier("d2"))
    other.product = try #require(ProductIdentifier("com.example.other"))
    double.answer(restored: [failed.product, other.product])
    double.script([[try AgentDouble.text(.download(failed)), try AgentDouble.text(.download(other))]])
    let recorder = Recorder()
    try await queue(double, observed: recorder) { queue in
      _ = try await queue.restoreCompletedTransactions()
    }
    #expect(await recorder.wait(for: 1) == ["failed [\"com.example.other\"] [\"integrity\"] -"])
  }

  @Test("a section that fails or is here ends no restore: the content does")
  func sectionsOfRestore() throws {
    let content = try Sample.download(.finished, "placed", verified: 10 << 20)
    var restore = RunningRestore()
    restore.begin([content.product])
    for state in [DownloadStatus.State.finished, .failed, .cancelled] {
      restore.note(ContentDownload(try Sample.download(id: "d2", state, "placed", section: "hires")))
      let isOver = restore.outcome != nil
      #expect(!isOver)
    }
    restore.note(ContentDownload(content))
    guard case .success(let restored)? = restore.outcome else {
      Issue.record("it is not over, or has failed")
      return
    }
    #expect(restored == [content.product])
  }

  @Test("a restore that the agent refuses throws, and observers hear of it")
  func refusedRestore() async throws {
    let double = AgentDouble()
    double.answer(restored: nil)
    let recorder = Recorder()
    try await queue(double, observed: recorder, runs: false) { queue in
      await #expect(throws: (any Error).self) { try await queue.restoreCompletedTransactions() }
      #expect(await recorder.wait(for: 1) == ["failed [] [] purchase"])
    }
  }

  @Test("what came while the agent did not answer is found in the library")
  func foundInLibrary() async throws {
    let double = AgentDouble()
    let item = try Self.item("com.example.a")
    double.answer(restored: [item.product], library: [item])
    double.script([[]])
    let recorder = Recorder()
    try await queue(double, observed: recorder) { queue in
      _ = try await queue.restoreCompletedTransactions()
    }
    #expect(await recorder.wait(for: 1) == ["restored [\"com.example.a\"]"])
  }

  @Test("an earlier version in the library does not end a restore whose download goes on")
  func earlierVersion() async throws {
    let double = AgentDouble()
    let coming = try Sample.download()
    let item = try Self.item(coming.product.description)
    double.list(downloads: [coming])
    double.answer(restored: [coming.product], library: [item])
    double.script([
      [
        try AgentDouble.text(.library(LibraryEvent(change: .changed, item: item))),
        try AgentDouble.text(.download(try Sample.download(.finished, "placed", verified: 10 << 20))),
      ]
    ])
    let recorder = Recorder()
    try await queue(double, observed: recorder) { queue in
      _ = try await queue.restoreCompletedTransactions()
    }
    #expect(
      await recorder.wait(for: 2) == [
        "library changed \(coming.product)", "restored [\"\(coming.product)\"]",
      ])
  }

  @Test("a download that failed while the agent did not answer is no success for an earlier version here")
  func failedUnheard() async throws {
    let double = AgentDouble()
    var failed = try Sample.download(.failed, "integrity")
    failed.version = ContentVersion("2.0")
    let item = try Self.item(failed.product.description)
    // Of an earlier restore, which failed as well.
    var earlier = failed
    (earlier.id, earlier.reason) = (try #require(DownloadIdentifier("d0")), "disk")
    double.list(ended: [failed, earlier])
    double.answer(restored: [failed.product], library: [item])
    double.script([[]])
    let recorder = Recorder()
    try await queue(double, observed: recorder) { queue in
      _ = try await queue.restoreCompletedTransactions()
    }
    #expect(await recorder.wait(for: 1) == ["failed [] [\"integrity\"] -"])
  }

  @Test("a download that failed counts until the library holds its version, and not an earlier one")
  func heldVersions() throws {
    var failed = try Sample.download(.failed, "integrity")
    let (old, new) = (try #require(ContentVersion("1.0")), try #require(ContentVersion("2.0")))
    failed.version = new
    let other = try #require(ProductIdentifier("com.example.other"))
    var restore = RunningRestore()
    restore.begin([failed.product, other])
    restore.note(ContentDownload(failed))
    restore.noteHeld([failed.product: [old]])
    let isOver = restore.outcome != nil
    #expect(!isOver && restore.awaits(failed.product) && restore.awaits(other))
    var healed = restore
    restore.noteHeld([failed.product: [old], other: [old]])
    guard case .failure(let failure)? = restore.outcome else {
      Issue.record("it is not over, or has not failed")
      return
    }
    #expect(failure.restored == [other] && failure.downloads.map(\.id) == [failed.id])
    healed.noteHeld([failed.product: [old, new], other: [old]])
    guard case .success? = healed.outcome else {
      Issue.record("it is not over, or has failed")
      return
    }
    #expect(!healed.awaits(failed.product))
  }

  @Test("what the library cannot show now is not restored until its volume is there again")
  func offlineContent() async throws {
    let double = AgentDouble()
    let (away, back) = (try Self.item("com.example.a", .offline), try Self.item("com.example.a"))
    double.answer(restored: [away.product], library: [away])
    // As it is with the snapshot, the first event and the second one.
    double.hold(later: [[away], [back]])
    double.script([
      try [away, back].map { try AgentDouble.text(.library(LibraryEvent(change: .changed, item: $0))) }
    ])
    let recorder = Recorder()
    try await queue(double, observed: recorder) { queue in
      _ = try await queue.restoreCompletedTransactions()
    }
    #expect(
      await recorder.wait(for: 3) == [
        "library changed com.example.a", "library changed com.example.a", "restored [\"com.example.a\"]",
      ])
  }

  @Test("time remaining is told in words, and the placed content as a URL")
  func words() throws {
    let coming = ContentDownload(try Sample.download(timeRemaining: 185))
    #expect(coming.timeRemainingText == "about 3 minutes" && coming.contentURL == nil)
    let placed = ContentDownload(try Sample.download(.finished, "placed"))
    #expect(placed.timeRemainingText == nil)
    #expect(placed.contentURL?.path() == "/library/x" && placed.contentURL?.isFileURL == true)
  }

  @Test(
    "sequences tell what observers are told; a slow reader gets the latest of each, and the end of the queue ends them"
  )
  func sequences() async throws {
    let double = AgentDouble()
    let finished = try Sample.download(.finished, "placed", verified: 10 << 20)
    double.script([
      [
        try AgentDouble.text(.transaction(try Sample.transaction(step: "planning", downloads: []))),
        try AgentDouble.text(.download(try Sample.download(verified: 5 << 20))),
        try AgentDouble.text(.download(finished)),
        try AgentDouble.text(.transaction(try Sample.transaction(step: "finished"))),
      ]
    ])
    let directory = try TemporaryDirectory()
    let path = directory.path("agent.sock")
    let (transactions, downloads) = try await withServer(double, at: .unix(path: path)) { _ in
      let queue = PaymentQueue(try AgentClient(socketPath: path))
      let updates = (queue.transactionUpdates, queue.downloadUpdates)
      await #expect(throws: (any Error).self) { try await queue.run() }
      return updates
    }
    // The queue is gone; what was not read yet is still there.
    var story: [String] = []
    for await transaction in transactions { story.append("\(transaction.id) \(transaction.state)") }
    for await download in downloads { story.append("\(download.id) \(download.state.rawValue)") }
    #expect(story == ["20 finished", "d1 finished"])
  }

  @Test(
    "a sequence that is asked for later begins with what is not over, and tells each change to one who reads")
  func sequenceBegins() async throws {
    let mailbox = UpdateMailbox([ContentDownload(try Sample.download())])
    var reader = PaymentQueueUpdates(mailbox).makeAsyncIterator()
    #expect(await reader.next()?.progress == 0)
    for verified in [1, 2, 10] as [Int64] {
      mailbox.post([ContentDownload(try Sample.download(verified: verified << 20))])
      #expect(await reader.next()?.progress == Double(verified) / 10)
    }
    mailbox.close()
    #expect(await reader.next() == nil)
  }
}
