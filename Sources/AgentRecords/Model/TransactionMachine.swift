package import Commerce
package import CoreTypes
package import PullboxAPI
package import ServiceAPI

/// The state machine of a transaction on this device: decides, without any I/O, what to ask, to download and
/// to wait for until nothing is owed.
///
/// Its steps go from observed over planning and delivering to waiting for the server. It ends only when the
/// server says that the store has finished the transaction, or when the store no longer lists one that needed
/// nothing from here. ``MachineRunner`` persists the new value before an action is performed:
///
/// ```swift
/// var machine = TransactionMachine()
/// machine.handle(.observed(.purchased))         // [.plan]
/// machine.handle(.planned([product]))           // [.createDownloads([product])]
/// machine.handle(.downloads([.delivered]))      // [.askServer]
/// machine.handle(.serverAnswered(.finished))    // [], and it is over
/// ```
package struct TransactionMachine: StateMachine {
  package enum Step: String, CaseIterable, Hashable, Sendable {
    /// In the queue, not paid: `purchasing` or `deferred`.
    case observed
    /// Paid; what it entitles to is to be asked.
    case planning
    /// Its downloads are under way, or one of them ended without success.
    case delivering
    /// Everything is delivered and reported; the server has yet to hear from the store.
    case waitingForServer = "waiting-for-server"
    case finished
    /// The store says the payment failed: there is nothing to deliver.
    case failed
  }

  /// How a download ended, for its transaction.
  package enum Outcome: Hashable, Sendable {
    case pending
    case delivered
    case failed
    case cancelled
  }

  package enum Event: Hashable, Sendable {
    /// The store's queue lists it, in that state.
    case observed(StoreTransaction.State)
    /// A complete answer of the store no longer lists it, for the first time.
    case disappeared
    /// The server has answered what this transaction entitles to.
    case planned([ProductIdentifier])
    /// The server answered that it opens nothing, and has the store told so.
    case settled
    /// Asking failed.
    case stepFailed(StepFailure)
    /// How its downloads stand now.
    case downloads([Outcome])
    /// The server answered with the state of a grant of this transaction.
    case serverAnswered(GrantState)
    /// The server answered that the transaction still owes this device these products, of which it has no download: they were
    /// released, or bought, between the plan and the grants.
    case owed([ProductIdentifier])
    /// The delay of the last try is over.
    case retryDue
  }

  package enum Action: Hashable, Sendable {
    /// Ask the server what the transaction entitles to.
    case plan
    /// Create a download for each product of which the transaction has none.
    case createDownloads([ProductIdentifier])
    /// Ask the server for the state of a grant of this transaction.
    case askServer
    /// Send ``Event/retryDue`` after the retry policy's delay for that many tries in a row.
    case scheduleRetry(tries: Int, notBefore: Duration?)
  }

  package private(set) var step: Step
  /// Nil where there is nothing to say beside the step.
  package private(set) var reason: StatusReason?
  package private(set) var problem: Problem?
  /// The words of what failed last, on one line.
  package private(set) var cause: String?
  /// Tries in a row that did not bring the transaction to its next step.
  package private(set) var tries: Int

  package init(
    step: Step = .observed, reason: StatusReason? = nil, problem: Problem? = nil, cause: String? = nil,
    tries: Int = 0
  ) {
    self.step = step
    self.reason = reason
    self.problem = problem
    self.cause = cause
    self.tries = tries
  }

  package var isOver: Bool { step == .finished || step == .failed }

  /// An event that does not fit the step changes nothing. A transaction that failed stays so, and one that is
  /// finished is reopened by the store's queue alone.
  package mutating func handle(_ event: Event) -> [Action] {
    switch event {
    case .observed(let state): observe(state)
    case .disappeared: handleDisappearance()
    case .planned(let products): plan(products)
    case .settled: settle()
    case .stepFailed(let failure): handleFailure(failure)
    case .downloads(let outcomes): deliver(outcomes)
    case .serverAnswered(let state): process(state)
    case .owed(let products): deliverMore(products)
    case .retryDue: retry()
    }
  }
}

