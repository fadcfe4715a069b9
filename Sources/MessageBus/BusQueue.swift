import CoreTypes
import Synchronization

/// Carries elements from the loop to one task that reads them, up to a bound.
final class BusQueue<Element: Sendable>: Sendable {
  private struct State {
    var elements: [Element] = []
    var waiter: CheckedContinuation<Element?, Never>?
    var isFinished = false
  }

  private let state = Mutex(State())
  private let bound: Int

  init(bound: Int) { self.bound = bound }

  /// False where the queue is full and the element was left out; true also where nothing reads any more.
  func push(_ element: Element) -> Bool {
    let (isTaken, waiter) = state.locked { state -> (Bool, CheckedContinuation<Element?, Never>?) in
      if state.isFinished { return (true, nil) }
      if let waiter = state.waiter.take() { return (true, waiter) }
      guard state.elements.count < bound else { return (false, nil) }
      state.elements.append(element)
      return (true, nil)
    }
    waiter?.resume(returning: element)
    return isTaken
  }

  /// Puts these in the place of all that was not read.
  func replace(with elements: [Element]) {
    let waiter = state.locked { state -> CheckedContinuation<Element?, Never>? in
      if state.isFinished { return nil }
      state.elements = elements
      return elements.isEmpty ? nil : state.waiter.take()
    }
    guard let waiter else { return }
    let first = state.locked { $0.elements.isEmpty ? nil : $0.elements.removeFirst() }
    waiter.resume(returning: first)
  }

  /// Takes nothing more; elements that wait can still be read.
  func finish() {
    let waiter = state.locked { state in
      state.isFinished = true
      return state.waiter.take()
    }
    waiter?.resume(returning: nil)
  }

  /// The next element; nil at the end, and when the task is canceled. One task reads at a time.
  func next() async -> Element? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let outcome: Element?? = state.locked { state in
          precondition(state.waiter == nil, "one task reads at a time")
          if !state.elements.isEmpty { return .some(state.elements.removeFirst()) }
          if state.isFinished || Task.isCancelled { return .some(nil) }
          state.waiter = continuation
          return nil
        }
        if let outcome { continuation.resume(returning: outcome) }
      }
    } onCancel: {
      state.locked { $0.waiter.take() }?.resume(returning: nil)
    }
  }
}
