import AgentRecords
import ContentLibrary
import CoreTypes
import PullboxAPI
import ServiceRuntime

/// The watches beside the feed: downloads that are due, receipts to be shown, and what has come into the library.
extension ArrivalFollower {
  /// Begins the download. A version that comes while another one of its product is under way is looked at again. One that a reader has
  /// cancelled stays away until it is asked for.
  private func fetch(_ entry: FeedEntry) async throws {
    let held = try await heldVersions()[entry.product]
    let isHere = entry.version.map { version in held.map { version <= $0 } ?? false } ?? false
    var begins = false
    let isDeclined = try await downloads.isDeclined(entry.product, entry.version, of: entry.transaction)
    if !isHere, !isDeclined {
      begins = try await downloads.addMissing(entry.product, for: entry.transaction) != nil
    }
    if begins {
      log.info(
        "what has arrived is fetched",
        ["product": "\(entry.product)", "transaction": "\(entry.transaction)"])
    }
    // Another one may have come meanwhile.
    guard due[entry.product] == entry else { return }
    if isHere || begins || isDeclined {
      try database.removeArrival(of: entry.product)
      due[entry.product] = nil
    } else {
      slots.postpone(entry.product, until: clock.now() + secondLook)
    }
  }

  /// Fetches what is due.
  func watchSlots() async {
    var failures = 0
    while !Task.isCancelled {
      let now = clock.now()
      let entries = Self.newestFirst(due.values.filter { slots.isDue($0.product, at: now) })
      // What was withdrawn meanwhile is not fetched.
      for entry in entries where due[entry.product] == entry {
        do {
          try await fetch(entry)
          failures = 0
        } catch {
          log.error(
            "a download cannot be created", ["product": "\(entry.product)", "error": LogValue(error)])
          failures += 1
          if due[entry.product] == entry {
            slots.postpone(entry.product, until: clock.now() + backoff.delay(afterFailures: failures))
          }
        }
      }
      await slotWakeUp.wait(
        atMost: slots.next.map { max($0 - clock.now(), .milliseconds(1)) }, clock: clock)
    }
  }

  /// After a subscription's end the store may have renewed it: a fresh receipt tells the server.
  func watchReceipt() async {
    while !Task.isCancelled {
      guard receiptChecksLeft > 0 else {
        await receiptWakeUp.wait(atMost: nil, clock: clock)
        continue
      }
      let delay = receiptBackoff.delay(afterFailures: Self.receiptChecks - receiptChecksLeft)
      receiptChecksLeft -= 1
      if delay > .zero { await pause(delay) }
      await store.noteNewPurchase()
      _ = await showReceipt()
    }
  }

  /// Behind a change the receipt is shown once more after that.
  private static let pauseOfLookAgain: Duration = .seconds(5)

  /// Shows the receipt to the server whenever purchases have changed. The server learns of a purchase by another device
  /// of the account only from a receipt that this device shows: it has no feed of that customer before.
  func watchPurchases() async {
    var failures = 0
    var delay: Duration?
    var looksAgain = false
    while !Task.isCancelled {
      if let delay {
        await pause(delay)
      } else if await transactions.receiptChanged.wait(
        atMost: looksAgain ? Self.pauseOfLookAgain : nil, clock: clock)
      {
        looksAgain = true
      } else {
        // The answer may have been of before the store's word to the server, which came at the same moment.
        looksAgain = false
        await store.noteNewPurchase()
      }
      // What is refused for good is refused until something else is bought.
      if case .retry(let told) = await showReceipt()?.recovery {
        failures += 1
        delay = max(backoff.delay(afterFailures: failures), told ?? .zero)
      } else {
        (failures, delay) = (0, nil)
      }
    }
  }

  /// Why it could not be shown; nil where it was.
  @discardableResult
  private func showReceipt() async -> StepFailure? {
    do {
      let owned = try await transactions.entitlements().products
      log.debug("the receipt was shown again", ["owned": "\(owned.count)"])
      return nil
    } catch {
      let failure = StepFailure(error)
      guard !Task.isCancelled else { return failure }
      log.info(
        "the receipt cannot be shown",
        [
          "reason": "\(failure.reason)",
          "cause": LogValue(failure.cause ?? failure.problem?.description ?? "-"),
        ])
      return failure
    }
  }

  /// Tells observers when something that has arrived is in the library.
  func watchLibrary() async {
    while !Task.isCancelled {
      guard let observer = hub.subscribe() else {
        await pause(.seconds(60))
        continue
      }
      while let item = await observer.next() {
        guard case .event(.library(let event)) = item, event.change == .placed,
          let corrects = awaited.removeValue(forKey: event.item.product)
        else { continue }
        hub.publish(corrects ? .correctionReady(event.item) : .issueReady(event.item))
      }
      hub.unsubscribe(observer)
      // The hub is closed, or this observer fell behind.
      await pause(.seconds(1))
    }
  }
}
