import Commerce
package import ContentDelivery
package import CoreTypes
import Crypto
package import Database
import DeliveryRecords
package import Monitoring
import PullboxAPI
package import ServiceAPI
package import ServiceRuntime
import Synchronization

/// Writes down what was sent for each grant: every few seconds, with a completion, and at the end. Questions need no
/// write: they add what ``unrecorded(_:)`` is to what the database has.
package struct DeliveryRecorder: Sendable {
  /// The bytes that were sent for one grant since they were last written down.
  typealias Sent = (handle: DeliveryHandle, bytes: ByteCount)

  /// At most this much of the count is lost when the server dies while the database takes writes.
  package static let interval: Duration = .seconds(5)
  /// A body of ``recording(of:to:_:)`` is called so often: once more for what others were recording, and again where
  /// their writes failed.
  private static let attempts = 4
  /// Grants in one write, so that others get their turn.
  private static let batch = 500

  /// Counts what the event loops send.
  package let meters: MeterRegistry
  /// Keeps the counts by delivery handle.
  package let database: Database
  /// Times the passes of ``run(log:)``.
  package let timer: any MonotonicClock
  /// Dates what is written down.
  private let clock: any WallClock
  /// The node that sends; 0 for the only server of a file.
  package let node: Int64
  /// Asks other nodes for what they have sent; nil for the only server of a file.
  private let wanted: ChangeSender?
  /// Says what is written down.
  private let answer: @Sendable (_ sentUntil: Timestamp) async throws -> Void
  private let isAsked = Flag()
  private let doubts = Doubts()
  private let hours: DeliveredHours?

  private final class Flag: Sendable {
    let value = Atomic(false)
  }

  /// The counts that were drained for writes whose answers were lost: they are in the database, or not.
  private final class Doubts: Sendable {
    let all = Mutex<[(sent: [Sent], commit: CommitReference)]>([])
  }

  /// Creates a recorder. Several recorders over the same meters never write the same bytes twice. `answer` tells the other nodes, which
  /// have asked, until when all that this one has sent is written down, by the clock of the database. `hours` counts what was sent by the
  /// hour, which one recorder of the meters may do.
  package init(
    meters: MeterRegistry, database: Database, timer: any MonotonicClock, clock: any WallClock,
    node: Int64 = 0, hours: DeliveredHours? = nil,
    answer: @escaping @Sendable (_ sentUntil: Timestamp) async throws -> Void = { _ in }, log: Log? = nil
  ) {
    self.meters = meters
    self.database = database
    self.timer = timer
    self.clock = clock
    self.node = node
    self.hours = hours
    self.answer = answer
    wanted =
      if let log, database.isShared {
        ChangeSender(.meters, database: database, timer: timer, log: log)
      } else {
        nil
      }
  }

  /// After this call the database counts everything that was sent before it, by grants and, with hours, by the hour. Writes ``batch`` grants at a time.
  /// Throws ``DatabaseError``; what was not written goes back to the meters and is written by a later call. What may have been written is
  /// neither written again nor forgotten before that is known.
  package func record() async throws {
    note()
    try await settle()
    var rest = meters.drain()[...]
    while !rest.isEmpty {
      let batch = Array(rest.prefix(Self.batch))
      do {
        try await database.write(locking: []) { try unrecorded(batch).write(in: $0) }
      } catch {
        // Not written down, so not forgotten either.
        meters.restore(Array(rest.dropFirst(batch.count)))
        giveBack(batch, after: error)
        throw error
      }
      meters.confirm(batch)
      rest = rest.dropFirst(batch.count)
    }
    try await hours?.write(by: node, in: database)
  }

  /// Notes what was sent by the hour: before the database is asked, which may be away for longer than the hour lasts.
  private func note() { hours?.note(total: meters.total, at: clock.now()) }

  private func giveBack(_ sent: [Sent], after error: any Error) {
    guard let commit = (error as? DatabaseError)?.commit else { return meters.restore(sent) }
    doubts.all.locked { $0.append((sent, commit)) }
  }

  /// Finds out what became of writes whose answers were lost. Throws ``DatabaseError``.
  private func settle() async throws {
    while let doubt = doubts.all.locked({ $0.popLast() }) {
      do {
        // Nothing is known any more after a week: better too few than the same bytes twice.
        let isWritten = try await database.hasHappened(doubt.commit) ?? true
        if isWritten { meters.confirm(doubt.sent) } else { meters.restore(doubt.sent) }
      } catch {
        doubts.all.locked { $0.append(doubt) }
        throw error
      }
    }
  }

  /// The same, and it waits for what others are writing down. Throws also `unavailable` where that does not end, and `CancellationError`.
  func recordAll() async throws {
    let sent = meters.mark()
    for _ in 0..<Self.attempts {
      try await record()
      guard let others = meters.recordings(until: sent) else { return }
      try await meters.waitForEnd(of: others)
    }
    throw Self.beingCounted
  }

  /// The bytes that the database does not count yet.
  struct Unrecorded: Sendable {
    /// To be written down.
    var sent: [Sent] = []
    /// The node that sent it.
    var node: Int64 = 0
    /// When it is written down.
    var now = Timestamp(millisecondsSinceEpoch: 0)
    /// Being written down by others, who may be done by the time this is looked at.
    var beingRecorded = ByteCount.zero
  }

  /// Hands out what was sent of a package to a device and is not written down yet. `body` writes it down, with what
  /// depends on it; when it throws, that was not done. When it answers nil, because it depends on what others are recording,
  /// it is called again once their writes have ended. Throws `unavailable` where it has answered nil too often.
  ///
  /// `body` runs again with what was sent meanwhile. Throws also what `body` throws; the bytes go back to the
  /// meters then.
  func recording<Value>(
    of content: SHA256Digest, to device: DeviceIdentifier, _ body: (Unrecorded) async throws -> Value?
  ) async throws -> Value {
    try await settle()
    for _ in 0..<Self.attempts {
      let (sent, others) = meters.drain(content: content, device: Ticket.tag(of: device))
      do {
        let value = try await body(unrecorded(sent, beingRecorded: others.bytes))
        meters.confirm(sent)
        if let value { return value }
      } catch {
        giveBack(sent, after: error)
        throw error
      }
      try await meters.waitForEnd(of: others)
    }
    throw Self.beingCounted
  }

  private func unrecorded(_ sent: [Sent], beingRecorded: ByteCount = .zero) -> Unrecorded {
    Unrecorded(sent: sent, node: node, now: clock.now(), beingRecorded: beingRecorded)
  }

  private static let beingCounted = Problem(
    .unavailable, "what was sent is still being counted", retryAfterSeconds: 2)

  /// The pauses between the tries of ``askingOthers(_:)``: two seconds in all.
  private static let pauses: [Duration] = [
    .milliseconds(150), .milliseconds(250), .milliseconds(600), .seconds(1),
  ]

  /// Runs a body that refuses a completion for want of bytes again, where other nodes may have sent them: they are asked to write down
  /// what they have sent, and are waited for until all have answered, for two seconds at most. Nothing is decided while one of them has not:
  /// it may have sent the bytes, and be dead. Throws what `body` throws, `unavailable` then, and `CancellationError`.
  func askingOthers<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch let problem as Problem where wanted != nil && Self.lacksBytes(problem) {}
    let asked = try await database.read { try SQLDialect.serverTime(in: $0) }
    for pause in Self.pauses {
      wanted?.add(["all"])
      try await timer.sleep(for: pause)
      // Before the look: of a node that has answered by now, that sees all that it wrote down.
      let isAnswered = try await database.read {
        try !NodeTable.anyOwesAnswer(besides: node, sentUntil: asked, in: $0)
      }
      do {
        return try await body()
      } catch let problem as Problem where !isAnswered && Self.lacksBytes(problem) {}
    }
    throw Problem(
      .unavailable, "a node that may have sent the package's bytes does not answer", retryAfterSeconds: 5)
  }

  private static func lacksBytes(_ problem: Problem) -> Bool {
    problem.code == .completionMismatch && problem.missingStep == CompletionStep.delivery.rawValue
  }

  /// Returns the bytes that were sent for the grant and are not written down yet.
  package func unrecorded(_ grant: DeliveryHandle) -> ByteCount { meters.unrecorded(grant) }

  /// Throws ``DatabaseError``; who has asked is answered by a later call then.
  private func recordAndAnswer() async throws {
    note()
    let isAsked = isAsked.value.exchange(false, ordering: .acquiring)
    do {
      guard isAsked else { return try await record() }
      // Before anything is gathered: what was sent until then is among it.
      let now = try await database.read { try SQLDialect.serverTime(in: $0) }
      try await recordAll()
      try await answer(now)
    } catch {
      if isAsked { self.isAsked.value.store(true, ordering: .releasing) }
      throw error
    }
  }

  /// Works until the task is cancelled, and at once where a completion at another node waits for it; ``DeliveryServer/stop()`` records once more. What cannot be written
  /// down now is kept and logged: deliveries go on.
  package func run(log: Log) async {
    let backoff = Backoff(initial: .milliseconds(500), cap: Self.interval)
    let worker = Worker(clock: timer, backoff: backoff)
    let reader = database.reader(of: .meters)
    await withTaskGroup { group in
      group.addTask {
        while await reader.next() != nil {
          isAsked.value.store(true, ordering: .releasing)
          worker.wake()
        }
      }
      group.addTask { [wanted] in await wanted?.run() }
      group.addTask {
        await worker.run(every: Self.interval, recordAndAnswer) { error in
          log.error("what was sent cannot be written down", ["error": LogValue(error)])
        }
      }
    }
  }
}

extension DeliveryRecorder.Unrecorded {
  /// Adds what was sent to the counts in the table. Runs in a write that needs no lock, since additions do not
  /// depend on their order; in one order of the grants, so that two writes that count for the same ones do not wait for each
  /// other. Throws ``DatabaseError``.
  func write(in connection: borrowing Connection) throws {
    for (handle, bytes) in sent.sorted(by: {
      ($0.handle.high, $0.handle.low) < ($1.handle.high, $1.handle.low)
    }) { try DeliveredBytesTable.add(bytes, to: handle, sentBy: node, at: now, in: connection) }
  }
}

extension DeliveryRecorder: MetricSource {
  /// Adds the bytes of packages that were sent since the start, and the bodies that are on their way.
  package func register(in metrics: inout MetricRegistry) {
    metrics.register([
      Metric<MeterRegistry>.counter(
        "pullbox_delivered_bytes_total", help: "Body bytes of packages sent since the start."
      ) { $0.total.rawValue },
      .gauge("pullbox_delivery_bodies", help: "Bodies of packages on their way.") { $0.bodies },
    ]) { meters }
  }
}
