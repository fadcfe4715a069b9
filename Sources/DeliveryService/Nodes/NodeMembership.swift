import CoreTypes
import Crypto
import Database
import DeliveryRecords
import Glibc
import Monitoring
import ServiceRuntime
import Synchronization

/// This server among those that share its database: its name, by which it is alone, and its run, of which its death would be told. The
/// only server of a file is a node as well, without a number and without others.
///
/// A node says every ``NodeTable/interval`` that it is there, and declares dead which were not heard of for ``NodeTable/silence``. One
/// that was declared dead by mistake, because it did not reach the database, begins another run; one whose name another process has
/// taken ends.
final class NodeMembership: Sendable {
  /// Another process has taken the node's name.
  struct Replaced: Error, CustomStringConvertible {
    let name: String
    var description: String { "another process runs as the node \(name)" }
  }

  /// How long a name whose process may be alive is watched before it is taken: two heartbeats.
  static let watch: Duration = NodeTable.interval * 2

  /// The configured name.
  let name: String
  /// Names this process in leases, and no other one.
  let process: String
  /// Names the node in counts; 0 for the only server of a file.
  let number: Int64
  /// The clock that leases go by: that of the database, or the wall clock of a server that has the records alone.
  let clock: any WallClock
  /// Whether a run before this one of the same node was not ended.
  let previousDied: Bool

  private let shared: SharedClock?
  private let isAlone: Bool
  private let wall: any WallClock
  private let timer: any MonotonicClock
  private let database: Database
  private let run: Mutex<Int64>
  private let heard: Mutex<MonotonicInstant>
  /// Since when each heartbeat has reached the database in time; nil before the first, and after one that did not.
  private let steady = Mutex<MonotonicInstant?>(nil)
  private let hasLeft = Atomic(false)

  private init(
    name: String, process: String, database: Database, wall: any WallClock, timer: any MonotonicClock,
    isAlone: Bool, _ place: Place
  ) {
    self.name = name
    self.process = process
    self.database = database
    self.wall = wall
    self.timer = timer
    number = place.number
    shared = place.clock
    self.isAlone = isAlone
    clock = isAlone ? wall : place.clock ?? wall
    previousDied = place.previousDied
    run = Mutex(place.run)
    heard = Mutex(timer.now())
  }

  private struct Place {
    var number: Int64 = 0
    var clock: SharedClock?
    var run: Int64
    var previousDied: Bool
  }

  /// Begins a run. Among several servers, takes the name, for which it waits where its last process may be alive still; for
  /// a server that `isAlone` none is. Blocks. Throws ``ConfigurationError`` for a name that is another server's, and what the database
  /// throws.
  static func join(
    as name: String, database: Database, isAlone: Bool = false, wall: any WallClock,
    timer: any MonotonicClock, watch: Duration = NodeMembership.watch
  ) throws -> NodeMembership {
    let process = "\(name) \(RandomBytes.token(bits: 64))"
    let place =
      if database.isShared {
        try takeName(name, for: process, database: database, timer: timer, watch: isAlone ? .zero : watch)
      } else {
        try beginRun(in: database, at: wall.now())
      }
    return NodeMembership(
      name: name, process: process, database: database, wall: wall, timer: timer, isAlone: isAlone, place)
  }

  private static func beginRun(in database: Database, at now: Timestamp) throws -> Place {
    // Nothing makes room on a full disk before the server runs.
    try database.usingReserveBlocking {
      try database.writeBlocking(locking: []) { connection in
        // The state directory is this process's alone: leases are those of processes that ended.
        try LeaseTable.removeAll(in: connection)
        let run = try ServerRunTable.begin(at: now, in: connection)
        return Place(run: run.id, previousDied: run.previousDied)
      }
    }
  }

  private static func takeName(
    _ name: String, for process: String, database: Database, timer: any MonotonicClock, watch: Duration
  ) throws -> Place {
    let end = ContinuousClock.now + watch
    var first: NodeTable.Node?
    while true {
      let asked = timer.now()
      let (time, found) = try database.readBlocking { connection in
        (try SQLDialect.serverTime(in: connection), try NodeTable.find(name, in: connection))
      }
      first = first ?? found
      if let found, let first, found.process != first.process || found.heartbeat != first.heartbeat {
        throw ConfigurationError(
          subject: "node",
          message: "\(name) is the name of a server that is alive, at \(found.address); each needs its own")
      }
      let mayBeAlive = found.map { $0.gone == nil && time - $0.heartbeat < NodeTable.silence } ?? false
      if !mayBeAlive || .now >= end {
        let clock = SharedClock(at: time, timer: timer)
        clock.hear(time, askedAt: asked)
        return try begin(name, for: process, after: found, clock: clock, database: database)
      }
      usleep(250_000)
    }
  }

  private static func begin(
    _ name: String, for process: String, after earlier: NodeTable.Node?, clock: SharedClock,
    database: Database
  ) throws -> Place {
    try database.writeBlocking(locking: []) { connection in
      let now = try SQLDialect.serverTime(in: connection)
      let number = try NodeTable.take(
        name, for: process, at: "", running: ProductVersion.current, after: earlier?.process, at: now,
        in: connection)
      guard let number else {
        throw ConfigurationError(subject: "node", message: "another server has just begun as \(name)")
      }
      if let earlier { try NodeTable.free(earlier, in: connection) }
      let run = try ServerRunTable.begin(of: number, heard: earlier?.heartbeat, at: now, in: connection)
      return Place(number: number, clock: clock, run: run.id, previousDied: run.previousDied)
    }
  }

