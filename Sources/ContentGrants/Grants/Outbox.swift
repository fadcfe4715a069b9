package import Commerce
package import CoreTypes
import Database
package import DeliveryModel
package import DeliveryRecords
package import PaymentStores
package import ServiceRuntime
import Synchronization

/// Makes the calls that are still to be made to stores until each was accepted: today only the end of a
/// transaction. A call is a row of ``OutboxTable``, written in the transaction that it follows from, so it
/// survives the process; it may be made twice, so every one is idempotent at the store.
///
/// Every store has a ``StoreQueue``: some calls to it run at once, and while it does not answer, only a probe.
/// ``OutboxMachine`` decides when a call that failed is repeated, or that an operator has to look at it. A call
/// belongs to the outbox: a request that wants its answer waits for it, and the call goes on without it.
///
///     let outbox = Outbox(grantStore: grantStore, stores: [store.name: store], timer: timer, log: log)
///     await outbox.run()                                  // in a task of its own
///     try await grantStore.complete(id, with: report, lease: outbox.lease())
///     await outbox.attempt(entry)                         // a request that wants the answer now
///     outbox.wake()                                       // a row was added
///
/// A row waits, is done, is parked or is dropped; only a row that waits is called. A waiting row is claimed
/// with a lease, stands in the line of its store's queue, runs, and is let go once its outcome stands in the
/// table. A process that ends in between leaves the row waiting, and it is claimed again once the lease is
/// over. Decision 11 (docs/decisions) says why.
package final class Outbox: Sendable {
  /// The bounds of one node's work.
  package struct Options: Sendable {
    /// Calls to one store that may run at once.
    package var concurrency = 8
    /// How long a request waits for the store's answer.
    package var patience: Duration = .seconds(2)
    /// The refusal of that number parks a call.
    package var maximumRefusals = 20
    /// Names this node in leases. A node that starts again goes on with the calls that it had claimed.
    package var node = "node"

    /// Creates options with the defaults of the server's own (docs/configuration.md), unless others are given.
    package init(
      concurrency: Int = 8, patience: Duration = .seconds(2), maximumRefusals: Int = 20, node: String = "node"
    ) {
      self.concurrency = concurrency
      self.patience = patience
      self.maximumRefusals = maximumRefusals
      self.node = node
    }
  }

  /// How long a row that was taken is this node's: as long as it may stand in line, and then be called.
  static let leaseDuration: Duration = .seconds(120)
  /// How long a taken call may stand in line.
  static let longestLine: Duration = .seconds(60)
  /// How often debts are looked for that nothing has settled.
  static let sweepInterval: Duration = .seconds(3600)
  /// The table is looked at this often while a call waits.
  static let longestPause: Duration = .seconds(60)
  /// Debts that one step of the sweep settles, at most.
  static let sweepBatch = 200

  /// Has the database, and writes what an accepted call means for its grants.
  package let grantStore: GrantStore
  /// Dates the rows, so that a wall clock that is set moves no call.
  let schedule: ScheduleClock
  /// The stores that the configuration knows; calls to others wait.
  package let stores: [StoreIdentifier: any PaymentStoreClient]
  /// The bounds that the configuration sets.
  package let options: Options
  /// Tells of calls that were refused or parked.
  package let log: Log
  /// The clock that pauses are measured by, which no operator sets.
  package let timer: any MonotonicClock
  /// Says whether this process sweeps; nil where no other process uses the database.
  package let sweepLease: WorkerLease?
  /// Takes calls whose time has come from the table.
  let worker: Worker
  /// Answers the requests that have waited long enough.
  let patienceWorker: Worker
  /// Settles debts that nothing has settled.
  let sweeper: Worker
  /// Held for moments, and never over a wait or a call.
  let state: Mutex<State>
  /// Calls that were dropped because their store would not take them any more.
  let expired = Atomic<Int>(0)
  /// Calls that are to be made now; ``run()`` makes them.
  private let begun:
    (stream: AsyncStream<StoreQueue.Begun>, continuation: AsyncStream<StoreQueue.Begun>.Continuation)

  /// The state that all tasks share, behind one lock.
  package struct State {
    /// One for each store of the configuration. A store's queue is out of here while ``Outbox/change(_:_:)``
    /// changes it.
    var queues: [StoreIdentifier: StoreQueue]
    /// The requests that wait for calls.
    var waiters = OutboxWaiters()
    /// Stores that were probed last with a call that had never been made.
    var probedWithNew: Set<StoreIdentifier> = []
    /// Where the sweep goes on; nil to begin anew.
    var sweepPosition: ObligationTable.SweepPosition?
    /// Stores of rows that the configuration does not know, once they were logged.
    var unknownStores: Set<String> = []
    /// ``run()`` has returned, and no call is made any more.
    var isStopped = false
  }

  /// Without a lease for the sweep, no other process uses the database. `claimClock` dates rows and claims; nil stands for the clock of
  /// the grants.
  package init(
    grantStore: GrantStore, stores: [StoreIdentifier: any PaymentStoreClient], timer: any MonotonicClock,
    options: Options = Options(), sweepLease: WorkerLease? = nil, claimClock: (any WallClock)? = nil, log: Log
  ) {
    self.grantStore = grantStore
    self.stores = stores
    self.timer = timer
    self.options = options
    self.sweepLease = sweepLease
    self.log = log
    schedule = ScheduleClock(wall: claimClock ?? grantStore.clock, timer: timer)
    begun = AsyncStream.makeStream()
    worker = Worker(clock: timer)
    patienceWorker = Worker(clock: timer)
    sweeper = Worker(clock: timer)
    state = Mutex(State(queues: stores.mapValues { _ in StoreQueue(concurrency: options.concurrency) }))
  }

  /// Works until the task is cancelled. What fails here (a full disk, say) is logged and tried again:
  /// deliveries go on. Calls that run when the task is cancelled are abandoned; their rows stay due.
  package func run() async {
    await withTaskGroup { group in
      group.addTask { [self] in
        await withDiscardingTaskGroup { calls in
          for await call in begun.stream { calls.addTask { await self.perform(call) } }
        }
        stop()
      }
      group.addTask { [self] in
        await worker.run(takeDueCalls) { [log] error in
          log.error("the outbox cannot work", ["error": LogValue(error)])
        }
      }
      group.addTask { [self] in
        await patienceWorker.run(endPatience) { _ in }
      }
      group.addTask { [self] in
        await sweeper.run(sweepOnce) { [log] error in
          log.error("debts cannot be settled", ["error": LogValue(error)])
        }
      }
    }
  }

  /// A call was added, or is to be made earlier.
  package func wake() {
    worker.wake()
  }

  /// Debts were settled, and perhaps more of them than one step settles.
  package func sweep() {
    wake()
    sweeper.wake()
  }

  /// A claim to rows of the stores that would be called now, for a transaction that adds calls and whose caller
  /// then has them made (``attempt(_:)``).
  package func lease() -> OutboxLease {
    let now = timer.now()
    let open = state.locked { state in
      state.isStopped ? [] : Set(state.queues.lazy.filter { $0.value.accepts(at: now) }.map(\.key))
    }
    return lease(on: open)
  }

  /// Returns a claim to rows of these stores for ``leaseDuration`` from now.
  package func lease(on stores: Set<StoreIdentifier>) -> OutboxLease {
    let now = schedule.now()
    return OutboxLease(holder: options.node, now: now, until: now + Self.leaseDuration, stores: stores)
  }

  /// Makes a call that was claimed, or joins it where it runs, and waits for the store's answer as long as
  /// ``Options/patience`` says; true when the store has accepted it. The call goes on by itself when it takes
  /// longer.
  func attempt(_ entry: OutboxEntry) async -> Bool {
    await withCheckedContinuation { continuation in
      let now = timer.now()
      let call = call(entry)
      var isAccepted = false
      let needsWatch: Bool? = change(entry.store) { queue, state in
        // Another request's call may have ended since the row was read.
        isAccepted = queue.hasAccepted(entry.id)
        guard !state.isStopped, !isAccepted, queue.inHand.contains(entry.id) || queue.add(call, at: now)
        else {
          return nil
        }
        return state.waiters.add(continuation, for: entry.id, until: now + options.patience)
      }
      switch needsWatch {
      case nil where isAccepted: continuation.resume(returning: true)
      case .some(true): patienceWorker.wake()
      case .some(false): break
      case nil:
        // It is left to the worker.
        wake()
        continuation.resume(returning: false)
      }
    }
  }
}

