import AgentRecords
import Commerce
import ContentLibrary
import CoreTypes
import PullboxAPI
import PullboxAPIClient
import ServiceAPI
import ServiceRuntime

extension TransactionManager {
  /// The store's queue lists the transaction. Throws where it cannot be looked up. Calling it again for what
  /// is known changes what the store says of it and nothing else.
  ///
  /// - Returns: whether that is written down; otherwise the store has to say it again.
  @discardableResult
  func observe(
    _ transaction: StoreTransaction, session: SessionName? = nil, ignored: [IgnoredCondition] = []
  ) async throws -> Bool {
    if runner[transaction.id] == nil {
      let known = try database.transaction(transaction.id)
      let record =
        known
        ?? TransactionRecord(
          identifier: transaction.id, product: transaction.product, storeState: transaction.state)
      // One that is over and listed has nothing to do, unless the store has reopened it.
      if record.machine.isOver, record.machine.step == .failed { return true }
      runner.insert(record, context: Attention(), isSaved: known != nil)
      log.info(
        "a transaction is in the queue",
        ["transaction": "\(transaction.id)", "product": "\(transaction.product)"])
    }
    runner[transaction.id]?.context.isListed = true
    return await process(.observed(transaction.state), of: transaction.id) { record in
      record.note(transaction.state)
      record.session = record.session ?? session
      if !ignored.isEmpty { record.ignored = ignored }
    }
  }

  /// One transition, persisted before its actions are performed. What cannot be persisted is not done, which false says; a
  /// later turn tries again. It may wait for downloads in its actions, so that other transitions of the same
  /// transaction come in between.
  @discardableResult
  func process(
    _ event: TransactionMachine.Event, of identifier: TransactionIdentifier,
    change: (inout TransactionRecord) -> Void = { _ in }
  ) async -> Bool {
    guard let transition = runner.process(event, of: identifier, change: change) else { return false }
    if let error = transition.saveError {
      log.error(
        "a transaction's state cannot be saved",
        ["transaction": "\(identifier)", "error": LogValue(error)])
      return false
    }
    let machine = transition.after.machine
    // Known before anything is awaited, so that a list that was asked for earlier does not reopen it.
    if machine.isOver { recentEnds[identifier] = clock.now() }
    if machine.step != transition.before.machine.step {
      log.info(
        "a transaction came to its next step",
        ["transaction": "\(identifier)", "step": "\(machine.step.rawValue)"])
    }
    for action in transition.actions { await perform(action, on: identifier) }
    if transition.hasChanged { await publish(transition.after) }
    if machine.isOver { forget(identifier) }
    return true
  }

  /// A transaction that is over is in the database alone.
  private func forget(_ identifier: TransactionIdentifier) {
    guard runner[identifier]?.record.machine.isOver == true else { return }
    runner[identifier] = nil
    endsSincePruning += 1
    guard endsSincePruning >= Self.endsBetweenPrunings else { return }
    endsSincePruning = 0
    pruneHistory()
  }

  /// Never throws: old rows cost room and nothing else.
  func pruneHistory() {
    do {
      try database.makingRoom { try database.pruneTransactions(now: wallClock.now()) }
    } catch {
      log.warning("the history of transactions cannot be pruned", ["error": LogValue(error)])
    }
  }

  /// A question to the server is noted, and asked by the loop for that.
  private func perform(
    _ action: TransactionMachine.Action, on identifier: TransactionIdentifier
  ) async {
    switch action {
    case .plan, .askServer:
      runner[identifier]?.context.isDue = true
      questions.signal()
    case .createDownloads(let products):
      do {
        try await downloads.add(
          products, for: identifier, session: runner[identifier]?.record.session,
          ignored: runner[identifier]?.record.ignored ?? [])
      } catch {
        // The step says that there are downloads; that there are none is noticed when the delay is over.
        log.error(
          "downloads cannot be created", ["transaction": "\(identifier)", "error": LogValue(error)])
        runner.scheduleRetry(of: identifier, after: Runner.saveRetryDelay)
        return
      }
      await processDownloads(of: identifier)
    case .scheduleRetry: preconditionFailure("the runner performs this itself")
    }
  }

