package import AgentRecords
package import CoreTypes
import ServiceRuntime
import Synchronization
import SystemCalls

/// Lets the bytes of all transfers of the agent through: at one rate, which ``RateShares`` divides, and within a budget, which
/// ``ByteMeter`` counts. Both may change while transfers run. A transfer that has to wait is paused, and keeps its connection.
///
/// ```swift
/// let pacer = TransferPacer(rate: .mebibytes(2), clock: clock)
/// let pace = pacer.join()
/// pace.set(RateShares.Claim(urgency: .now), passesBudget: false)
/// pace.take(bytes.count) { handle.resume() }  // false: paused until then
/// ```
package final class TransferPacer: Sendable {
  /// Between two tries to save the count, while the disk takes none: no byte comes meanwhile.
  private static let saveRetryDelay: Duration = .seconds(1)

  /// The terms on which a transfer takes bytes.
  private struct Terms: Hashable {
    var claim = RateShares.Claim()
    var passesBudget = false
  }

  private struct State {
    var shares: RateShares
    /// The terms of those that have joined.
    var terms: [UInt64: Terms] = [:]
    /// Nil while bytes are not counted.
    var meter: ByteMeter?
    var lastMember: UInt64 = 0
    /// The functions to call once a transfer may go on, one for each of its connections; each at most once.
    var waiting: [UInt64: [@Sendable () -> Void]] = [:]
    /// Those that wait for the count to be saved, or for the budget.
    var uncounted: [UInt64: [@Sendable () -> Void]] = [:]
    var onSpent: @Sendable () -> Void = {}

    mutating func removeUncounted() -> [@Sendable () -> Void] {
      defer { uncounted = [:] }
      return uncounted.values.flatMap(\.self)
    }
  }

  private let state: Mutex<State>
  private let clock: any MonotonicClock
  private let turnIsDue = AsyncSignal()
  private let saveIsDue = AsyncSignal()

  package init(rate: ByteCount? = nil, clock: any MonotonicClock = SystemMonotonicClock()) {
    state = Mutex(State(shares: RateShares(rate: rate)))
    self.clock = clock
  }

  /// Bytes a second of all transfers together; nil is no bound.
  package var rate: ByteCount? { state.locked { $0.shares.rate } }

  /// It counts at once, for transfers that run as well.
  package func setRate(_ rate: ByteCount?) {
    let now = clock.now()
    state.locked { $0.shares.setRate(rate, at: now) }
    turnIsDue.signal()
  }

  /// The part of one transfer; it leaves when it is let go.
  package func join() -> TransferPace {
    let member = state.locked { state in
      state.lastMember += 1
      state.terms[state.lastMember] = Terms()
      state.shares.join(state.lastMember, RateShares.Claim())
      return state.lastMember
    }
    return TransferPace(self, member: member)
  }

  /// From now on bytes are counted by `meter`, whose count lies on the device; `onSpent` is called, from any thread, whenever a byte
  /// was refused since the limit is reached.
  package func count(by meter: ByteMeter, onSpent: @escaping @Sendable () -> Void) {
    state.locked { state in
      state.meter = meter
      state.onSpent = onSpent
    }
  }

  /// The count up to now; nil where nothing is counted.
  package var meter: ByteMeter? { state.locked { $0.meter } }

  /// Another limit, from which on transfers that wait for it go on.
  package func setLimit(_ limit: ByteCount?) {
    let waiting = state.locked { state -> [@Sendable () -> Void] in
      guard state.meter != nil, state.meter?.limit != limit else { return [] }
      state.meter?.limit = limit
      return state.removeUncounted()
    }
    for wake in waiting { wake() }
  }

  /// Bytes that came otherwise than by a transfer, such as a manifest: they are counted, and nothing holds them.
  package func note(_ count: Int) {
    state.locked { $0.meter?.count(count) }
    saveIsDue.signal()
  }

  /// Lets those go on that wait for the rate, until the task is cancelled.
  package func run() async {
    while !Task.isCancelled {
      let now = clock.now()
      let (wakes, next) = state.locked { state in
        let due = state.shares.nextTurn(at: now) == .zero ? state.shares.grant(at: now) : []
        return (due.flatMap { state.waiting.removeValue(forKey: $0) ?? [] }, state.shares.nextTurn(at: now))
      }
      for wake in wakes { wake() }
      await turnIsDue.wait(atMost: next, clock: clock)
    }
  }

  /// Saves the count ahead of the bytes that it covers, until the task is cancelled. `save` blocks until it is on the device; where it
  /// throws, it is called again after a while.
  package func runSaving(_ save: @escaping @Sendable (ByteCount) throws -> Void) async {
    while !Task.isCancelled {
      guard let bound = state.locked({ $0.meter?.boundToSave }) else {
        await saveIsDue.wait(atMost: nil, clock: clock)
        continue
      }
      do {
        try await BlockingPool.shared.run { try save(bound) }
      } catch {
        await saveIsDue.wait(atMost: Self.saveRetryDelay, clock: clock)
        continue
      }
      let waiting = state.locked { state in
        state.meter?.noteSaved(bound)
        return state.removeUncounted()
      }
      for wake in waiting { wake() }
    }
  }

  /// How a wish for bytes ended.
  private enum Outcome {
    case taken
    /// Taken, and the next count is to be saved while what was saved is used up.
    case takenNearBound
    case awaitsTurn
    case awaitsCount
    case isSpent
  }

  fileprivate func take(
    _ count: Int, by member: UInt64, otherwise wake: @escaping @Sendable () -> Void
  ) -> Bool {
    let now = clock.now()
    let (outcome, onSpent, others) = state.locked {
      state -> (Outcome, @Sendable () -> Void, [@Sendable () -> Void]) in
      let passesLimit = state.terms[member]?.passesBudget ?? false
      if let answer = state.meter?.answer(to: count, passesLimit: passesLimit), answer != .open {
        state.uncounted[member, default: []].append(wake)
        return (answer == .spent ? .isSpent : .awaitsCount, state.onSpent, [])
      }
      guard state.shares.take(count, by: member, at: now) else {
        state.waiting[member, default: []].append(wake)
        return (.awaitsTurn, state.onSpent, [])
      }
      state.meter?.count(count)
      // The turn that this one took was waited for by the transfer's other connections too.
      let others = state.waiting.removeValue(forKey: member) ?? []
      return (state.meter?.boundToSave == nil ? .taken : .takenNearBound, state.onSpent, others)
    }
    for wake in others { wake() }
    switch outcome {
    case .taken: return true
    case .takenNearBound:
      saveIsDue.signal()
      return true
    case .awaitsTurn: turnIsDue.signal()
    case .awaitsCount: saveIsDue.signal()
    case .isSpent: onSpent()
    }
    return false
  }

  /// A transfer that waits for the budget asks again: it may pass it now.
  fileprivate func change(_ member: UInt64, to claim: RateShares.Claim, passesBudget: Bool) {
    let terms = Terms(claim: claim, passesBudget: passesBudget)
    let (hasChanged, wakes) = state.locked { state -> (Bool, [@Sendable () -> Void]) in
      guard state.terms[member] != terms else { return (false, []) }
      state.terms[member] = terms
      state.shares.change(member, to: claim)
      return (true, state.uncounted.removeValue(forKey: member) ?? [])
    }
    guard hasChanged else { return }
    for wake in wakes { wake() }
    turnIsDue.signal()
  }

  fileprivate func rest(_ member: UInt64) {
    state.locked { state in
      state.shares.rest(member)
      state.waiting[member] = nil
      state.uncounted[member] = nil
    }
    turnIsDue.signal()
  }

  fileprivate func leave(_ member: UInt64) {
    rest(member)
    state.locked { state in
      state.shares.leave(member)
      state.terms[member] = nil
    }
  }
}

/// The part that one transfer has of a ``TransferPacer``, from one connection to the next.
package final class TransferPace: Sendable {
  private let pacer: TransferPacer
  private let member: UInt64

  fileprivate init(_ pacer: TransferPacer, member: UInt64) {
    self.pacer = pacer
    self.member = member
  }

  deinit {
    pacer.leave(member)
  }

  /// Counts from the next bytes on.
  package func set(_ claim: RateShares.Claim, passesBudget: Bool) {
    pacer.change(member, to: claim, passesBudget: passesBudget)
  }

  /// The lowest part of the rate that it may have, in bytes a second; nil without a rate.
  var smallestRate: ByteCount? {
    pacer.rate.map { ByteCount(Int64(clamping: Double($0.rawValue) * RateShares.smallestPart)) }
  }

  /// Whether so many bytes, 16 KiB at most, may be consumed; they count then. Otherwise `wake` is called once, when it is worth another
  /// try. Never blocks.
  func take(_ count: Int, otherwise wake: @escaping @Sendable () -> Void) -> Bool {
    pacer.take(count, by: member, otherwise: wake)
  }

  /// It wants no bytes for now.
  func rest() { pacer.rest(member) }
}
