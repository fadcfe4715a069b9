import CoreTypes
import PullboxAPIClient
import ServiceRuntime

/// The question that waits at the store for a change of its queue.
extension TransactionManager {
  /// A store that answers the same sooner does not wait.
  private static let shortestWait: Duration = .seconds(5)
  /// From the beginning of one wait to that of the next, at least: a store may change its tag with each answer.
  private static let waitInterval: Duration = .seconds(1)

  /// Has the store tell when its queue is another one, where it can: the queue is asked then, and by the clock only now and then. Where
  /// that fails, it is asked by the clock until an answer comes.
  func awaitChanges() async {
    var notBefore = clock.now()
    while !Task.isCancelled {
      await tagChanged.wait(atMost: nil, clock: clock)
      while let known = queueTag, !Task.isCancelled {
        do {
          let pause = notBefore - clock.now()
          if pause > .zero { try await clock.sleep(for: pause) }
          let asked = clock.now()
          notBefore = asked + Self.waitInterval
          let tag = try await wait(forOtherThan: known)
          if tag == known, clock.now() - asked < Self.shortestWait {
            askByTheClock(because: "it does not wait")
          } else if tag != queueTag {
            // Unless an answer that was asked for meanwhile has told the same.
            queueTag = nil
            pollSoon()
          }
        } catch is WayChanged {
          // It is asked anew, with what a question meanwhile has brought.
          continue
        } catch {
          if Task.isCancelled { return }
          askByTheClock(because: "\(error)")
        }
      }
    }
  }

  /// A question was ended, since there is another way to the store.
  private struct WayChanged: Error {}

  /// The store's answer once its queue has another tag. Throws ``WayChanged`` where the way has changed meanwhile.
  private func wait(forOtherThan tag: String) async throws -> String? {
    let question = Task { [store] in try await store.tag(otherThan: tag) }
    waiting = question
    defer { waiting = nil }
    do {
      return try await withTaskCancellationHandler {
        try await question.value
      } onCancel: {
        question.cancel()
      }
    } catch {
      guard question.isCancelled, !Task.isCancelled else { throw error }
      throw WayChanged()
    }
  }

  /// Until the next answer of the store.
  private func askByTheClock(because reason: String) {
    log.debug("the store tells no change of its queue", ["reason": LogValue(reason)])
    queueTag = nil
    nextPoll = min(nextPoll, max(pollNotBefore, clock.now() + pollInterval))
    pollWakeUp.signal()
  }
}
