internal import CoreTypes
internal import Database
internal import Glibc
internal import Synchronization
internal import SystemCalls

/// Threads with a connection each that take bodies from one queue.
final class ServerWorkers: Sendable {
  let queue: BodyQueue
  private let kind: ServerSession.Kind
  private let link: ServerLink
  private let pools: [BlockingPool]
  private let ends = Mutex<[PendingResult<Void, Never>]>([])

  init(_ kind: ServerSession.Kind, count: Int, queueLimit: Int, link: ServerLink) {
    self.kind = kind
    self.link = link
    queue = BodyQueue(limit: queueLimit)
    pools = (1...max(1, count)).map {
      BlockingPool(name: "pg-\(kind == .write ? "write" : "read")-\($0)", threads: 1)
    }
  }

  var areCurrent: Bool { pools.contains { $0.isCurrent } }

  func start() {
    for pool in pools {
      let end = pool.start { [self] in
        var worker = ServerWorker(kind: kind, link: link)
        while let body = queue.take() { worker.serve(body) }
      }
      ends.withLock { $0.append(end) }
    }
  }

  /// Waits until every body was served; the queue is closed.
  func join() {
    for end in ends.withLock({ $0 }) { end.get() }
  }
}

/// The state that all connections to a database share.
final class ServerLink: Sendable {
  let address: PostgreSQLAddress
  let application: String
  let claim: PostgreSQLOptions.Claim
  let checksPrefetched: Bool
  let changes = ChangeCounts()
  let failure = Mutex<DatabaseError?>(nil)
  /// Why the tables may not be used now: their claim was lost with the listener's connection, and another process may have it.
  private let refusal = Mutex<DatabaseError?>(nil)
  /// The effects of writes happen one at a time.
  let effects = Mutex<Void>(())
  /// Taken on when all connections are to be made anew.
  private let generation = Atomic<Int>(0)

  init(address: PostgreSQLAddress, options: PostgreSQLOptions) {
    self.address = address
    application = options.application
    claim = options.claim
    checksPrefetched = options.checksPrefetched
  }

  var currentGeneration: Int { generation.load(ordering: .acquiring) }

  /// No connection made before is used any more.
  func endConnections(of generation: Int) {
    _ = self.generation.compareExchange(
      expected: generation, desired: generation + 1, ordering: .acquiringAndReleasing)
  }

  /// The tables may be another process's: no body runs until they are claimed again.
  func refuse(_ error: DatabaseError?) {
    refusal.withLock { $0 = error }
    if error != nil { endConnections(of: currentGeneration) }
  }

  /// Throws while another process may have the tables.
  func checkClaim() throws(DatabaseError) {
    if let error = refusal.withLock({ $0 }) {
      throw DatabaseError(.unavailable, state: "08006", error.message, sql: "")
    }
  }

  func connect() throws(DatabaseError) -> ServerHandle { try ServerHandle(address, application: application) }
}

/// One thread's connection and what is done with it. Runs a body again where only others, or the connection, were in its way.
struct ServerWorker {
  /// How often a body runs at most, where others are in its way.
  private static let maximumRuns = 6
  /// Pauses between two tries to connect, in milliseconds.
  private static let pauses = [100, 200, 400, 800, 1600, 2000]

  private let kind: ServerSession.Kind
  private let link: ServerLink
  private var session: ServerSession?
  private var generation = 0
  private var mark: Int64?
  private var commits: Int64 = 0

  init(kind: ServerSession.Kind, link: ServerLink) {
    self.kind = kind
    self.link = link
  }

  private enum Outcome {
    case answered
    case again(DatabaseError, after: ServerFailure.Remedy)
    case inDoubt(CommitInDoubt)
  }

  /// Runs the body until it is done, fails by its own fault, or its time is over; and answers it.
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
            body, DatabaseError(.outcomeUnknown, state: doubt.cause.state, doubt.cause.message, sql: "COMMIT")
          )
        }
      }
    }
  }

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

  private func succeed(_ body: QueuedBody) {
    if kind == .write { link.failure.withLock { $0 = nil } }
    link.effects.withLock { _ in body.applyEffect() }
    body.answer()
  }

  private func fail(_ body: QueuedBody, _ error: any Error) {
    if kind == .write, let error = error as? DatabaseError, error.isOfStorage || error.code == .unavailable {
      link.failure.withLock { $0 = error }
    }
    body.answer(error)
  }

  private mutating func nextMark() -> CommitMark? {
    guard let mark else { return nil }
    commits += 1
    return CommitMark(id: mark, number: commits)
  }

  // MARK: connections

  /// The connection, a new one where there is none that is good. Tries until the deadline, or once where there is none.
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

  /// Whether a commit happened whose answer was lost; nil where no server can be asked in time.
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

  private func pause(upTo milliseconds: Int) {
    usleep(UInt32.random(in: 1...UInt32(milliseconds)) * 1000)
  }
}
