internal import CoreTypes
internal import Database
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// Threads with a connection each that take bodies from one queue.
final class ServerWorkers: Sendable {
  /// The queue that all threads take from; it is bounded, and refuses more bodies as `overloaded`.
  let queue: BodyQueue
  /// Whether bodies run as transactions that write or that read.
  private let kind: ServerSession.Kind
  /// The state shared with the other kind of workers and with the listener.
  private let link: ServerLink
  /// A pool of one thread for each connection.
  private let pools: [BlockingPool]
  /// The ends of the threads' work, waited for by ``join()``.
  private let ends = Mutex<[PendingResult<Void, Never>]>([])

  /// At least one thread, whatever `count` says. The threads begin at ``start()``.
  init(_ kind: ServerSession.Kind, count: Int, queueLimit: Int, link: ServerLink) {
    self.kind = kind
    self.link = link
    queue = BodyQueue(limit: queueLimit)
    pools = (1...max(1, count)).map {
      BlockingPool(name: "pg-\(kind == .write ? "write" : "read")-\($0)", threads: 1)
    }
  }

  /// Whether the calling thread is one of these.
  var areCurrent: Bool { pools.contains { $0.isCurrent } }

  /// Begins the work of each thread, which ends when the queue is closed and empty. A connection is made at a thread's
  /// first body.
  func start() {
    for pool in pools {
      let end = pool.start { [self] in
        var worker = ServerWorker(kind: kind, link: link)
        while let body = queue.take() { worker.serve(body) }
      }
      ends.locked { $0.append(end) }
    }
  }

  /// Waits until every body was served; the queue is closed.
  func join() {
    for end in ends.locked({ $0 }) { end.get() }
  }
}

/// The state that all connections to a database share.
final class ServerLink: Sendable {
  /// The place of the server and the settings of its connections.
  let address: PostgreSQLAddress
  /// The name of the connections in the server's list.
  let application: String
  /// The claim on the tables, which the listener's connection holds.
  let claim: PostgreSQLOptions.Claim
  /// Whether prefetched answers are compared with fresh ones, and the process traps where they differ.
  let checksPrefetched: Bool
  /// The revisions of the topics as far as they are known here.
  let changes = ChangeCounts()
  /// The failure of the last write; nil since a write has succeeded.
  let failure = Mutex<DatabaseError?>(nil)
  /// Why the tables may not be used now: their claim was lost with the listener's connection, and another process may have it.
  private let refusal = Mutex<DatabaseError?>(nil)
  /// The effects of writes happen one at a time.
  let effects = Mutex<Void>(())
  /// Taken on when all connections are to be made anew.
  private let generation = Atomic<Int>(0)

  /// The state before any connection was made.
  init(address: PostgreSQLAddress, options: PostgreSQLOptions) {
    self.address = address
    application = options.application
    claim = options.claim
    checksPrefetched = options.checksPrefetched
  }

  /// The number that connections made now carry; those with another number are not used again.
  var currentGeneration: Int { generation.load(ordering: .acquiring) }

  /// No connection made before is used any more. Does nothing where another thread has ended that generation before: two
  /// workers that meet one failure end it once.
  func endConnections(of generation: Int) {
    _ = self.generation.compareExchange(
      expected: generation, desired: generation + 1, ordering: .acquiringAndReleasing)
  }

  /// The tables may be another process's: no body runs until they are claimed again. Nil lifts the refusal. An error ends
  /// all connections of the present generation, too.
  func refuse(_ error: DatabaseError?) {
    refusal.locked { $0 = error }
    if error != nil { endConnections(of: currentGeneration) }
  }

  /// Throws while another process may have the tables. The error is `unavailable`, so that a body waits up to its
  /// deadline.
  func checkClaim() throws(DatabaseError) {
    if let error = refusal.locked({ $0 }) {
      throw DatabaseError(.unavailable, state: "08006", error.message, sql: "")
    }
  }

  /// Makes one connection; blocks for as long as the settings allow for each host. Throws ``DatabaseError`` `unavailable`
  /// or `cannotOpen`.
  func connect() throws(DatabaseError) -> ServerHandle { try ServerHandle(address, application: application) }
}

/// One thread's connection and what is done with it. Runs a body again where only others, or the connection, were in its way.
struct ServerWorker {
  /// How often a body runs at most, where others are in its way.
  private static let maximumRuns = 6
  /// Pauses between two tries to connect, in milliseconds.
  private static let pauses = [100, 200, 400, 800, 1600, 2000]

  /// The kind of transactions of this thread.
  private let kind: ServerSession.Kind
  /// The state that all threads share.
  private let link: ServerLink
  /// The connection with its prepared statements; nil before the first body and after a loss.
  private var session: ServerSession?
  /// The generation of ``session``. A later one at the link means that the session is to be replaced.
  private var generation = 0
  /// The row of the connection's ``CommitMark``; nil for a connection that reads.
  private var mark: Int64?
  /// The number of the last commit that this thread has tried, which goes on over new connections.
  private var commits: Int64 = 0

  /// A worker without a connection, which its first body makes.
  init(kind: ServerSession.Kind, link: ServerLink) {
    self.kind = kind
    self.link = link
  }

  /// The end of one run of a body.
  private enum Outcome {
    /// The body has its answer, good or bad.
    case answered
    /// Others, or the connection, were in the way: the body may run again after the remedy.
    case again(DatabaseError, after: ServerFailure.Remedy)
    /// The connection was lost with the commit under way.
    case inDoubt(CommitInDoubt)
  }

