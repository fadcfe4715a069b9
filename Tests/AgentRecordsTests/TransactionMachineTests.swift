import Commerce
import PullboxAPI
import ServiceAPI
import Testing

@testable import AgentRecords

private typealias Machine = TransactionMachine

@Suite struct TransactionMachineTests {
  private static let product = ProductIdentifier("com.example.heroes.issue42")
  private static let retry = StepFailure.retry(.serverUnreachable)

  private var products: [ProductIdentifier] { [Self.product].compactMap { $0 } }

  private static let events: [Machine.Event] =
    [StoreTransaction.State.purchasing, .purchased, .failed, .restored, .deferred].map { .observed($0) }
    + GrantState.allCases.map { .serverAnswered($0) }
    + [
      .disappeared, .settled, .planned([]), .planned([product].compactMap { $0 }), .stepFailed(retry),
      .stepFailed(.permanent(.integrity)), .downloads([]), .downloads([.pending]), .downloads([.delivered]),
      .downloads([.delivered, .failed]), .downloads([.cancelled]), .retryDue,
      .owed([]), .owed([product].compactMap { $0 }),
    ]

  private func forEach(_ body: (Machine, Machine.Event, Machine, [Machine.Action]) -> Void) {
    for step in Machine.Step.allCases {
      for event in Self.events {
        let before = Machine(step: step)
        var after = before
        let actions = after.handle(event)
        body(before, event, after, actions)
      }
    }
  }

  @Test("it is finished only by the server's word, or when it left the queue before anything was owed")
  func finishing() {
    forEach { before, event, after, _ in
      guard before.step != .finished, after.step == .finished else { return }
      switch (before.step, event) {
      case (.delivering, .serverAnswered(.finished)), (.waitingForServer, .serverAnswered(.finished)): break
      case (.observed, .disappeared), (.planning, .disappeared): break
      default: Issue.record("\(before.step) finished by \(event)")
      }
    }
  }

  @Test("a download that is under way, failed or was cancelled keeps it unfinished") func downloadsCount() {
    forEach { before, event, after, _ in
      guard case .downloads(let outcomes) = event, after.step == .waitingForServer, before.step == .delivering
      else { return }
      #expect(!outcomes.isEmpty && outcomes.allSatisfy { $0 == .delivered })
    }
  }

  @Test("nothing is asked or created for a transaction that is over, failed or unpaid") func quiet() {
    forEach { before, event, _, actions in
      guard before.step == .failed || before.step == .observed else { return }
      switch event {
      case .observed(.purchased), .observed(.restored): return
      default: #expect(actions.isEmpty, "\(before.step) \(event)")
      }
    }
  }

  @Test("every step that waits for a service has its next try scheduled or its question asked")
  func liveness() {
    forEach { before, event, after, actions in
      guard before.step != after.step, after.step == .planning || after.step == .waitingForServer else {
        return
      }
      #expect(actions == [after.step == .planning ? .plan : .askServer], "\(before.step) \(event)")
    }
    for step in [Machine.Step.planning, .waitingForServer] {
      var machine = Machine(step: step)
      #expect(machine.handle(.stepFailed(Self.retry)) == [.scheduleRetry(tries: 1, notBefore: nil)])
      #expect(machine.handle(.retryDue) == [step == .planning ? .plan : .askServer])
    }
  }

  @Test(
    "a store that no longer lists it lets the server be asked, though never past its Retry-After (D11)"
  )
  func disappearance() {
    var machine = Machine(step: .waitingForServer)
    #expect(machine.handle(.disappeared) == [], "the question is under way")
    _ = machine.handle(.observed(.purchased))
    #expect(machine.handle(.serverAnswered(.completed)) == [.scheduleRetry(tries: 1, notBefore: nil)])
    #expect(machine.handle(.disappeared) == [.askServer])
    let told = StepFailure.retry(.serverUnavailable, notBefore: .seconds(60))
    #expect(machine.handle(.stepFailed(told)) == [.scheduleRetry(tries: 2, notBefore: .seconds(60))])
    _ = machine.handle(.observed(.purchased))
    #expect(machine.handle(.disappeared) == [])
    #expect(machine.handle(.retryDue) == [.askServer])
  }

  @Test("that another device has finished it is said at once, while its download goes on")
  func finishedElsewhere() {
    var machine = Machine(step: .delivering)
    #expect(machine.handle(.disappeared) == [])
    #expect(machine.step == .delivering && machine.reason == .finishedElsewhere)
    // The download that waits for room says so again and again.
    #expect(machine.handle(.downloads([.pending])) == [])
    #expect(machine.reason == .finishedElsewhere)
    #expect(machine.handle(.downloads([.failed])) == [] && machine.reason == .downloadFailed)
    // The store lists it again.
    var reopened = Machine(step: .delivering, reason: .finishedElsewhere)
    #expect(reopened.handle(.observed(.purchased)) == [] && reopened.reason == nil)
    var failed = Machine(step: .delivering, reason: .downloadFailed)
    // What it was for may be owed no more: the server says so.
    #expect(failed.handle(.disappeared) == [.askServer] && failed.reason == .downloadFailed)
    #expect(failed.handle(.observed(.purchased)) == [] && failed.reason == .downloadFailed)
    #expect(failed.handle(.serverAnswered(.completed)) == [] && failed.step == .delivering)
    #expect(failed.handle(.serverAnswered(.finished)) == [] && failed.step == .finished)
  }

