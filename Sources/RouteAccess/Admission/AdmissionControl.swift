package import CoreTypes
package import HTTPServer
package import PullboxAPI
import Synchronization

/// Decides about every request that is not for content, before anything is done for it: by its address, by the client
/// that it names, and by what is in progress already. Where there is no place it waits for its turn, for two seconds at most
/// (``WaitingRoom``). What it refuses is told when to come back: later, the more are waiting (``ReturnSchedule``).
///
///     let turn = try admission.admit(.store, from: address, client: nil)   // 429 or 503
///     try await admission.wait(for: turn)   // 503
///     defer { admission.didAnswer(.store) }
package final class AdmissionControl: Sendable {
  /// Buckets of addresses and clients that are kept: 3 MiB, of which none is given up while it owes much.
  static let buckets = 98_304

  /// Why a request was refused.
  package enum Reason: String, CaseIterable, Hashable, Sendable {
    /// The network of its address has asked too often.
    case address
    /// Its client has asked too often.
    case client
    /// The limit of requests in progress of its class is reached.
    case inProgress = "in-progress"
    /// The limit of requests in progress of the process is reached.
    case process
  }

  /// When a request that was admitted has its place.
  package enum Turn: Hashable, Sendable {
    case now
    /// Once others are answered: ``wait(for:)``.
    case later(WaitingRoom.Number)
  }

  /// The counts of one class.
  package struct Counts: Hashable, Sendable {
    /// Requests that have a place now.
    package var inProgress = 0
    /// Requests that wait for a place now.
    package var waiting = 0
    var admitted = 0
    /// By the limit that was reached, since the start.
    package var refused: [Reason: Int] = [:]
  }

  /// The budget for the bodies of all admitted requests.
  package let bodies: BodyBudget
  private let timer: any MonotonicClock
  private let state: Mutex<State>

  /// Begins with nothing in progress. `timer` is a clock that no operator sets.
  package init(_ limits: AdmissionLimits, timer: any MonotonicClock) {
    self.timer = timer
    bodies = BodyBudget(bytes: limits.bodyBytes, timer: timer)
    state = Mutex(State(limits: limits))
  }

  /// Takes other limits from now on; what is in progress counts on.
  package func replace(_ limits: AdmissionLimits) {
    change { state in
      state.limits = limits
      state.callNext()
    }
    bodies.setBudget(limits.bodyBytes)
  }

  /// The limits in force.
  package var limits: AdmissionLimits { state.locked { $0.limits } }

  /// Admits a request, which then counts as in progress from its turn until ``didAnswer(_:)`` or ``suspend(_:)``. `address` is the
  /// client's, not a proxy's; `client` stands for what the request names. Throws `too-many-requests` or `unavailable` with
  /// the time to come back.
  package func admit(_ kind: AdmissionClass, from address: PeerAddress, client: ClientKey?) throws(Problem)
    -> Turn
  {
    let now = timer.now().nanoseconds
    return try take { $0.admit(kind, from: address, client: client, now: now) }
  }

  /// Returns when it is the request's turn. Throws `unavailable`, with the time to come back, when it has waited for too long; a
  /// task that is cancelled leaves the line, with `CancellationError`.
  package func wait(for turn: Turn) async throws {
    guard case .later(let number) = turn else { return }
    let ending = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let ending = state.locked { state in
          let ending = state.endings.removeValue(forKey: number)
          if ending == nil { state.waiters[number] = continuation }
          return ending
        }
        if let ending { continuation.resume(returning: ending) }
      }
    } onCancel: {
      change { $0.abandon(number) }
    }
    switch ending {
    case .turn: return
    case .refused(let refusal): throw refusal.problem
    case .abandoned: throw CancellationError()
    }
  }

  /// Gives the turn back of a request whose client is gone by now. Throws `CancellationError` for it.
  func requireClient(of kind: AdmissionClass) throws {
    guard Task.isCancelled else { return }
    didLeave(kind)
    throw CancellationError()
  }

  /// Charges what a request names in its body, for a request that is in progress. Throws `too-many-requests`.
  package func charge(_ kind: AdmissionClass, client: ClientKey) throws(Problem) {
    let now = timer.now().nanoseconds
    let refusal = state.locked { state in state.charge(kind, client: client, now: now) }
    if let refusal { throw refusal.problem }
  }

  /// Charges the client's address once more, for a request that is in progress and asks for more than one thing. Throws
  /// `too-many-requests`.
  package func charge(_ kind: AdmissionClass, address: PeerAddress) throws(Problem) {
    let now = timer.now().nanoseconds
    let refusal = state.locked { state in state.charge(kind, address: address, now: now) }
    if let refusal { throw refusal.problem }
  }

  /// A request that was admitted waits for its body, and does not count as in progress meanwhile.
  func suspend(_ kind: AdmissionClass) { didLeave(kind) }

  private func didLeave(_ kind: AdmissionClass) {
    change { $0.leave(kind) }
  }

  /// A request that was suspended has its body, and counts as in progress again from its turn. Throws `unavailable`, with the
  /// time to come back, where there is no place for it.
  package func resume(_ kind: AdmissionClass) throws(Problem) -> Turn {
    let now = timer.now().nanoseconds
    return try take { $0.enter(kind, hasBody: true, now: now) }
  }

  /// A request that had its turn, and is not suspended, is answered.
  package func didAnswer(_ kind: AdmissionClass) {
    let now = timer.now().nanoseconds
    change { state in
      state.classes[kind]?.throughput.didAnswer(now: now)
      state.leave(kind)
    }
  }

  /// Sends away what has waited for too long; called every ``BodyBudget/interval``.
  package func sweep() {
    let now = timer.now().nanoseconds
    change { $0.sendAwayExpired(now: now) }
  }

  /// Looks after what waits, here and for bodies, until the task is cancelled.
  package func run() async {
    while !Task.isCancelled {
      do {
        try await timer.sleep(for: BodyBudget.interval)
      } catch {
        return
      }
      bodies.sweep()
      sweep()
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let wakes = state.locked { state in
      body(&state)
      defer { state.wakes = [] }
      return state.wakes
    }
    for (waiter, ending) in wakes { waiter.resume(returning: ending) }
  }

  private func take(
    _ body: (inout State) -> Result<Turn, Refusal>
  ) throws(Problem) -> Turn {
    switch state.locked({ body(&$0) }) {
    case .success(let turn): return turn
    case .failure(let refusal): throw refusal.problem
    }
  }

  /// Seconds after which a client that found no place for its connection is to come back.
  package func secondsForConnection() -> Int {
    let now = timer.now().nanoseconds
    return Refusal.seconds(state.locked { $0.delayForConnection(now: now) })
  }

  /// The counts of each class since the start.
  package var counts: [AdmissionClass: Counts] { state.locked { $0.classes.mapValues(\.counts) } }
}

/// Stands for an address, a device, a grant or a key in the table of buckets. Hashing is seeded for each process: a
/// client cannot choose names that share a bucket with another's.
package struct ClientKey: Hashable, Sendable {
  /// The hash, never 0.
  package let value: UInt64

  /// The same name of two classes has two keys, and so two buckets.
  package init(_ kind: AdmissionClass, _ name: some Hashable & Sendable) {
    var hasher = Hasher()
    hasher.combine(kind)
    hasher.combine(name)
    // Zero is an empty slot.
    value = max(1, UInt64(bitPattern: Int64(hasher.finalize())))
  }
}