  /// Runs the body until it is done, fails by its own fault, or its time is over; and answers it. Between two runs it
  /// sleeps for a random time of up to 5 ms times two for each run before. A commit in doubt that did not happen does not
  /// count as a failure: the body runs again.
  mutating func serve(_ body: QueuedBody) {
    var runs = 0
    while true {
      let session: ServerSession
      do { session = try connected(until: body.deadline) } catch { return fail(body, error) }
      runs += 1
      switch run(body, on: session) {
      case .answered: return
      case .again(let error, let remedy):
        if remedy == .connectAgain { link.endConnections(of: generation) }
        if remedy == .prepareAgain { session.forgetStatements() }
        guard runs < Self.maximumRuns else {
          return fail(body, DatabaseError(.overloaded, state: error.state, error.message, sql: error.sql))
        }
        pause(upTo: 5 << runs)
      case .inDoubt(let doubt):
        switch settle(doubt, until: body.deadline) {
        case true: return succeed(body)
        case false: pause(upTo: 5 << runs)
        case nil:
          return fail(
            body,
            DatabaseError(
              .outcomeUnknown, state: doubt.cause.state, doubt.cause.message, sql: "COMMIT",
              commit: doubt.mark?.reference))
        }
      }
    }
  }

  /// Runs the body once in a transaction of its own. An error of the server goes before the body's own, since a body that
  /// passed over it has decided by too little.
  private mutating func run(_ body: QueuedBody, on session: ServerSession) -> Outcome {
    session.begin(kind, locking: kind == .write ? DatabaseLock.plan(body.locks) : [])
    let error = body.run(on: Connection(on: session, mayWrite: kind == .write))
    if let failure = session.failure {
      session.rollBack()
      let remedy = remedy(for: failure)
      if remedy != .answer { return .again(failure, after: remedy) }
      // A body that went on as if nothing had been has decided by less than it asked for.
      fail(body, error ?? failure)
      return .answered
    }
    if let error {
      session.rollBack()
      body.answer(error)
      return .answered
    }
    do {
      switch kind {
      case .read: try session.endReading()
      case .write:
        let revisions = try session.commit(marking: nextMark())
        for (topic, revision) in revisions { link.changes.raise(topic, to: revision) }
      }
    } catch let doubt as CommitInDoubt {
      return .inDoubt(doubt)
    } catch {
      session.rollBack()
      guard let error = error as? DatabaseError else { preconditionFailure("a commit fails by the database") }
      let remedy = remedy(for: error)
      if remedy != .answer { return .again(error, after: remedy) }
      fail(body, error)
      return .answered
    }
    succeed(body)
    return .answered
  }

  /// A reader is refused to write for good; a writer has come to a server that is no primary any more.
  private func remedy(for error: DatabaseError) -> ServerFailure.Remedy {
    kind == .read && error.state == "25006" ? .answer : ServerFailure.remedy(for: error.state)
  }

  /// Applies the effect of a committed body, one body at a time, and answers it. A write that succeeded clears
  /// ``ServerLink/failure``.
  private func succeed(_ body: QueuedBody) {
    if kind == .write { link.failure.locked { $0 = nil } }
    link.effects.locked { _ in body.applyEffect() }
    body.answer()
  }

  /// Answers the body with the error. A failure of storage or server during a write is noted in ``ServerLink/failure`` as
  /// well.
  private func fail(_ body: QueuedBody, _ error: any Error) {
    if kind == .write, let error = error as? DatabaseError, error.isOfStorage || error.code == .unavailable {
      link.failure.locked { $0 = error }
    }
    body.answer(error)
  }

  /// The mark for the next commit; nil where the connection has none.
  private mutating func nextMark() -> CommitMark? {
    guard let mark else { return nil }
    commits += 1
    return CommitMark(id: mark, number: commits)
  }

  // MARK: connections

  /// The connection, a new one where there is none that is good. Tries until the deadline, or once where there is none.
  /// Pauses from 100 ms to 2 s between the tries. Throws ``DatabaseError`` `unavailable` when the time is over, and any
  /// other error of a try at once.
  private mutating func connected(until deadline: ContinuousClock.Instant?) throws(DatabaseError)
    -> ServerSession
  {
    if let session, !session.isDropped, !session.handle.isLost, generation == link.currentGeneration {
      return session
    }
    session = nil
    mark = nil
    var tries = 0
    while true {
      do throws(DatabaseError) {
        try link.checkClaim()
        generation = link.currentGeneration
        let handle = try link.connect()
        if kind == .write { mark = try CommitMark.make(on: handle) }
        let new = ServerSession(handle: handle, checksPrefetched: link.checksPrefetched)
        session = new
        return new
      } catch {
        let pause = Self.pauses[min(tries, Self.pauses.count - 1)]
        tries += 1
        guard error.code == .unavailable, let deadline, .now + .milliseconds(pause) < deadline else {
          throw error
        }
        usleep(UInt32(pause) * 1000)
      }
    }
  }

  /// Whether a commit happened whose answer was lost; nil where no server can be asked in time. Waits at least 5 seconds.
  private mutating func settle(_ doubt: CommitInDoubt, until deadline: ContinuousClock.Instant?) -> Bool? {
    // A commit that has begun may take longer than a body waits for its turn.
    let end = max(deadline ?? .now, .now + .seconds(5))
    guard let mark = doubt.mark else { return nil }
    while let session = try? connected(until: end) {
      do {
        return try mark.hasHappened(askedOn: session.handle)
      } catch {
        // This connection was lost as well.
        guard ServerFailure.remedy(for: error.state) == .connectAgain, .now < end else { return nil }
        link.endConnections(of: generation)
      }
    }
    return nil
  }

  /// Sleeps for a random time of 1 ms to that many, so that transactions in each other's way do not meet again.
  private func pause(upTo milliseconds: Int) {
    usleep(UInt32.random(in: 1...UInt32(milliseconds)) * 1000)
  }
}