  @Test("the way without trouble") func straightWay() {
    var machine = Machine()
    #expect(machine.handle(.observed(.purchasing)) == [])
    #expect(machine.reason == .awaitingPayment)
    #expect(machine.handle(.observed(.purchased)) == [.plan])
    #expect(machine.handle(.planned(products)) == [.createDownloads(products)])
    #expect(machine.handle(.downloads([.pending])) == [])
    #expect(machine.handle(.downloads([.delivered])) == [.askServer])
    #expect(machine.handle(.serverAnswered(.completed)) == [.scheduleRetry(tries: 1, notBefore: nil)])
    #expect(machine.step == .waitingForServer && machine.reason == .storeNotAnswered)
    #expect(machine.handle(.retryDue) == [.askServer])
    #expect(machine.handle(.serverAnswered(.finished)) == [])
    #expect(machine.step == .finished)
  }

  @Test("what it still owes is delivered before it may end, whatever else it waits for") func owedBesides() {
    var machine = Machine(step: .waitingForServer)
    #expect(machine.handle(.owed(products)) == [.createDownloads(products)])
    #expect(machine.step == .delivering && machine.reason == nil && machine.tries == 0)
    #expect(machine.handle(.downloads([.delivered, .pending])) == [] && machine.step == .delivering)
    #expect(machine.handle(.downloads([.delivered, .delivered])) == [.askServer])
    for step in Machine.Step.allCases where step != .waitingForServer {
      var other = Machine(step: step)
      #expect(other.handle(.owed(products)) == [] && other.step == step)
    }
  }

  @Test("without released content it stays unfinished and is asked about again") func nothingReleased() {
    var machine = Machine(step: .planning)
    #expect(machine.handle(.planned([])) == [.scheduleRetry(tries: 1, notBefore: nil)])
    #expect(machine.step == .planning && machine.reason == .contentNotReleased)
    #expect(machine.handle(.retryDue) == [.plan])
    #expect(machine.handle(.planned([])) == [.scheduleRetry(tries: 2, notBefore: nil)])
    #expect(machine.handle(.planned(products)) == [.createDownloads(products)])
  }

  @Test("one that opens nothing more is over when the store lists it no longer") func settled() {
    var machine = Machine(step: .planning)
    #expect(machine.handle(.settled) == [.scheduleRetry(tries: 1, notBefore: nil)])
    #expect(machine.step == .planning && machine.reason == .storeNotAnswered)
    #expect(machine.handle(.retryDue) == [.plan])
    #expect(machine.handle(.disappeared) == [])
    #expect(machine.step == .finished && machine.reason == .finishedElsewhere)
    var delivering = Machine(step: .delivering)
    #expect(delivering.handle(.settled) == [] && delivering.step == .delivering)
  }

  @Test("a refusal is kept for the control interface, and asked about again") func refusal() {
    var machine = Machine(step: .planning)
    let problem = Problem(.receiptWrongApplication)
    #expect(machine.handle(.stepFailed(StepFailure(problem))) == [.scheduleRetry(tries: 1, notBefore: nil)])
    #expect(machine.problem == problem && machine.reason?.rawValue == "receipt-wrong-application")
  }

  @Test("a download that ended badly shows, and a second try that works is enough") func secondTry() {
    var machine = Machine(step: .delivering)
    _ = machine.handle(.downloads([.delivered, .failed]))
    #expect(machine.step == .delivering && machine.reason == .downloadFailed)
    _ = machine.handle(.downloads([.delivered, .pending]))
    #expect(machine.reason == nil)
    #expect(machine.handle(.downloads([.delivered, .delivered])) == [.askServer])
  }

  @Test("downloads that were planned and not created, for want of time, are planned again") func interrupted()
  {
    var machine = Machine(step: .delivering)
    #expect(machine.handle(.downloads([])) == [.plan])
    #expect(machine.step == .planning)
  }

  @Test(
    "an answer of before the payment takes no word of the store back",
    arguments: [StoreTransaction.State.purchasing, .deferred])
  func overtaken(older: StoreTransaction.State) throws {
    var record = TransactionRecord(
      identifier: try #require(TransactionIdentifier("2000000000000001")),
      product: try #require(Self.product), storeState: .purchasing)
    for state in [older, .purchased, older] {
      _ = record.machine.handle(.observed(state))
      record.note(state)
      #expect(record.storeState == (record.machine.step == .observed ? older : .purchased))
    }
    #expect(record.machine.step == .planning)
  }
}