extension TransactionMachine {
  /// A state that cannot be persisted is tried again from the one before.
  package static func saveFailed(_ error: StepFailure, during event: Event) -> Event? { nil }
  package var retriesAfterFailedSave: Bool { true }

  package static func runnerAction(for action: Action) -> RunnerAction? {
    guard case .scheduleRetry(let tries, let notBefore) = action else { return nil }
    return .scheduleRetry(failures: tries, notBefore: notBefore)
  }
}

extension TransactionMachine {
  /// A payment counts once. A finished transaction that the store lists as paid is planned again.
  private mutating func observe(_ state: StoreTransaction.State) -> [Action] {
    switch (step, state) {
    case (.observed, .purchased), (.observed, .restored):
      transition(.planning)
      return [.plan]
    case (.observed, .purchasing), (.observed, .deferred):
      reason = state == .deferred ? .awaitingApproval : .awaitingPayment
      return []
    case (.observed, .failed):
      transition(.failed, .paymentFailed)
      return []
    case (.finished, .purchased), (.finished, .restored):
      // The store has reopened the transaction, or our record is out of date: what is owed is owed again.
      transition(.planning)
      return [.plan]
    case (.delivering, .purchased), (.delivering, .restored):
      if reason == .finishedElsewhere { reason = nil }
      return []
    case (.planning, _), (.delivering, _), (.waitingForServer, _), (.finished, _), (.failed, _):
      return []
    }
  }

  private mutating func handleDisappearance() -> [Action] {
    switch step {
    case .observed, .planning:
      transition(.finished, .finishedElsewhere)
      return []
    case .waitingForServer:
      // The server decides. What it has answered already is out of date, so it is asked without delay; where asking
      // failed, or is under way, the time of the next try stands.
      return reason == .storeNotAnswered ? [.askServer] : []
    case .delivering:
      // Where one of them ended without success, the store may have been told that nothing is owed any more: what it was for was withdrawn.
      if reason == .downloadFailed || reason == .downloadCancelled { return [.askServer] }
      // Its downloads go on: what they bring is owned all the same.
      if reason == nil { reason = .finishedElsewhere }
      return []
    case .finished, .failed:
      return []
    }
  }

  /// Where nothing has content yet, the server is asked again later.
  private mutating func plan(_ products: [ProductIdentifier]) -> [Action] {
    guard step == .planning else { return [] }
    if products.isEmpty {
      reason = .contentNotReleased
      problem = nil
      cause = nil
      tries += 1
      return [.scheduleRetry(tries: tries, notBefore: nil)]
    }
    transition(.delivering)
    return [.createDownloads(products)]
  }

  /// It leaves the store's queue once the store has heard, and is over then. Until that is seen it is asked about again.
  private mutating func settle() -> [Action] {
    guard step == .planning else { return [] }
    reason = .storeNotAnswered
    problem = nil
    cause = nil
    tries += 1
    return [.scheduleRetry(tries: tries, notBefore: nil)]
  }

  private mutating func handleFailure(_ failure: StepFailure) -> [Action] {
    guard step == .planning || step == .waitingForServer else { return [] }
    reason = failure.reason
    problem = failure.problem
    cause = failure.cause
    tries += 1
    // A refusal that repeating does not change today (refunded, wrong application) may change at the store:
    // the transaction is still in its queue, so the server is asked again, at growing intervals.
    guard case .retry(let notBefore) = failure.recovery else {
      return [.scheduleRetry(tries: tries, notBefore: nil)]
    }
    return [.scheduleRetry(tries: tries, notBefore: notBefore)]
  }