  /// Tells the transaction how its downloads stand; later where they cannot be read now. Repeating it changes
  /// nothing.
  func processDownloads(of identifier: TransactionIdentifier) async {
    let outcomes: [TransactionMachine.Outcome]
    do {
      outcomes = try await downloads.outcomes(of: identifier)
    } catch {
      log.error(
        "downloads cannot be read", ["transaction": "\(identifier)", "error": LogValue(error)])
      runner[identifier]?.context.hasUnreadDownloads = true
      runner.scheduleRetry(of: identifier, after: Runner.saveRetryDelay)
      return
    }
    runner[identifier]?.context.hasUnreadDownloads = false
    await process(.downloads(outcomes), of: identifier)
  }

  /// Processes the reports of downloads since the last turn. The server's answers come before the ends of
  /// downloads.
  func processReports() async {
    let messages = inbox.removeAll()
    for report in messages.reports { await process(.serverAnswered(report.state), of: report.transaction) }
    for identifier in messages.changed { await processDownloads(of: identifier) }
  }

  /// A transaction that is delivering looks at its downloads again; everything else retries its step.
  func processDueRetries() async {
    for identifier in runner.dequeueDueRetries() {
      guard let entry = runner[identifier] else { continue }
      let isDelivering = entry.record.machine.step == .delivering
      if isDelivering || entry.context.hasUnreadDownloads { await processDownloads(of: identifier) }
      if !isDelivering { await process(.retryDue, of: identifier) }
    }
  }

  /// Asks the server for what is due, side by side: once for all plans, since a receipt holds every purchase, and once
  /// for each transaction that waits for its end, a few at a time. Returns when all are answered. What
  /// becomes due meanwhile waits for the next turn.
  func askServer() async {
    let due = runner.entries.filter(\.value.context.isDue).mapValues(\.record.machine.step)
    for identifier in due.keys { runner[identifier]?.context.isDue = false }
    let plans = due.filter { $0.value == .planning }.keys
    await withTaskGroup(of: Void.self) { group in
      if !plans.isEmpty { group.addTask { await self.plan(Set(plans)) } }
      var asked = 0
      for identifier in due.keys where due[identifier] == .waitingForServer || due[identifier] == .delivering
      {
        if asked >= Self.questionsAtOnce { await group.next() }
        asked += 1
        group.addTask { await self.askForEnd(of: identifier) }
      }
    }
  }

  /// One transaction: the grant's state at the server. A failure is an event and is not thrown.
  private func askForEnd(of identifier: TransactionIdentifier) async {
    // One question of many: the turn is as long as all of them.
    serverLoop.turnBegan()
    var asked: ProductIdentifier?
    do {
      let reported = try await downloads.lastReported(of: identifier)
      guard let reported, let grant = reported.grant else {
        // What was delivered is not known any more: it is planned again.
        await processDownloads(of: identifier)
        guard runner[identifier]?.record.machine.step == .waitingForServer else { return }
        throw StepFailure.retry(.storageFailure, cause: "no download of it is known to have finished")
      }
      asked = reported.product
      let status = try await server.status(of: grant)
      // That of the grant itself, which was taken once, may be lost as well.
      let remaining = (status.remaining ?? []) + (status.state == .granted ? [status.product] : [])
      let owed = try await downloads.withoutDownload(remaining, of: identifier)
      // A report that is on its way is there by the next question.
      if owed.isEmpty, runner[identifier]?.record.machine.tries ?? 0 > 0 {
        try await deliverAgain(remaining, of: identifier)
      }
      await process(owed.isEmpty ? .serverAnswered(status.state) : .owed(owed), of: identifier)
    } catch {
      var failure = StepFailure(error, from: .server)
      // A server whose earlier state was put back does not know the grant, or the device's key for it.
      if failure.recovery == .requestGrant, let asked {
        do { try await deliverAgain([asked], of: identifier) } catch {
          failure = StepFailure(error, from: .server)
        }
      }
      logFailure(failure, of: [identifier])
      await process(.stepFailed(failure), of: identifier)
    }
  }

