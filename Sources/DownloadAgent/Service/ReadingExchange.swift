import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import LibraryCatalog
import PullboxAPI
import PullboxAPIClient
import ServiceRuntime
import Synchronization
import SystemCalls

/// Tells the server how far products were read on this device, and asks how far they were read on the customer's other ones. What was not
/// told is told later, also by the next process; the later of two words counts on all devices.
final class ReadingExchange: Sendable {
  /// When the server is told and asked.
  struct Rhythm: Sendable {
    /// Words of this time about one product are told as one.
    var quiet: Duration = .seconds(5)
    /// A product is not asked about again for so long.
    var patience: Duration = .seconds(30)
    /// The pauses while the server cannot be told.
    var backoff = Backoff(initial: .seconds(30), cap: .seconds(1800))
  }

  /// A program waits for the server's word no longer than this.
  static let timeout: Duration = .seconds(2)
  /// Words that are told one after the other before the database is looked at again.
  private static let batch = 50
  /// Products whose last question is remembered.
  private static let maximumAsked = 1_000

  private let database: AgentDatabase
  private let server: DeliveryClient
  private let clock: any MonotonicClock
  private let rhythm: Rhythm
  private let log: Log
  /// When each product was asked about last, for the latest of them.
  private let asked = Mutex(
    RecentlyUsedCache<ProductIdentifier, MonotonicInstant>(
      maximumCount: maximumAsked, maximumLength: .mebibytes(1)))
  private let questions = SharedQuestions<ProductIdentifier, Bool>()
  /// Signalled when something was read.
  let changed = AsyncSignal()
  /// Signalled when the way to the server opens.
  private let wayOpened = AsyncSignal()

  init(
    database: AgentDatabase, server: DeliveryClient, clock: any MonotonicClock, log: Log,
    rhythm: Rhythm = Rhythm()
  ) {
    self.database = database
    self.server = server
    self.clock = clock
    self.log = log
    self.rhythm = rhythm
    server.path.network.signalOpenings(to: wayOpened)
  }

  /// The exchange for the shelf of the device's programs.
  var sharing: ReadingShelf.Sharing {
    ReadingShelf.Sharing(
      note: { self.changed.signal() }, refresh: { await self.refresh($0, readAs: $1) })
  }

  /// Until the task is cancelled. Nothing wakes it but a word, and after a failure the next try: later, or when the way opens.
  func run() async {
    var failures = 0
    while !Task.isCancelled {
      do {
        try await tellAll()
        failures = 0
        await changed.wait(atMost: nil, clock: clock)
        // More pages are turned meanwhile.
        try await clock.sleep(for: rhythm.quiet)
      } catch {
        guard !Task.isCancelled else { return }
        failures += 1
        log.debug("the place of reading cannot be told", ["error": LogValue(error)])
        let asked = (error as? APICallError)?.retryAfter ?? .zero
        await wayOpened.wait(
          atMost: max(asked, rhythm.backoff.delay(afterFailures: failures)), clock: clock)
      }
    }
  }

  /// Throws what keeps the server from being told; what it refuses is not told again.
  private func tellAll() async throws {
    while true {
      let records = try await BlockingPool.shared.run { [database] in
        try database.untoldReadings(limit: Self.batch)
      }
      var failure: (any Error)?
      for record in records {
        do {
          try await tell(record)
        } catch let error as APICallError {
          // What goes wrong with one product says nothing of another; that the server has too much to do does.
          guard case .problem = error, !error.isUnavailable else { throw error }
          failure = failure ?? error
        }
      }
      if let failure { throw failure }
      guard records.count == Self.batch else { return }
    }
  }

  private func tell(_ record: ReadingRecord) async throws {
    let (product, modified) = (record.product, record.progress.modified)
    let grant = try await BlockingPool.shared.run { [database] in try database.grant(of: product) }
    var standing: ReadingProgress?
    if let grant {
      do {
        standing = try await server.tell(record.shared, of: grant)
      } catch {
        // The server itself has refused; a page in its place, no way to it, and an earlier version that has no such route are no refusals.
        guard case .problem(let problem) = error, !error.isTemporary, !error.isOfMissingRoute,
          (400..<500).contains(problem.status)
        else { throw error }
        log.debug(
          "the server takes no place of reading",
          ["product": LogValue("\(product)"), "error": LogValue(error)])
      }
    }
    try await BlockingPool.shared.run { [database, standing] in
      try database.noteTold(product, at: modified)
      if let standing { try Self.adopt(standing, of: product, readAs: record.version, in: database) }
    }
  }

  /// Asks for the server's word about a product, unless that was done a moment ago; those that ask at the same time wait for one answer.
  /// Where it does not come soon, what is known here counts.
  func refresh(_ product: ProductIdentifier, readAs version: ContentVersion) async {
    let now = clock.now()
    let last = asked.locked { $0.value(for: product) }
    guard last.map({ now - $0 >= rhythm.patience }) ?? true else { return }
    do {
      _ = try await questions.answer(to: product) { [self] in
        try await ask(product, readAs: version)
        return true
      }
    } catch {
      log.debug(
        "how far a product was read elsewhere is not known",
        ["product": LogValue("\(product)"), "error": LogValue(error)])
    }
    asked.locked { $0.insert(now, for: product, length: ByteCount(64)) }
  }

  private func ask(_ product: ProductIdentifier, readAs version: ContentVersion) async throws {
    let grant = try await BlockingPool.shared.run { [database] in try database.grant(of: product) }
    guard let grant, let told = try await server.progress(of: grant, timeout: Self.timeout) else { return }
    try await BlockingPool.shared.run { [database] in
      try Self.adopt(told, of: product, readAs: version, in: database)
    }
  }

  /// Blocks.
  private static func adopt(
    _ told: ReadingProgress, of product: ProductIdentifier, readAs version: ContentVersion,
    in database: AgentDatabase
  ) throws {
    let record = ReadingRecord(told, of: product, readAs: version)
    let standing = try database.put(record) { _ in }
    if standing.progress.modified == told.modified { try database.noteTold(product, at: told.modified) }
  }
}
