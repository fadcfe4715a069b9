import AgentTesting
import Commerce
import CoreTypes
import Crypto
import Database
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords

@Suite struct AgentDatabaseTests {
  private let directory: TemporaryDirectory
  private let transaction: TransactionIdentifier
  private let product: ProductIdentifier
  private let now = Timestamp(millisecondsSinceEpoch: 1_795_000_000_000)

  init() throws {
    directory = try TemporaryDirectory()
    transaction = try #require(TransactionIdentifier("2000000000000001"))
    product = try #require(ProductIdentifier(FixturePackage.product))
  }

  private func open() throws -> AgentDatabase { try AgentDatabase(path: directory.path("agent.sqlite")) }

  private func terms() throws -> DownloadTerms {
    DownloadTerms(
      product: product, version: try #require(ContentVersion("1.10")), length: ByteCount(77),
      digest: .of([1]), manifestDigest: .of([2]), contentURL: "/v1/content/x", manifestURL: "/m",
      ticket: "t", ticketExpires: Timestamp(millisecondsSinceEpoch: 5))
  }

  @Test("a download is read back as it was saved") func downloads() throws {
    let database = try open()
    var record = try #require(
      try database.createDownloads(for: transaction, products: [product], now: now).first)
    record.machine = DownloadMachine(
      phase: .report, state: .failed, reason: StatusReason(rawValue: "completion-mismatch"),
      history: FailureHistory(
        problem: Problem(.completionMismatch, missingStep: .version), cause: "no words", failures: 3,
        losses: 5))
    record.notBefore = Timestamp(millisecondsSinceEpoch: 44)
    record.priority = -7
    record.urgency = .background
    record.wantedBy = 4_294_967_294
    record.grant = GrantIdentifier("00112233445566778899aabbccddeeff")
    record.terms = try terms()
    record.bytesVerified = ByteCount(11)
    record.bytesReceived = ByteCount(22)
    record.placedAt = Timestamp(millisecondsSinceEpoch: 33)
    record.contentPath = "/somewhere/else"
    try database.save(record)
    database.close()
    let read = try #require(try open().allDownloads().first)
    #expect(read.machine == record.machine && read.identifier == record.identifier)
    #expect(
      read.sequence == record.sequence && read.priority == -7 && read.urgency == .background
        && read.wantedBy == 4_294_967_294
        && read.grant == record.grant)
    #expect(read.terms?.digest == .of([1]) && read.terms?.version.description == "1.10")
    #expect(read.bytesVerified == ByteCount(11) && read.bytesReceived == ByteCount(22))
    #expect(read.notBefore == record.notBefore)
    #expect(read.placedAt == record.placedAt && read.contentPath == "/somewhere/else")
  }

  @Test("a download shows its job's reason only while the job is under way") func shownReason() throws {
    var record = DownloadRecord(
      identifier: .random(), sequence: 1, transaction: transaction, product: product)
    record.machine = DownloadMachine(phase: .content, state: .active, reason: .placing)
    _ = record.machine.handle(.contentMissing)
    let grant = try #require(GrantIdentifier("00112233445566778899aabbccddeeff"))
    var job = ContentJobRecord(identifier: .random(), grant: grant, terms: try terms())
    for (state, reason, shown) in [
      (.waiting, .connectionLost, "connection-lost"), (.active, .transferring, "transferring"),
      (.finished, .placed, "waiting-for-content"), (.failed, .publisherSignature, "waiting-for-content"),
    ] as [(ContentJobMachine.State, StatusReason, String)] {
      job.machine = ContentJobMachine(phase: .transfer, state: state, reason: reason)
      let status = record.status(job, ProgressEstimator.Estimate(speed: 0, timeRemaining: nil), now: now)
      #expect(status.reason == shown)
    }
  }

  @Test("a job is read back as it was saved, and gives its digest up to the one after it") func jobs() throws
  {
    let database = try open()
    let grant = try #require(GrantIdentifier("00112233445566778899aabbccddeeff"))
    var record = ContentJobRecord(identifier: .random(), grant: grant, terms: try terms())
    record.machine = ContentJobMachine(
      phase: .place, state: .failed, reason: .storageFailure,
      history: FailureHistory(cause: "fsync: EIO", failures: 3, losses: 9), renewals: 2,
      budget: ContentJobBudget(violations: 4, violatedSince: now, wasted: ByteCount(5)))
    record.failedAt = now
    record.bytesVerified = ByteCount(11)
    record.bytesReceived = ByteCount(22)
    record.notBefore = Timestamp(millisecondsSinceEpoch: 44)
    try database.save(record)
    #expect(try database.contentJobs() == [record])
    let next = ContentJobRecord(identifier: .random(), grant: grant, terms: try terms())
    try database.save(next)
    #expect(try database.contentJobs() == [next])
    try database.removeContentJob(next.identifier)
    #expect(try database.contentJobs().isEmpty)
  }

  @Test("a transaction gets one download for each product, however often it is planned") func once() throws {
    let database = try open()
    let other = try #require(ProductIdentifier("other"))
    #expect(try database.createDownloads(for: transaction, products: [product], now: now).count == 1)
    #expect(
      try database.createDownloads(for: transaction, products: [product, other], now: now).map(\.product) == [
        other
      ])
    #expect(try database.allDownloads().map(\.product) == [product, other])
  }

  /// A download that ended so many days ago, of a transaction that is over.
  private func ended(
    _ number: Int, days: Int = 0, in database: AgentDatabase, step: TransactionMachine.Step = .finished
  ) throws -> DownloadIdentifier {
    let transaction = try #require(TransactionIdentifier("\(2_000_000_000_000_100 + number)"))
    var owner = TransactionRecord(identifier: transaction, product: product, storeState: .purchased)
    owner.machine = TransactionMachine(step: step)
    try database.save(owner, now: now)
    var record = try database.createDownload(for: transaction, product: product, now: now)
    record.machine = DownloadMachine(phase: .report, state: .finished, reason: .placed)
    record.endedAt = now - .seconds(days * 86_400)
    try database.save(record)
    return record.identifier
  }

  @Test("what ended long ago is forgotten, unless its transaction is not over") func pruning() throws {
    let database = try open()
    let kept = [
      try ended(1, days: 89, in: database), try ended(2, days: 100, in: database, step: .waitingForServer),
    ]
    _ = try ended(3, days: 91, in: database)
    let live = try database.createDownload(for: transaction, product: product, now: now).identifier
    try database.pruneDownloads(now: now)
    #expect(try database.allDownloads().map(\.identifier) == kept + [live])
    #expect(try database.liveDownloads().map(\.identifier) == [live])
    #expect(try database.endedDownloadCounts() == [.finished: 2])
    #expect(try database.clearDownloads() == 1)
    #expect(try database.allDownloads().map(\.identifier) == [kept[1], live])
  }

  @Test("of the downloads that are over the latest are kept, and pages begin with them") func keptNumber()
    throws
  {
    let database = try open()
    let all = try (0..<8).map { try ended($0, in: database) }
    try database.pruneDownloads(now: now, keeping: 5)
    #expect(try database.allDownloads().map(\.identifier) == Array(all.dropFirst(3)))
    let page = try database.downloads(in: [.finished], before: .max, limit: 2).map(\.identifier)
    #expect(page == [all[7], all[6]])
  }

  @Test("a transaction is read back as it was saved, the last word counts") func transactions() throws {
    let database = try open()
    var record = TransactionRecord(identifier: transaction, product: product, storeState: .purchasing)
    let now = Timestamp(millisecondsSinceEpoch: 1)
    try database.save(record, now: now)
    record.note(.purchased)
    record.machine = TransactionMachine(
      step: .planning, reason: .contentNotReleased, problem: Problem(.unavailable), cause: "a word", tries: 4)
    record.notBefore = Timestamp(millisecondsSinceEpoch: 77)
    try database.save(record, now: now)
    database.close()
    let read = try open().unfinishedTransactions()
    #expect(read == [record])
  }

  @Test("transactions are listed page by page, those that are over apart from the others") func pages() throws
  {
    let database = try open()
    let identifiers = try (1...7).map { try #require(TransactionIdentifier("200000000000000\($0)")) }
    for (index, identifier) in identifiers.enumerated() {
      var record = TransactionRecord(identifier: identifier, product: product, storeState: .purchased)
      record.machine = TransactionMachine(step: index % 2 == 0 ? .finished : .planning)
      try database.save(record, now: Timestamp(millisecondsSinceEpoch: Int64(index)))
    }
    let download = try #require(
      try database.createDownloads(for: identifiers[1], products: [product], now: now).first)
    func page(
      _ filter: TransactionFilter?, after: TransactionIdentifier? = nil, limit: Int = 100
    ) throws -> [TransactionIdentifier] {
      try database.transactions(filter, after: after, limit: limit).map(\.record.identifier)
    }
    #expect(try page(nil) == identifiers)
    #expect(try page(nil, after: identifiers[1], limit: 2) == [identifiers[2], identifiers[3]])
    #expect(try page(.over) == [0, 2, 4, 6].map { identifiers[$0] })
    #expect(try page(.unfinished, after: identifiers[1]) == [identifiers[3], identifiers[5]])
    #expect(
      try database.transactions(.unfinished, after: nil, limit: 1).first?.downloads == [download.identifier])
    #expect(try database.unfinishedTransactions().map(\.identifier) == [1, 3, 5].map { identifiers[$0] })
    #expect(try database.removeEndedTransactions() == 4)
    #expect(try page(nil) == [1, 3, 5].map { identifiers[$0] })
  }

  @Test("of transactions that are over the latest 10,000 are kept, and none longer than 90 days")
  func pruningTransactions() throws {
    let database = try open()
    let count = AgentDatabase.keptTransactions + 3
    try database.database.writeBlocking(locking: [.everything]) { connection in
      for index in 0..<count {
        try connection.execute(
          "INSERT INTO transactions (id, product, store_state, step, tries, ended_at) VALUES (?, 'p', 'purchased', 'finished', 0, ?)",
          [.text("\(1_000_000 + index)"), .integer(index)])
      }
      try connection.execute(
        "INSERT INTO transactions (id, product, store_state, step, tries) VALUES ('9', 'p', 'purchased', 'planning', 0)"
      )
    }
    try database.pruneTransactions(now: Timestamp(millisecondsSinceEpoch: Int64(count)))
    let kept = try database.transactions(.over, after: nil, limit: count)
    #expect(kept.count == AgentDatabase.keptTransactions)
    #expect(kept.first?.record.identifier.description == "1000003")
    let days = AgentDatabase.keptFor + .milliseconds(5)
    try database.pruneTransactions(now: Timestamp(millisecondsSinceEpoch: 0) + days)
    #expect(
      try database.transactions(.over, after: nil, limit: 1).first?.record.identifier.description == "1000005"
    )
    #expect(try database.unfinishedTransactions().count == 1)
  }

  @Test("the answer about the background is kept with who gave it and when, and a later one takes its place")
  func backgroundAnswer() throws {
    let refused = BackgroundAnswer(isAllowed: false, startsWithSession: false, user: 1000, at: now)
    let allowed = BackgroundAnswer(
      isAllowed: true, startsWithSession: true, user: 1001, at: now + .seconds(1))
    do {
      let database = try open()
      #expect(try database.backgroundAnswer() == nil)
      try database.setBackgroundAnswer(refused)
      #expect(try database.backgroundAnswer() == refused)
      try database.setBackgroundAnswer(allowed)
    }
    #expect(try open().backgroundAnswer() == allowed)
  }
}
