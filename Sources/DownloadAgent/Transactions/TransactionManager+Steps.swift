import Commerce
import CoreTypes
import PullboxAPI
import ServiceRuntime

extension TransactionManager {
  /// The store's queue lists the transaction.
  func observe(_ transaction: StoreTransaction) async {
    if runner[transaction.id] == nil {
      let record = TransactionRecord(
        identifier: transaction.id, product: transaction.product, storeState: transaction.state)
      runner.insert(record, context: Attention(), isSaved: false)
      log.info(
        "a transaction is in the queue",
        ["transaction": "\(transaction.id)", "product": "\(transaction.product)"])
    }
    await process(.observed(transaction.state), of: transaction.id) { $0.storeState = transaction.state }
  }

  /// One transition, persisted before its actions are performed. What cannot be persisted is not done; a
  /// later turn tries again.
  func process(
    _ event: TransactionMachine.Event, of identifier: TransactionIdentifier,
    change: (inout TransactionRecord) -> Void = { _ in }
  ) async {
    guard let transition = runner.process(event, of: identifier, change: change) else { return }
    if let error = transition.saveError {
      log.error(
        "a transaction's state cannot be saved",
        ["transaction": "\(identifier)", "error": LogValue(error)])
      return
    }
    let machine = transition.after.machine
    if machine.step != transition.before.machine.step {
      runner[identifier]?.context.overSince = machine.isOver ? clock.now() : nil
      log.info(
        "a transaction came to its next step",
        ["transaction": "\(identifier)", "step": "\(machine.step.rawValue)"])
    }
    for action in transition.actions { await perform(action, on: identifier) }
    if transition.hasChanged { await publish(identifier) }
  }

  private func perform(
    _ action: TransactionMachine.Action, on identifier: TransactionIdentifier
  ) async {
    switch action {
    case .plan, .askServer:
      runner[identifier]?.context.isDue = true
      inbox.wakeUp.signal()
    case .createDownloads(let products):
      do {
        try await downloads.add(products, for: identifier)
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

  /// Tells the transaction how its downloads stand.
  func processDownloads(of identifier: TransactionIdentifier) async {
    await process(.downloads(await downloads.outcomes(of: identifier)), of: identifier)
  }

  /// What downloads have reported since the last turn.
  func processReports() async {
    let messages = inbox.removeAll()
    for report in messages.reports { await process(.serverAnswered(report.state), of: report.transaction) }
    for identifier in messages.changed { await processDownloads(of: identifier) }
  }

  func processDueRetries() async {
    for identifier in runner.dequeueDueRetries() {
      if runner[identifier]?.record.machine.step == .delivering {
        await processDownloads(of: identifier)
      } else {
        await process(.retryDue, of: identifier)
      }
    }
  }

  /// Asks the server for what is due: once for all plans, since a receipt holds every purchase, and once for
  /// each transaction that waits for its end.
  func askServer() async {
    let due = runner.entries.filter(\.value.context.isDue).mapValues(\.record.machine.step)
    for identifier in due.keys { runner[identifier]?.context.isDue = false }
    let plans = due.filter { $0.value == .planning }.keys
    if !plans.isEmpty { await plan(Array(plans)) }
    for identifier in due.keys where due[identifier] == .waitingForServer {
      guard let grant = await downloads.grant(of: identifier) else { continue }
      do {
        await process(.serverAnswered(try await server.status(of: grant).state), of: identifier)
      } catch {
        await process(.stepFailed(StepFailure(error, from: .server)), of: identifier)
      }
    }
  }

  private func plan(_ identifiers: [TransactionIdentifier]) async {
    do {
      let owned = try await entitlements()
      for identifier in identifiers {
        var products: [ProductIdentifier] = []
        for item in owned where item.transaction == identifier && !products.contains(item.product) {
          products.append(item.product)
        }
        await process(.planned(products), of: identifier)
      }
    } catch {
      for identifier in identifiers { await process(.stepFailed(error), of: identifier) }
    }
  }

  /// Everything the account owns, by the server's judgement of the store's receipt.
  func entitlements() async throws(StepFailure) -> [EntitledProduct] {
    let proof: Proof
    do {
      proof = try await store.receipt()
    } catch {
      throw StepFailure(error, from: .store)
    }
    do {
      return try await server.entitlements(of: proof)
    } catch {
      throw StepFailure(error, from: .server)
    }
  }

  func publish(_ identifier: TransactionIdentifier) async {
    let identifiers = await downloads.downloads(of: identifier)
    // Read after the wait, so that this publishes the latest state.
    guard let record = runner[identifier]?.record else { return }
    hub.publish(.transaction(record.status(downloads: identifiers)))
  }
}