extension Outbox {
  /// Returns the call that stands in the queue for an entry that was claimed just now.
  package func call(_ entry: OutboxEntry) -> StoreQueue.Call {
    StoreQueue.Call(
      entry: entry, wasDue: entry.nextAttempt <= schedule.now(), beginsBefore: timer.now() + Self.longestLine)
  }

  /// Changes a store's queue, and begins the calls that may then run. Answers nil for a store that the
  /// configuration does not know. `body` runs under the lock: it does not wait, and does not call this again.
  package func change<Value: Sendable>(
    _ store: StoreIdentifier, _ body: (inout StoreQueue, inout State) -> Value?
  ) -> Value? {
    let now = timer.now()
    let (value, calls, givenUp) = state.locked { state in
      guard var queue = state.queues.removeValue(forKey: store) else {
        return (Value?.none, [StoreQueue.Begun](), [OutboxWaiters.Continuation]())
      }
      let value = body(&queue, &state)
      let (calls, givenBack) = state.isStopped ? ([], []) : queue.begin(at: now)
      state.queues[store] = queue
      return (value, calls, givenBack.flatMap { state.waiters.remove(for: $0) })
    }
    for call in calls { begun.continuation.yield(call) }
    for waiter in givenUp { waiter.resume(returning: false) }
    return value
  }

  /// Begins no call from now on, and answers those who wait with false.
  private func stop() {
    let waiters = state.locked { state in
      state.isStopped = true
      return state.waiters.removeAll()
    }
    for waiter in waiters { waiter.resume(returning: false) }
  }

  /// Answers those whose deadline has come, and says when the next one comes.
  private func endPatience() async throws -> Worker.Next {
    let now = timer.now()
    let (expired, next) = state.locked { $0.waiters.removeExpired(at: now) }
    for waiter in expired { waiter.resume(returning: false) }
    return next.map { .pause(atMost: $0 - now) } ?? .waitForWake
  }
}