  /// Tells the others where this node answers. Throws ``DatabaseError``.
  func tell(address: String) async throws {
    guard shared != nil else { return }
    let process = process
    try await database.write(locking: []) { try NodeTable.setAddress(address, of: process, in: $0) }
  }

  /// Says that the node is there, until the task is cancelled; returns at once for the only server of a file. Throws ``Replaced``.
  func run(log: Log) async throws {
    guard shared != nil else { return }
    let backoff = Backoff(initial: .milliseconds(500), cap: NodeTable.interval)
    var failures = 0
    while !Task.isCancelled {
      do {
        try await beat(log: log)
        failures = 0
      } catch let error as Replaced {
        throw error
      } catch is CancellationError {
        return
      } catch {
        failures += 1
        log.warning("the other nodes cannot be told of this one", ["error": LogValue(error)])
      }
      let pause = failures == 0 ? NodeTable.interval : backoff.delay(afterFailures: failures)
      do { try await timer.sleep(for: pause) } catch { return }
    }
  }

  private struct Beat: Sendable {
    var now: Timestamp
    /// The run that has begun with it.
    var run: Int64?
    var dead: [NodeTable.Node] = []
  }

  /// Says once that the node is there, unless it has left; and declares dead which are not, once its own heartbeats have reached the
  /// database for as long as the others must be silent. Throws ``Replaced`` and ``DatabaseError``.
  func beat(log: Log) async throws {
    guard let shared, !hasLeft.load(ordering: .acquiring) else { return }
    let (name, process, number) = (name, process, number)
    let asked = timer.now()
    let last = heard.locked { $0 }
    let since = steady.locked { steady in
      defer { steady = nil }
      return steady.flatMap { asked - last <= Self.watch ? $0 : nil } ?? asked
    }
    // While the database was away, the others were as silent as this one.
    let mayJudge = asked - since >= NodeTable.silence
    let beat = try await database.write(locking: []) { connection -> Beat in
      let now = try SQLDialect.serverTime(in: connection)
      var run: Int64?
      if try !NodeTable.beat(name, of: process, at: now, in: connection) {
        // It left meanwhile, as it said before it wrote that down.
        if self.hasLeft.load(ordering: .acquiring) { return Beat(now: now) }
        // Declared dead: the run is over, and another one begins.
        guard try NodeTable.revive(name, of: process, at: now, in: connection) else {
          throw Replaced(name: name)
        }
        run = try ServerRunTable.begin(of: number, at: now, in: connection).id
      }
      return Beat(
        now: now, run: run, dead: mayJudge ? try NodeTable.declareDead(at: now, in: connection) : [])
    }
    steady.locked { $0 = since }
    shared.hear(beat.now, askedAt: asked)
    heard.locked { $0 = timer.now() }
    if let new = beat.run {
      run.locked { $0 = new }
      log.warning("this node was declared dead, and is there again")
    }
    for node in beat.dead {
      log.warning(
        "a node is dead", ["node": LogValue(node.name), "heard": LogValue(node.heartbeat)])
    }
  }

  /// Says to other nodes, whose completions wait for it, that what this one had sent by `time` is written down. Throws ``DatabaseError``.
  func answer(sentUntil time: Timestamp) async throws {
    guard shared != nil, !hasLeft.load(ordering: .acquiring) else { return }
    let (name, process) = (name, process)
    try await database.write(locking: []) { connection in
      let now = try SQLDialect.serverTime(in: connection)
      try NodeTable.answer(name, of: process, sentUntil: time, at: now, in: connection)
    }
  }

  /// Why the node should answer no client: its clock differs too much from that of the database, or it has not reached the database for
  /// two heartbeats. Nil where it may.
  var unreadiness: String? {
    guard let shared else { return nil }
    let difference = isAlone ? .zero : shared.difference(of: wall)
    if difference > SharedClock.tolerance || difference < .zero - SharedClock.tolerance {
      return
        "the clock differs by \(DurationText.short(difference < .zero ? .zero - difference : difference)) from that of the database"
    }
    let silent = timer.now() - heard.locked { $0 }
    return silent > Self.watch ? "the database was not reached for \(DurationText.short(silent))" : nil
  }

  /// The run ends in order: everything that was counted is written down. Throws ``DatabaseError``.
  func leave() async throws {
    // A heartbeat behind it would bring the node back.
    hasLeft.store(true, ordering: .releasing)
    let end = end
    try await database.write(locking: []) { try end.write(in: $0) }
  }

  /// The same before the server runs. Blocks.
  func leaveBlocking() throws {
    let end = end
    try database.writeBlocking(locking: []) { try end.write(in: $0) }
  }

  private var end: End {
    End(name: shared == nil ? nil : name, process: process, run: run.locked { $0 }, at: clock.now())
  }

  private struct End: Sendable {
    /// Nil for the only server of a file.
    var name: String?
    var process: String
    var run: Int64
    var at: Timestamp

    func write(in connection: borrowing Connection) throws {
      try ServerRunTable.end(run, at: at, in: connection)
      if let name { try NodeTable.leave(name, of: process, at: at, in: connection) }
    }
  }
}
