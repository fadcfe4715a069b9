import Commerce
import CoreTypes
import PullboxAPI
import ServiceRuntime

extension TransactionManager {
  func observe(_ transaction: StoreTransaction) async {
    if entries[transaction.id] == nil {
      entries[transaction.id] = Entry(
        record: TransactionRecord(
          identifier: transaction.id, product: transaction.product, storeState: transaction.state))
      log.info(
        "a transaction is in the queue",
        ["transaction": "\(transaction.id)", "product": "\(transaction.product)"])
    }
    if entries[transaction.id]?.record.storeState != transaction.state {
      entries[transaction.id]?.record.storeState = transaction.state
      entries[transaction.id]?.isSaved = false
    }
    await process(.observed(transaction.state), transaction.id)
  }

  /// One transition: machine, disk, deeds. What cannot be persisted is not done; a later turn tries again.
  func process(_ event: TransactionMachine.Event, _ identifier: TransactionIdentifier) async {
    guard let entry = entries[identifier] else { return }
    var record = entry.record
    let actions = record.machine.handle(event)
    let hasChanged = record.machine != entry.record.machine || !entry.isSaved
    if hasChanged {
      do {
        try database.save(record)
      } catch {
        log.error(
          "a transaction's state cannot be saved",
          ["transaction": "\(identifier)", "error": LogValue(error)])
        entries[identifier]?.retryAt = clock.now() + .seconds(5)
        return
      }
    }
    entries[identifier]?.isSaved = true
    entries[identifier]?.record = record
    if record.machine.step != entry.record.machine.step {
      entries[identifier]?.overSince = record.machine.isOver ? clock.now() : nil
      entries[identifier]?.retryAt = nil
      log.info(
        "a transaction came to its next step",
        ["transaction": "\(identifier)", "step": "\(record.machine.step.rawValue)"])
    }
    for action in actions { await perform(action, identifier) }
    if hasChanged { await publish(identifier) }
  }

  private func perform(_ action: TransactionMachine.Action, _ identifier: TransactionIdentifier) async {
    switch action {
    case .plan, .askServer:
      entries[identifier]?.isDue = true
      inbox.wakeUp.signal()
    case .createDownloads(let products):
      do {
        try await downloads.add(products, for: identifier)
      } catch {
        // The step says that there are downloads; that there are none is noticed when the delay is over.
        log.error(
          "downloads cannot be created", ["transaction": "\(identifier)", "error": LogValue(error)])
        entries[identifier]?.retryAt = clock.now() + .seconds(5)
        return
      }
      await process(.downloads(await downloads.outcomes(of: identifier)), identifier)
    case .scheduleRetry(let tries, let notBefore):
      let delay = retryPolicy.delay(failures: tries, notBefore: notBefore)
      entries[identifier]?.retryAt = clock.now() + delay
      inbox.wakeUp.signal()
    }
  }

  /// What downloads have told since the last turn, and timers.
  func hearNews() async {
    let news = inbox.take()
    for report in news.reports { await process(.serverAnswered(report.state), report.transaction) }
    for identifier in news.changed {
      await process(.downloads(await downloads.outcomes(of: identifier)), identifier)
    }
    let now = clock.now()
    for (identifier, entry) in entries {
      guard let due = entry.retryAt, due <= now else { continue }
      entries[identifier]?.retryAt = nil
      if entry.record.machine.step == .delivering {
        await process(.downloads(await downloads.outcomes(of: identifier)), identifier)
      } else {
        await process(.retryDue, identifier)
      }
    }
  }

  /// Asks the server whatever is to be asked: once for all plans, since a receipt holds every purchase, and once for each
  /// transaction that waits for its end.
  func askServer() async {
    let due = entries.filter(\.value.isDue).mapValues(\.record.machine.step)
    for identifier in due.keys { entries[identifier]?.isDue = false }
    let plans = due.filter { $0.value == .planning }.keys
    if !plans.isEmpty { await plan(Array(plans)) }
    for identifier in due.keys where due[identifier] == .waitingForServer {
      guard let grant = await downloads.grant(of: identifier) else { continue }
      do {
        await process(.serverAnswered(try await server.status(of: grant).state), identifier)
      } catch {
        await process(.stepFailed(StepFailure(error, from: .server)), identifier)
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
        await process(.planned(products), identifier)
      }
    } catch {
      for identifier in identifiers { await process(.stepFailed(error), identifier) }
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
    // Read after the wait: the last word, whoever came in between.
    guard let record = entries[identifier]?.record else { return }
    hub.publish(.transaction(record.status(downloads: identifiers)))
  }
}