  /// A transaction that waits for the server delivers again where a download is under way again.
  private mutating func deliver(_ outcomes: [Outcome]) -> [Action] {
    guard step == .delivering || step == .waitingForServer else { return [] }
    if outcomes.isEmpty {
      // The agent ended before it created them.
      transition(.planning)
      return [.plan]
    }
    if outcomes.allSatisfy({ $0 == .delivered }) {
      guard step == .delivering else { return [] }
      transition(.waitingForServer)
      return [.askServer]
    }
    let elsewhere: StatusReason? = reason == .finishedElsewhere ? .finishedElsewhere : nil
    let blocked: StatusReason? =
      outcomes.contains(.failed) ? .downloadFailed : outcomes.contains(.cancelled) ? .downloadCancelled : nil
    transition(.delivering, blocked ?? elsewhere)
    return []
  }

  /// `finished` ends it, also while downloads run.
  private mutating func process(_ state: GrantState) -> [Action] {
    guard step == .delivering || step == .waitingForServer else { return [] }
    switch state {
    case .finished:
      transition(.finished)
      return []
    case .granted, .reading, .completed, .revoked:
      guard step == .waitingForServer else { return [] }
      reason = state == .revoked ? .grantRevoked : .storeNotAnswered
      problem = nil
      cause = nil
      tries += 1
      return [.scheduleRetry(tries: tries, notBefore: nil)]
    }
  }

  /// More that is owed is delivered like the products of the plan.
  private mutating func deliverMore(_ products: [ProductIdentifier]) -> [Action] {
    guard step == .waitingForServer, !products.isEmpty else { return [] }
    transition(.delivering)
    return [.createDownloads(products)]
  }

  private func retry() -> [Action] {
    switch step {
    case .planning: [.plan]
    case .waitingForServer: [.askServer]
    case .observed, .delivering, .finished, .failed: []
    }
  }

  /// Tries are counted within a step.
  private mutating func transition(_ step: Step, _ reason: StatusReason? = nil) {
    if self.step != step { tries = 0 }
    self.step = step
    self.reason = reason
    problem = nil
    cause = nil
  }
}

/// Everything the agent remembers of a transaction.
package struct TransactionRecord: MachineRecord {
  package let identifier: TransactionIdentifier
  package let product: ProductIdentifier
  /// The state that the store named last, but for an answer that a later one has overtaken.
  package private(set) var storeState: StoreTransaction.State
  package var machine = TransactionMachine()
  /// Until when a retry waits, also over a restart.
  package var notBefore: Timestamp?
  /// The app that bought it.
  package var session: SessionName?
  /// The conditions of the machine that its downloads pass, each with the user who said so.
  package var ignored: [IgnoredCondition] = []
  /// When it was heard that it was taken back; nil for one that counts.
  package var revoked: Timestamp?

  package init(
    identifier: TransactionIdentifier, product: ProductIdentifier, storeState: StoreTransaction.State,
    machine: TransactionMachine = TransactionMachine(), notBefore: Timestamp? = nil
  ) {
    self.identifier = identifier
    self.product = product
    self.storeState = storeState
    self.machine = machine
    self.notBefore = notBefore
  }

  /// The store names a state. A payment that has been decided waits for nothing: such a word is of an answer that was longer on its way.
  package mutating func note(_ state: StoreTransaction.State) {
    let isUndecided = state == .purchasing || state == .deferred
    guard machine.step == .observed || !isUndecided else { return }
    storeState = state
  }

  package func status(downloads: [DownloadIdentifier], title: String?) -> AgentTransaction {
    AgentTransaction(
      id: identifier, product: product,
      state: revoked == nil || !machine.isOver ? storeState.rawValue : Self.revokedState,
      step: machine.step.rawValue,
      reason: machine.reason?.rawValue, error: machine.problem, downloads: downloads,
      notBefore: machine.isOver ? nil : notBefore, cause: machine.cause, title: title, session: session,
      revoked: revoked)
  }

  /// The word in place of the store's, which says no more of a purchase once it is over.
  private static let revokedState = "revoked"
}
