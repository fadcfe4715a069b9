import Synchronization

/// The states of a model, for one reader: the present one first, then the latest whenever there is another. A reader that is slow passes over
/// those between. Ends with the model or the reader's task.
public struct ModelStates<State: Sendable>: AsyncSequence, Sendable {
  /// A state.
  public typealias Element = State
  /// It throws nothing.
  public typealias Failure = Never

  let mailbox: UpdateMailbox<ShownState<State>>

  /// All iterators read the same states: use one.
  public func makeAsyncIterator() -> Iterator { Iterator(mailbox: mailbox) }

  /// Reads the states, one at a time.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let mailbox: UpdateMailbox<ShownState<State>>

    /// The next state; nil at the end.
    public mutating func next() async -> State? { await mailbox.next()?.state }
  }
}

/// A state as mailboxes hold it: the latest takes the place of the one before.
struct ShownState<State: Sendable>: Identifiable, Sendable {
  let state: State

  var id: Int { 0 }
}

/// Holds a model's state, and tells its readers of each change.
final class ModelStore<State: Sendable>: Sendable {
  private struct Content: Sendable {
    var state: State
    var readers: [WeakUpdateMailbox<ShownState<State>>] = []
  }

  private let content: Mutex<Content>

  init(_ state: State) { content = Mutex(Content(state: state)) }

  deinit { content.locked { $0.readers }.close() }

  var state: State { content.locked { $0.state } }

  var states: ModelStates<State> {
    content.locked { content in
      let mailbox = UpdateMailbox([ShownState(state: content.state)])
      content.readers.add(mailbox)
      return ModelStates(mailbox: mailbox)
    }
  }

  func change(_ body: (inout State) -> Void) {
    content.locked { content in
      body(&content.state)
      content.readers.post([ShownState(state: content.state)])
    }
  }
}
