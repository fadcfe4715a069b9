import Synchronization

/// The changes in a ``PaymentQueue``, in order, for one reader.
///
/// ```swift
/// for await download in queue.downloadUpdates { row(download.id).progress = download.progress }
/// ```
public struct PaymentQueueUpdates<Element: Identifiable & Sendable>: AsyncSequence, Sendable
where Element.ID: Sendable {
  private let mailbox: UpdateMailbox<Element>

  init(_ mailbox: UpdateMailbox<Element>) {
    self.mailbox = mailbox
  }

  /// All iterators read the same updates: use one.
  public func makeAsyncIterator() -> Iterator { Iterator(mailbox: mailbox) }

  /// Reads the updates, one at a time.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let mailbox: UpdateMailbox<Element>

    /// The next update; nil once the queue is gone, and when the task is cancelled.
    public mutating func next() async -> Element? { await mailbox.next() }
  }
}

/// Holds the latest of each thing that one reader has not read yet, in the order in which they first changed.
final class UpdateMailbox<Element: Identifiable & Sendable>: Sendable where Element.ID: Sendable {
  private struct State {
    var order: [Element.ID] = []
    var latest: [Element.ID: Element] = [:]
    var isClosed = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state: Mutex<State>

  init(_ elements: [Element]) {
    state = Mutex(State())
    post(elements)
  }

  func post(_ elements: [Element]) {
    change { state in
      for element in elements {
        if state.latest.updateValue(element, forKey: element.id) == nil { state.order.append(element.id) }
      }
    }
  }

  func close() { change { $0.isClosed = true } }

  /// Nil at the end, and when the task is cancelled.
  func next() async -> Element? {
    while !Task.isCancelled {
      let (element, isClosed) = state.locked { state -> (Element?, Bool) in
        guard !state.order.isEmpty else { return (nil, state.isClosed) }
        return (state.latest.removeValue(forKey: state.order.removeFirst()), false)
      }
      if let element { return element }
      if isClosed { return nil }
      await waitForChange()
    }
    return nil
  }

  private func waitForChange() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.locked { state in
          if !state.order.isEmpty || state.isClosed || Task.isCancelled { return true }
          state.waiting = continuation
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      change { _ in }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let waiting = state.locked { state in
      body(&state)
      return state.waiting.take()
    }
    waiting?.resume()
  }
}

/// Refers to a mailbox as long as its reader has it.
struct WeakUpdateMailbox<Element: Identifiable & Sendable>: Sendable where Element.ID: Sendable {
  weak var mailbox: UpdateMailbox<Element>?
}

extension Array {
  /// Posts to the mailboxes that are still read.
  func post<Value>(_ elements: [Value]) where Element == WeakUpdateMailbox<Value> {
    for entry in self { entry.mailbox?.post(elements) }
  }

  /// Adds a mailbox, and forgets those that are read no more.
  mutating func add<Value>(_ mailbox: UpdateMailbox<Value>) where Element == WeakUpdateMailbox<Value> {
    removeAll { $0.mailbox == nil }
    append(WeakUpdateMailbox(mailbox: mailbox))
  }

  /// Ends all sequences.
  func close<Value>() where Element == WeakUpdateMailbox<Value> {
    for entry in self { entry.mailbox?.close() }
  }
}
