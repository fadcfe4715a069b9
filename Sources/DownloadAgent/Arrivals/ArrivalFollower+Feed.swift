import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import Entitlements
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import ServiceRuntime

/// The questions to the feed, and what is made of the answers.
extension ArrivalFollower {
  /// Asks the feed by that rhythm until the task is cancelled. The first question waits for the first look at the store.
  /// A failure is followed by a pause that grows with each in a row, or by what the server asks for where that is longer.
  func follow(_ rhythm: Rhythm) async {
    if rhythm.delay > .zero { await pause(rhythm.delay) }
    // The receipt is shown once for both: for the feed, and for what was bought while no agent ran.
    await transactions.hasLooked.wait()
    var failures = 0
    while !Task.isCancelled {
      do {
        if try await isOfInterest(), try await !ask(waiting: rhythm.wait) {
          await pause(max(Self.pauseWithoutFeeds, rhythm.pace))
          continue
        }
        failures = 0
        await pause(rhythm.pace)
      } catch {
        if Task.isCancelled { return }
        failures += 1
        let failure = StepFailure(error)
        var delay = max(backoff.delay(afterFailures: failures), rhythm.pauseAfterFailure)
        if case .retry(let told?) = failure.recovery { delay = max(delay, told) }
        log.info(
          "the feed cannot be read",
          [
            "reason": "\(failure.reason)",
            "cause": LogValue(failure.cause ?? failure.problem?.description ?? "-"),
          ])
        if failure.reason.isOfTheWay {
          await wayOpened.wait(atMost: delay, clock: clock)
        } else {
          await pause(delay)
        }
      }
    }
  }

  /// Whether the feed may tell something that matters here: an empty library has nothing of which the ownership could end.
  private func isOfInterest() async throws -> Bool {
    guard policies.areNothing else { return true }
    return try await !downloads.steps.library.items().isEmpty
  }

  /// False where the server knows no feeds.
  private func ask(waiting wait: Duration) async throws -> Bool {
    try restore()
    guard let reference = try await currentReference() else { return false }
    let answer: FeedResponse
    do {
      answer = try await server.feed(reference, after: cursor, wait: wait)
    } catch {
      // The token is over, or of a server that was set up anew: the receipt brings another.
      if error.isRefusedToken { self.reference = nil }
      throw error
    }
    self.reference = answer.feed
    try await take(answer)
    await licenses.heard(answer.feed, isNews: answer.isWhole || !answer.entries.isEmpty)
    answers += 1
    return true
  }

  /// A receipt that was shown meanwhile may have brought another feed: what was bought is a customer's.
  private func currentReference() async throws -> FeedReference? {
    if let latest = await transactions.latestFeed, latest != shown { (reference, shown) = (latest, latest) }
    if let reference, reference.expires > wallClock.now() { return reference }
    reference = try await transactions.feedReference()
    shown = reference
    return reference
  }

  /// Takes in an answer: notes offered versions and the ownership of what is here, and makes a plan of what is new.
  /// Cursor, due and listed entries are saved in one write. Throws what cannot be saved; the same answer then comes
  /// again.
  private func take(_ answer: FeedResponse) async throws {
    try await noteOffered(answer.entries)
    // What cannot be saved is told again: the place in the feed is saved after it.
    for item in try await downloads.steps.library.noteOwnership(of: answer.entries) {
      hub.publish(.library(LibraryEvent(change: .changed, item: item)))
    }
    try await transactions.noteRevoked(revocations(in: answer.entries))
    guard cursor != nil, !answer.entries.isEmpty || answer.isWhole else {
      if cursor != answer.cursor { try database.setFeedCursor(answer.cursor) }
      cursor = answer.cursor
      return
    }
    let held = try await heldVersions()
    // Of a feed that is another one than before, as at the first answer: what is not here is for a restore.
    let expected = Set(due.keys).union(listed.keys)
    let entries =
      answer.isWhole
      ? answer.entries.filter { held[$0.product] != nil || expected.contains($0.product) } : answer.entries
    let plan = ArrivalPlan(entries, policies: policies, held: held, expected: expected)
    // What a whole feed does not tell of is owned no more.
    var arrivals = AgentDatabase.Arrivals(
      cursor: answer.cursor, due: answer.isWhole ? [:] : due, listed: answer.isWhole ? [:] : listed)
    for entry in answer.entries {
      // What is told later counts: what was withdrawn is not fetched any more.
      arrivals.due[entry.product] = nil
      arrivals.listed[entry.product] = nil
    }
    for entry in plan.listed { arrivals.listed[entry.product] = entry }
    for oldest in Self.newestFirst(arrivals.listed.values).dropFirst(Self.maximumListed) {
      arrivals.listed[oldest.product] = nil
    }
    for entry in plan.fetched { arrivals.due[entry.product] = entry }
    let arriving = (plan.fetched + plan.listed).map(\.product)
    downloads.steps.library.listings.noteArrival(of: arriving)
    // What cannot be saved is told again.
    try database.save(arrivals, expectingListingsOf: arriving)
    (cursor, due, listed) = (arrivals.cursor, arrivals.due, arrivals.listed)
    for entry in plan.fetched { awaited[entry.product] = held[entry.product] != nil }
    for entry in entries { hub.publish(.owned(entry)) }
    if plan.needsReceipt {
      receiptChecksLeft = Self.receiptChecks
      receiptWakeUp.signal()
    }
    slotWakeUp.signal()
    listings.wakeUp.signal()
  }

  /// Returns what the entries tell of transactions. One whose subscription has merely ended was not taken back.
  private func revocations(in entries: [FeedEntry]) -> [TransactionIdentifier: Timestamp?] {
    let ownership = downloads.steps.library.ownership
    var told: [TransactionIdentifier: Timestamp?] = [:]
    for entry in entries {
      switch entry.known {
      case .revoked:
        guard ownership[entry.product]?.because == EntitlementRule.revoked.rawValue else { continue }
        told[entry.transaction] = .some(wallClock.now())
      case .issueAvailable, .correctionAvailable, .reinstated: told[entry.transaction] = .some(nil)
      case .withdrawn, .subscriptionEnding, .subscriptionEnded, nil: continue
      }
    }
    return told
  }

  /// Notes the versions that the server offers now. Placed versions that are not offered any more rank behind the offered
  /// one, and so do those that are placed later. Calling it again with the same entries changes nothing.
  private func noteOffered(_ entries: [FeedEntry]) async throws {
    let offered = Dictionary(
      entries.compactMap { entry in entry.version.map { (entry.product, $0) } }, uniquingKeysWith: { $1 })
    guard !offered.isEmpty else { return }
    for item in try await downloads.steps.library.noteOffered(offered) {
      hub.publish(.library(LibraryEvent(change: .changed, item: item)))
    }
  }
}

/// The reading of a server's refusal.
extension APICallError {
  /// Whether the server refuses the feed's token: 401 or 403.
  fileprivate var isRefusedToken: Bool {
    guard case .problem(let problem) = self else { return false }
    return problem.status == 401 || problem.status == 403
  }
}