  private func deliverAgain(_ products: [ProductIdentifier], of identifier: TransactionIdentifier)
    async throws
  {
    let record = runner[identifier]?.record
    try await downloads.deliverAgain(
      products, of: identifier, session: record?.session, ignored: record?.ignored ?? [])
  }

  /// One question about all that is owned. A product that several transactions pay for goes to the one that
  /// the server names.
  private func plan(_ identifiers: Set<TransactionIdentifier>) async {
    do {
      var products: [TransactionIdentifier: [ProductIdentifier]] = [:]
      let answer = try await entitlements(waiting: identifiers.sorted { $0.description < $1.description })
      for item in answer.products
      where identifiers.contains(item.transaction)
        && products[item.transaction]?.contains(item.product) != true
      {
        products[item.transaction, default: []].append(item.product)
      }
      let settled = Set(answer.settled ?? [])
      for identifier in identifiers {
        let planned = products[identifier] ?? []
        let isSettled = planned.isEmpty && settled.contains(identifier)
        await process(isSettled ? .settled : .planned(planned), of: identifier)
      }
      // The store's queue tells when it has heard.
      if !settled.isEmpty { pollSoon() }
    } catch {
      logFailure(error, of: identifiers)
      for identifier in identifiers { await process(.stepFailed(error), of: identifier) }
    }
  }

  /// One line, however many transactions one question was about.
  private func logFailure(_ failure: StepFailure, of identifiers: Set<TransactionIdentifier>) {
    log.info(
      "a question about transactions has no answer",
      [
        "transaction": LogValue("\(identifiers.min { $0.description < $1.description }?.description ?? "-")"),
        "count": LogValue(identifiers.count), "reason": LogValue(failure.reason),
        "cause": LogValue(failure.cause ?? failure.problem?.description ?? "-"),
      ])
  }

  /// Where the account's feed is; nil where the server has none. Asks the server now.
  func feedReference() async throws(StepFailure) -> FeedReference? {
    try await entitlements().feed
  }

  /// Everything the account owns, by the server's judgement of the store's receipt, and which of `waiting` open nothing
  /// more. The answer is noted: the library's items know what is owned, and ``latestFeed`` follows. Throws
  /// ``StepFailure``.
  func entitlements(
    waiting: [TransactionIdentifier]? = nil
  ) async throws(StepFailure) -> EntitlementsResponse {
    hasShownReceipt = true
    let asked = wallClock.now()
    let answer = try await store.withReceipt { [server] proof async throws(APICallError) in
      try await server.entitlements(of: proof, waiting: waiting)
    }
    latestFeed = answer.feed ?? latestFeed
    await note(answer.products, asked: asked)
    return answer
  }

  /// The library shows what is owned, also while no service can be asked.
  ///
  /// - Parameter asked: when the question was asked, by this device's clock; what the feed told later than
  ///   that stays.
  private func note(_ owned: [EntitledProduct], asked: Timestamp) async {
    do {
      for item in try await downloads.steps.library.noteOwned(owned, asked: asked) {
        hub.publish(.library(LibraryEvent(change: .changed, item: item)))
      }
    } catch {
      log.warning("what is owned cannot be noted", ["error": LogValue(error)])
    }
  }

  /// Publishes `record`, or what has become of it meanwhile.
  func publish(_ record: TransactionRecord) async {
    let identifiers = await downloads.downloads(of: record.identifier)
    // Read after the wait; another loop may have forgotten one that is over.
    let latest = runner[record.identifier]?.record ?? record
    hub.publish(.transaction(latest.status(downloads: identifiers, title: titles[latest.product])))
  }
}
