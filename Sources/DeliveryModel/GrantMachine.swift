package import PullboxAPI
package import ServiceAPI

/// The one state machine of a grant: events in, actions out, no I/O. A grant goes from `granted` over
/// `completed` (the device has placed the content) to `finished` (the store has closed the transaction); from
/// each of these it may be revoked and goes back there when it is reinstated. A grant of a reader's key stays in `reading`, since an
/// application for reading reports nothing.
///
///     var machine = GrantMachine()
///     for action in machine.handle(.completionReported(missing: nil)) { … }
///     // [.finishTransactionIfDelivered, .answerState]; machine.name is .completed
/// The caller writes the new state down in the same
/// database transaction as the actions' effects. Every event is handled in every state; none traps.
package struct GrantMachine: Hashable, Sendable {
  /// A state and, for a revoked grant, what it goes back to when the revocation is reversed.
  package enum State: Hashable, Sendable {
    /// The device may fetch the content and has not reported it as placed.
    case granted
    /// The device has placed the content, and the store has not closed the transaction yet.
    case completed
    /// The store has closed the transaction. The grant still opens its content.
    case finished
    /// An application for reading may fetch the content with its key, and no report is expected of it.
    case reading
    /// Nothing is opened until the revocation is reversed.
    indirect case revoked(was: State)

    /// Whether nothing is opened.
    package var isRevoked: Bool {
      if case .revoked = self { true } else { false }
    }
  }

  /// The events that reach a grant.
  package enum Event: Hashable, Sendable {
    /// The device asks for a ticket, the first or a further one.
    case ticketRequested
    /// A report arrived; `missing` is the first link of the chain that it lacks.
    case completionReported(missing: CompletionStep?)
    /// The store has marked the transaction finished.
    case transactionFinished
    /// The word of a store or of an operator takes the grant back.
    case revoked
    /// The word that had revoked it holds no more.
    case reinstated
  }

  /// The actions that follow from an event, in the order in which they are to be done.
  package enum Action: Hashable, Sendable {
    /// Seal a ticket for the device.
    case issueTicket
    /// Look whether the transaction still owes the device anything, and if not, put its end in the outbox.
    case finishTransactionIfDelivered
    /// Answer the report with the grant's state.
    case answerState
    /// Refuse with `entitlement-revoked`.
    case refuseRevoked
    /// Refuse with `completion-mismatch`, naming the step.
    case refuseCompletion(CompletionStep)
  }

  /// The state, which ``handle(_:)`` alone changes.
  package private(set) var state: State

  /// A machine in a state that was read; a new grant is granted.
  package init(state: State = .granted) {
    self.state = state
  }

  /// The state in the words of the contract. A revoked grant tells no more than that.
  package var name: GrantState {
    switch state {
    case .granted: .granted
    case .completed: .completed
    case .finished: .finished
    case .reading: .reading
    case .revoked: .revoked
    }
  }

  /// Whether the device has reported that it placed the content, also of a grant that is revoked now.
  package var wasCompleted: Bool {
    switch state {
    case .granted, .reading, .revoked(was: .granted), .revoked(was: .reading): false
    case .completed, .finished, .revoked: true
    }
  }

  /// Takes the event in and returns what follows from it; empty where nothing does. An event that changes
  /// nothing may come any number of times.
  package mutating func handle(_ event: Event) -> [Action] {
    switch (state, event) {
    // A finished grant still opens the content: a device that lost its copy may fetch it again.
    case (.granted, .ticketRequested), (.completed, .ticketRequested), (.finished, .ticketRequested),
      (.reading, .ticketRequested):
      return [.issueTicket]
    case (.revoked, .ticketRequested):
      return [.refuseRevoked]

    case (.revoked, .completionReported):
      return [.refuseCompletion(.grant)]
    case (_, .completionReported(.some(let step))):
      return [.refuseCompletion(step)]
    case (.granted, .completionReported(nil)), (.reading, .completionReported(nil)):
      state = .completed
      return [.finishTransactionIfDelivered, .answerState]
    case (.completed, .completionReported(nil)):
      // The answer to the first report was lost, or another product of the transaction was completed since.
      return [.finishTransactionIfDelivered, .answerState]
    case (.finished, .completionReported(nil)):
      return [.answerState]

    case (.completed, .transactionFinished):
      state = .finished
      return []
    case (.revoked(was: .completed), .transactionFinished):
      state = .revoked(was: .finished)
      return []
    case (.granted, .transactionFinished), (.finished, .transactionFinished),
      (.reading, .transactionFinished), (.revoked, .transactionFinished):
      // Finished elsewhere before this device was done: the device still owes its own report.
      return []

    case (.granted, .revoked), (.completed, .revoked), (.finished, .revoked), (.reading, .revoked):
      state = .revoked(was: state)
      return []
    case (.revoked, .revoked):
      return []
    case (.revoked(was: let before), .reinstated):
      state = before
      return []
    case (.granted, .reinstated), (.completed, .reinstated), (.finished, .reinstated),
      (.reading, .reinstated):
      return []
    }
  }
}
