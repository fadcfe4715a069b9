import Database
import PullboxTesting
import SystemCalls

/// An engine that loses answers: a file below, whose writes end as a test says.
final class DoubtfulEngine: DatabaseEngine {
  /// The end of a write.
  enum Fate: Sendable {
    /// It happens, and its caller never learns of it.
    case happened
    /// It does not happen, and its caller never learns of it.
    case lost
  }

  private struct Lost: Error {}

  let reads = BodyQueue(limit: 100)
  let writes = BodyQueue(limit: 100)
  let changes = ChangeCounts()
  /// Those of the next writes, the first one first; what comes behind them is answered.
  let fates = Locked<[Fate]>([])
  /// Whether no server can be asked what happened.
  let isAway = Locked(false)
  /// Called before each write is looked at.
  let beforeWrite = Locked<(@Sendable () -> Void)?>(nil)
  private let outcomes = Locked<[Bool]>([])
  private let below: Database
  private let pool = BlockingPool(name: "doubtful", threads: 2)

  init(on below: Database) {
    self.below = below
    _ = pool.start { [below, reads] in
      while let body = reads.take() {
        do {
          body.answer(try below.readBlocking { body.run(on: $0) })
        } catch {
          body.answer(error)
        }
      }
    }
    _ = pool.start { [below, writes, fates, outcomes, beforeWrite] in
      while let body = writes.take() {
        beforeWrite.current?()
        Self.serve(body, below, fates, outcomes)
      }
    }
  }

  private static func serve(
    _ body: QueuedBody, _ below: Database, _ fates: Locked<[Fate]>, _ outcomes: Locked<[Bool]>
  ) {
    let fate = fates.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    do {
      try below.writeBlocking(locking: body.locks) { connection in
        if let error = body.run(on: connection) { throw error }
        if fate == .lost { throw Lost() }
      }
      guard fate == nil else { return body.answer(doubt(fate, outcomes)) }
      body.applyEffect()
      body.answer()
    } catch is Lost {
      body.answer(doubt(fate, outcomes))
    } catch {
      body.answer(error)
    }
  }

  private static func doubt(_ fate: Fate?, _ outcomes: Locked<[Bool]>) -> DatabaseError {
    let number = outcomes.withLock { outcomes in
      outcomes.append(fate == .happened)
      return outcomes.count
    }
    return DatabaseError(
      .outcomeUnknown, "a test loses the answer", sql: "COMMIT",
      commit: CommitReference(connection: 1, number: Int64(number)))
  }

  func hasHappened(_ commit: CommitReference) async throws -> Bool? {
    if isAway.current { throw DatabaseError(.unavailable, "a test has it away", sql: "") }
    return outcomes.current[Int(commit.number) - 1]
  }

  var isWriting: Bool { false }
  var isReading: Bool { false }
  var lastWriteFailure: DatabaseError? { nil }
  var file: FileEngine? { nil }

  func optimize() async throws {}
  func checkWritable() async throws {}
  func close() { abandon() }

  func abandon() {
    reads.close()
    writes.close()
  }
}
