import CoreTypes
import DeliveryModel
import DeliveryRecords
import PaymentStores

/// The calls to one store that are in hand: those that run, at most ``concurrency`` of them, and those that are
/// next. A value: ``Outbox`` owns one for each store, makes the calls that ``begin(at:)`` names, and says what
/// became of them.
///
/// A call is in one of three states here. It stands in line after ``add(_:at:)``, runs after ``begin(at:)``,
/// and is settled between ``ended(_:_:at:)`` and ``release(_:isAccepted:)``. In all three it is in hand, so
/// that no call is added twice. While the breaker is open, the line has a probe at most.
package struct StoreQueue: Sendable {
  /// A claimed row, and until when it may be begun.
  package struct Call: Hashable, Sendable {
    /// The row as it was when it was claimed.
    var entry: OutboxEntry
    /// Whether its time had come; a device's report may ask for it before.
    var wasDue: Bool
    /// Later the claim to the row would not outlast the call.
    var beginsBefore: MonotonicInstant
  }

  /// A call that is to be made now.
  struct Begun: Hashable, Sendable {
    /// The call, which is in hand until its outcome was written down.
    var call: Call
    /// The breaker's permit, which is handed back with the outcome.
    var permit: CircuitBreaker.Permit
  }

  /// How many rows may be taken from the table.
  enum Room: Hashable, Sendable {
    /// None: the end of a call that runs makes room, or the next probe is not due.
    case none
    /// Up to that many whose time has come.
    case calls(Int)
    /// One, whether its time has come or not, to find out if the store is back.
    case probe
  }

  /// Calls that may stand in line, at most.
  static let maximumLine = 256

  /// Calls that may run at once.
  let concurrency: Int
  /// Says whether the store is called at all.
  private(set) var breaker = CircuitBreaker()
  /// Calls that are in line, or run, or whose outcome is still being written down.
  private(set) var inHand: Set<Int64> = []
  /// The table may hold more calls whose time has come.
  var mayHaveMore = false
  /// The calls that stand in line, the next one first.
  private(set) var line: [Call] = []
  /// The last calls that operators have dropped, oldest first: who read such a row before comes after it.
  private var excluded: [Int64] = []
  /// The last calls that the store accepted, oldest first: who read such a row before that was written down comes after it.
  private var accepted: [Int64] = []
  private var running = 0
  /// How many calls the store has answered.
  private var answers = 0
  /// By call: how many it had answered when it failed at that one last.
  private var failures: [Int64: Int] = [:]

  /// Accepted calls that are remembered, and dropped ones. The numbers of calls are never given out again.
  static let maximumAccepted = 256
  static let maximumExcluded = 256
  /// Calls that the store has failed at and that are remembered; beyond, all of them are forgotten.
  static let maximumFailures = 16_384

  /// Creates an empty queue of a store that is taken to answer.
  init(concurrency: Int) {
    self.concurrency = concurrency
  }

  /// Whether a further call would be made without delay but for those before it.
  func accepts(at now: MonotonicInstant) -> Bool {
    guard let nextProbe = breaker.nextProbe else { return line.count < Self.maximumLine }
    return line.isEmpty && nextProbe <= now
  }

  /// Returns how many rows to take, so that line and running calls together are twice ``concurrency``.
  func room(at now: MonotonicInstant) -> Room {
    guard accepts(at: now) else { return .none }
    if breaker.isOpen { return .probe }
    let count = 2 * concurrency - running - line.count
    return count > 0 ? .calls(count) : .none
  }

  /// Whether more should be taken from the table: half of what it may hold has been worked off.
  var isRunningLow: Bool { mayHaveMore && running + line.count <= concurrency }

  /// Whether the store accepted it a short while ago.
  func hasAccepted(_ id: Int64) -> Bool { accepted.contains(id) }

  /// Puts the call in line; false where it is in hand already, was accepted a short while ago, is excluded, or would not be
  /// made soon.
  mutating func add(_ call: Call, at now: MonotonicInstant) -> Bool {
    guard accepts(at: now), !excluded.contains(call.entry.id), !hasAccepted(call.entry.id),
      inHand.insert(call.entry.id).inserted
    else {
      return false
    }
    line.append(call)
    return true
  }

  /// Puts a call in line that an operator asks for: while the store does not answer it is the next probe, unless a call runs.
  mutating func addAsked(_ call: Call, at now: MonotonicInstant) -> Bool {
    if running == 0 { breaker.hasten(at: now) }
    return add(call, at: now)
  }

  /// The calls that are to be made now, and those that stood in line for too long: these are in hand no longer.
  mutating func begin(at now: MonotonicInstant) -> (begun: [Begun], givenBack: [Int64]) {
    var begun: [Begun] = []
    var givenBack: [Int64] = []
    while running < concurrency, let call = line.first {
      guard now < call.beginsBefore else {
        givenBack.append(line.removeFirst().entry.id)
        continue
      }
      let permit = breaker.permit(at: now)
      if case .wait = permit { break }
      line.removeFirst()
      running += 1
      begun.append(Begun(call: call, permit: permit))
    }
    inHand.subtract(givenBack)
    return (begun, givenBack)
  }

  /// The effects of a call's end.
  struct End: Sendable {
    /// The calls that stood in line: while the breaker is open none does.
    var givenBack: [Int64] = []
    var change: Change?
    /// The store has failed at this call again, and has answered others since the last time.
    var isAlone = false
  }

  /// The store has answered, or has not. A failure that is the call's alone says nothing against the store.
  mutating func ended(
    _ begun: Begun, _ outcome: CircuitBreaker.Outcome, at now: MonotonicInstant
  ) -> End {
    let wasOpen = breaker.isOpen
    running -= 1
    var end = End(isAlone: isAlone(begun.call.entry.id, outcome))
    breaker.note(end.isAlone && begun.permit != .probe ? .abandoned : outcome, of: begun.permit, at: now)
    guard breaker.isOpen else {
      end.change = wasOpen ? .closed : nil
      return end
    }
    end.givenBack = line.map(\.entry.id)
    line = []
    inHand.subtract(end.givenBack)
    end.change = wasOpen ? nil : .opened
    return end
  }

  private mutating func isAlone(_ id: Int64, _ outcome: CircuitBreaker.Outcome) -> Bool {
    switch outcome {
    case .answered:
      answers += 1
      failures[id] = nil
      return false
    case .abandoned: return false
    case .failed(let retryAfter):
      let before = failures[id]
      if before == nil, failures.count >= Self.maximumFailures { failures = [:] }
      failures[id] = answers
      return retryAfter == nil && before.map { $0 < answers } == true
    }
  }

  /// A change of the circuit breaker.
  enum Change: Hashable, Sendable {
    /// The store was found not to answer.
    case opened
    /// The store answers again.
    case closed
  }

  /// Takes the call out of line, and keeps it from being added until ``readmit(_:)``, or until
  /// ``maximumExcluded`` others were excluded after it; false where it runs, or its outcome is being written down, which changes
  /// nothing.
  mutating func exclude(_ id: Int64) -> Bool {
    let count = line.count
    line.removeAll { $0.entry.id == id }
    if line.count < count { inHand.remove(id) }
    guard !inHand.contains(id) else { return false }
    readmit(id)
    if excluded.count == Self.maximumExcluded { excluded.removeFirst() }
    excluded.append(id)
    return true
  }

  /// The call is another one now.
  mutating func forgetAcceptance(of id: Int64) {
    accepted.removeAll { $0 == id }
  }

  /// Lets the call be added again.
  mutating func readmit(_ id: Int64) {
    excluded.removeAll { $0 == id }
  }

  /// Lets go of a call once its outcome is written down.
  mutating func release(_ id: Int64, isAccepted: Bool) {
    inHand.remove(id)
    guard isAccepted else { return }
    if accepted.count == Self.maximumAccepted { accepted.removeFirst() }
    accepted.append(id)
  }
}
