import CoreTypes
package import HTTPServer
import Synchronization

/// Bounds the bytes of request bodies that the process holds, over all requests that gather one.
///
/// Each request that may have a body gets a reservation, which its ``RequestBody`` asks for room as bytes arrive. A body
/// that finds none waits a moment and is then refused; one that arrives too slowly is ended (``BodyLedger``).
///
///     let reservation = budget.makeReservation(for: request.body)
///     defer { reservation.release() }
///     request.body.reservation = reservation
package final class BodyBudget: Sendable {
  /// How often bodies that wait or arrive slowly are looked at.
  static let interval = Duration.milliseconds(250)

  private struct State {
    package var ledger: BodyLedger
    package var bodies: [BodyLedger.Identifier: RequestBody] = [:]
    package var waiters: [BodyLedger.Identifier: CheckedContinuation<Bool, Never>] = [:]
    package var refused = 0
    var timedOut = 0
    /// The continuations to resume and the bodies to end after a change, collected under the lock and done after it.
    var wakes: [(CheckedContinuation<Bool, Never>, Bool)] = []
    package var ends: [(RequestBody, RequestBodyError.Code)] = []

    /// Collects what follows from changes of the ledger, to be done outside of the lock.
    package mutating func note(_ changes: BodyLedger.Changes) {
      for identifier in changes.granted {
        if let waiter = waiters.removeValue(forKey: identifier) { wakes.append((waiter, true)) }
      }
      for (identifiers, code) in [
        (changes.refused, RequestBodyError.Code.noRoom), (changes.timedOut, .timedOut),
      ] {
        for identifier in identifiers {
          if code == .noRoom { refused += 1 } else { timedOut += 1 }
          if let waiter = waiters.removeValue(forKey: identifier) {
            wakes.append((waiter, false))
          } else if let body = bodies[identifier] {
            ends.append((body, code))
          }
        }
      }
    }

    mutating func takeEffects() -> Effects {
      let effects = Effects(wakes: wakes, ends: ends)
      wakes = []
      ends = []
      return effects
    }
  }

  private struct Effects {
    var wakes: [(CheckedContinuation<Bool, Never>, Bool)]
    var ends: [(RequestBody, RequestBodyError.Code)]

    func perform() {
      for (waiter, isGranted) in wakes { waiter.resume(returning: isGranted) }
      for (body, code) in ends { body.end(with: RequestBodyError(code)) }
    }
  }

  private let timer: any MonotonicClock
  private let state: Mutex<State>

  init(bytes: ByteCount, timer: any MonotonicClock) {
    self.timer = timer
    state = Mutex(State(ledger: BodyLedger(budget: Int(clamping: bytes.rawValue))))
  }

  /// Takes effect for the next bytes; bodies that have room keep it.
  func setBudget(_ bytes: ByteCount) {
    state.locked { $0.ledger.setBudget(Int(clamping: bytes.rawValue)) }
  }

  var bytesHeld: Int { state.locked { $0.ledger.held } }
  /// Bodies that got no room, and those that came too slowly, since the start.
  var refusals: (noRoom: Int, timedOut: Int) { state.locked { ($0.refused, $0.timedOut) } }

  /// A reservation of nothing yet, for which another body may be ended (``BodyLedger/maximumArriving``). The caller
  /// releases it once the request is answered.
  func makeReservation(for body: RequestBody) -> Reservation {
    let now = timer.now()
    let (identifier, effects) = state.locked { state in
      state.note(state.ledger.makePlace(now: now))
      let identifier = state.ledger.begin(now: now)
      state.bodies[identifier] = body
      return (identifier, state.takeEffects())
    }
    effects.perform()
    return Reservation(identifier: identifier, budget: self)
  }

  /// Looks at the bodies that wait or arrive; called every ``interval``.
  func sweep() {
    change { $0.ledger.sweep(now: timer.now()) }
  }

  private func change(_ body: (inout State) -> BodyLedger.Changes) {
    let effects = state.locked { state in
      let changes = body(&state)
      state.note(changes)
      return state.takeEffects()
    }
    effects.perform()
  }

  /// The part of the budget that one request's body has.
  package final class Reservation: Sendable {
    private let identifier: BodyLedger.Identifier
    private let budget: BodyBudget

    fileprivate init(identifier: BodyLedger.Identifier, budget: BodyBudget) {
      self.identifier = identifier
      self.budget = budget
    }

    /// Waits for room for `count` bytes in all. Throws `noRoom` where none comes in time.
    package func reserve(_ count: Int) async throws(RequestBodyError) {
      guard await budget.reserve(count, for: identifier) else { throw RequestBodyError(.noRoom) }
    }

    func didReceive(_ count: Int) {
      budget.state.locked { $0.ledger.didReceive(count, for: identifier) }
    }

    func didEnd() {
      budget.state.locked { state in
        state.ledger.didEnd(identifier)
        state.bodies[identifier] = nil
      }
    }

    /// The request is answered; its body is not in memory any more.
    package func release() {
      budget.change { state in
        state.bodies[identifier] = nil
        return state.ledger.release(identifier)
      }
    }
  }

  /// False where there is no room. A task that was cancelled meanwhile waits no longer than others.
  private func reserve(_ count: Int, for identifier: BodyLedger.Identifier) async -> Bool {
    let now = timer.now()
    return await withCheckedContinuation { continuation in
      change { state in
        let (verdict, changes) = state.ledger.reserve(identifier, total: count, now: now)
        switch verdict {
        case .granted: state.wakes.append((continuation, true))
        case .wait: state.waiters[identifier] = continuation
        }
        return changes
      }
    }
  }
}
