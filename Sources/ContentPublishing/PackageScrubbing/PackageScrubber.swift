import BlobStore
package import ContentDelivery
package import CoreTypes
package import Crypto
package import Database
package import DeliveryRecords
package import PackageStorage
import PullboxAPI
package import ServiceAPI
package import ServiceRuntime
import SystemCalls

/// Reads the stored packages again and again, slowly, and writes down which of them are missing or damaged: their
/// devices would be the first to notice otherwise, and have no way to say so. Nothing of a faulty package is sent until it
/// is whole again (``RevocationList``). How far a round has come stands in ``PackageCheckTable``, so that a restart goes on
/// there.
///
/// A package has no fault, or is missing or damaged. A round, a request that finds no file, and a look at a
/// changed file move it from one to the other. Each change is one write; its effect tells the revocation list,
/// in the order of the commits.
package actor PackageScrubber {
  /// The progress that metrics show; kept here so that no page of metrics has to look at every package.
  struct Progress {
    /// Packages read since the start.
    var checks: Int64 = 0
    /// Packages that are due, as far as the last look tells.
    var waiting = 0
    /// When a package was last read, by this run or an earlier one.
    var lastCheck: Timestamp?
  }

  /// New versions are looked for so often.
  private static let pause = Duration.seconds(3600)
  /// The files of faulty packages are looked at so often: a repair puts others there.
  private static let pauseBetweenLooks = Duration.seconds(30)

  let database: Database
  let shelf: any PackageShelf
  private let stops: RevocationList
  /// Told of a package whose file is not to be used any more, for what keeps it open.
  private let didChange: @Sendable (SHA256Digest) -> Void
  private let clock: any WallClock
  let timer: any MonotonicClock
  let rules: Rules
  let log: Log
  private let worker: Worker
  /// Held by the node that checks for all; without one, no other process uses the database.
  private let lease: WorkerLease?
  /// An operator asked for a round: what was checked before is read again.
  private var asked: Timestamp?
  /// The request whose round has ended. ``asked`` stays: who reads what was checked before the end of a round compares it with that.
  private var answered: Timestamp?
  /// The packages that were written down as missing since the start; each is told once.
  private var missing: Set<SHA256Digest> = []
  /// The faults that could not be written down, as while the database is away.
  private let unwritten: UnwrittenFaults
  /// The faults that were found since the start.
  private var sightings = FaultSightings()
  private(set) var progress = Progress()
  /// Packages read since the start.
  package var checks: Int64 { progress.checks }

  /// Creates a scrubber, which reads nothing before ``run()``. `didChange` is called on the database's writer
  /// thread for a fault that is new or gone, and on the caller's task for bytes that were just put there; it
  /// must not wait. A `lease` that another process holds leaves the work to that one. `state` is the directory that keeps
  /// what the database cannot be told; without one a restart forgets it.
  package init(
    database: Database, shelf: any PackageShelf, stops: RevocationList, clock: any WallClock,
    timer: any MonotonicClock, rules: Rules, log: Log, lease: WorkerLease? = nil,
    state: String? = nil,
    didChange: @escaping @Sendable (SHA256Digest) -> Void = { _ in }
  ) {
    self.database = database
    self.shelf = shelf
    self.stops = stops
    self.didChange = didChange
    self.clock = clock
    self.timer = timer
    self.rules = rules
    self.log = log
    self.lease = lease
    unwritten = UnwrittenFaults(state: state, log: log)
    worker = Worker(clock: timer)
  }

  /// Checks what is due, and what is repaired, until the task is cancelled. A failure is logged and tried
  /// again.
  package func run() async {
    let (log, looks) = (log, Worker(clock: timer))
    let onFailure = { @Sendable (error: any Error) in
      log.error("the check of the packages was broken off", ["error": LogValue(error)])
    }
    await withTaskGroup { group in
      group.addTask {
        await self.worker.run(
          {
            guard try await self.mayGoOn() else { return .pause(atMost: Self.pauseBetweenLooks) }
            try await self.runRound()
            return .pause(atMost: Self.pause)
          }, onFailure: onFailure)
      }
      group.addTask {
        await looks.run(
          {
            try await self.writeFaults()
            if try await self.lease?.isHeld() ?? true { try await self.lookAtFaulty() }
            return .pause(atMost: Self.pauseBetweenLooks)
          }, onFailure: onFailure)
      }
    }
  }

  /// Whether this node checks for all, or for an operator who has asked it.
  func mayGoOn() async throws -> Bool {
    if asked != answered { return true }
    return try await lease?.isHeld() ?? true
  }

  /// Begins a round over all packages, and answers how they stand now. Packages that were read since the call
  /// are not read again by that round. Throws ``DatabaseError``.
  package func ask() async throws -> PackageScrubReport {
    asked = clock.now()
    worker.wake()
    return try await report()
  }

  /// Returns how the packages of versions stand, by the last check of each. The faults are in the order of
  /// their digests. Throws ``DatabaseError``.
  package func report() async throws -> PackageScrubReport {
    let (expected, checks) = try await facts()
    let faults = checks.compactMap { digest, check in
      check.fault.map { PackageScrubReport.Item(digest: digest, fault: $0, checked: check.checked) }
    }
    return PackageScrubReport(
      packages: expected.count, waiting: due(expected, checks).count,
      faults: faults.sorted { $0.digest.hexadecimal < $1.digest.hexadecimal })
  }

  /// A request found no file of a package. Answers whether a version is to have it. True also where that cannot
  /// be written down, which is logged, and done later: the request is refused as for a faulty package.
  package func noteMissing(_ digest: SHA256Digest) async -> Bool {
    guard missing.insert(digest).inserted else { return true }
    do {
      let isExpected = try await record(.missing, of: digest, in: .absent)
      if !isExpected { missing.remove(digest) }
      return isExpected
    } catch {
      missing.remove(digest)
      await unwritten.keep(.missing, of: digest)
      log.error(
        "a missing package could not be written down",
        ["digest": LogValue(digest.hexadecimal), "error": LogValue(error)])
      return true
    }
  }

  /// Other bytes came for a package than its own, where it was read to be sent. Answers whether a version is to have it. True also where that
  /// cannot be written down, which is logged, and done later.
  @discardableResult
  package func noteDamaged(_ digest: SHA256Digest) async -> Bool {
    do {
      return try await record(.damaged, of: digest, in: place(of: digest))
    } catch {
      await unwritten.keep(.damaged, of: digest)
      log.error(
        "a damaged package could not be written down",
        ["digest": LogValue(digest.hexadecimal), "error": LogValue(error)])
      return true
    }
  }

  /// Writes down what could not be when it was found. Such a package is looked at again, since others may be there by now. Throws ``DatabaseError``.
  func writeFaults() async throws {
    for digest in await unwritten.packages {
      // It may have been taken back while another one was written.
      guard let fault = await unwritten.fault(of: digest) else { continue }
      try await record(fault, of: digest)
    }
  }

  /// The right bytes were just put on the shelf, or read there. Takes the fault away that was written down for
  /// them. Throws ``DatabaseError``.
  func noteWhole(_ digest: SHA256Digest) async throws {
    didChange(digest)
    await unwritten.forget(digest)
    guard try await database.read({ try PackageCheckTable.fault(of: digest, in: $0) }) != nil else { return }
    try await record(nil, of: digest)
  }

  /// Reads the faulty packages again whose files have changed since, as they may have been repaired, and those that an
  /// earlier run of the server found; the others after the pauses of ``FaultSightings``, as what was wrong may have been the reading, unless the rules
  /// have lengths alone compared: whole packages may cost money there.
  /// A file counts as changed if its ``PackageIdentity`` is another. Throws ``DatabaseError`` and ``BlobStoreError``.
  func lookAtFaulty() async throws {
    for digest in try await database.read({ try PackageCheckTable.faulty(in: $0) }) {
      let place = try await place(of: digest)
      guard sightings.isDue(digest, at: timer.now(), in: place, repeats: rules.readsAll) else { continue }
      guard try await check(digest) else { return }
    }
  }

  /// Reads what is due now, the longest unread first. Checks of packages that no version has any more are
  /// forgotten first. Throws ``DatabaseError``, ``BlobStoreError`` and `CancellationError`; what was read by
  /// then is written down.
  func runRound() async throws {
    let request = asked
    let (expected, checks) = try await facts()
    let keepsWithdrawn = rules.keepsWithdrawn
    let now = clock.now()
    for digest in checks.keys where !expected.contains(digest) {
      try await database.write(locking: [.content(digest)]) { connection in
        // A version may have come since.
        guard try !PackageCheckTable.isExpected(digest, keepsWithdrawn: keepsWithdrawn, in: connection)
        else { return false }
        try PackageCheckTable.remove(digest, at: now, in: connection)
        return true
      } then: { [stops] isRemoved in
        if isRemoved { stops.takeBack(repaired: digest) }
      }
    }
    let due = due(expected, checks)
    progress.waiting = due.count
    progress.lastCheck = [progress.lastCheck, checks.values.map(\.checked).max()].compactMap { $0 }.max()
    let listed = rules.readsAll || due.isEmpty ? [:] : try await shelf.list()
    for digest in due {
      try Task.checkCancellation()
      guard try await mayGoOn() else { break }
      if rules.readsAll || checks[digest]?.fault != nil {
        guard try await check(digest) else { break }
      } else {
        try await compareLength(of: digest, listed: listed[digest])
      }
      progress.waiting -= 1
    }
    if progress.waiting == 0 { answered = request }
  }

  /// Reads one package and writes down what was found. False where another node has the lease by now: nothing is found then.
  private func check(_ digest: SHA256Digest) async throws -> Bool {
    // A request that comes while it is read asks for what is there by then.
    let begun = clock.now()
    guard let (fault, place) = try await fault(of: digest) else { return false }
    try await note(fault, of: digest, in: place, at: begun)
    return true
  }

  /// Compares a package's length with that of its version. `listed` is what a list told: where that is another one, or nil, the package
  /// itself is looked at.
  private func compareLength(of digest: SHA256Digest, listed: ByteCount?) async throws {
    let expected = try await database.read { try VersionTable.length(of: digest, in: $0) }
    if let listed, listed == expected { return try await note(nil, of: digest, in: nil) }
    guard let reader = try await reader(of: digest) else {
      return try await note(.missing, of: digest, in: .absent)
    }
    let isRight = expected == nil || reader.length == expected
    try await note(isRight ? nil : .damaged, of: digest, in: .there(reader.identity))
  }

  /// `begun` is when the look at the package began; nil for now.
  private func note(
    _ fault: PackageFault?, of digest: SHA256Digest, in place: PackagePlace?, at begun: Timestamp? = nil
  ) async throws {
    progress.checks += 1
    progress.lastCheck = clock.now()
    try await record(fault, of: digest, in: place, at: begun)
  }

  /// Returns the packages that versions are to have, and the last check of each, by one read.
  private func facts() async throws -> (Set<SHA256Digest>, [SHA256Digest: PackageCheckTable.Check]) {
    let keepsWithdrawn = rules.keepsWithdrawn
    return try await database.read { connection in
      (
        try PackageCheckTable.expected(keepsWithdrawn: keepsWithdrawn, in: connection),
        try PackageCheckTable.all(in: connection)
      )
    }
  }

  /// Returns the packages that are to be read: those never read first, then by the time of their last check.
  private func due(
    _ expected: Set<SHA256Digest>, _ checks: [SHA256Digest: PackageCheckTable.Check]
  ) -> [SHA256Digest] {
    let now = clock.now()
    let due = expected.filter { digest in
      guard let checked = checks[digest]?.checked else { return asked != nil || rules.interval > .zero }
      // A clock that was set back does not keep a package from being read for years.
      if checked > now { return true }
      if let asked, checked < asked { return true }
      return rules.interval > .zero && checked + rules.interval <= now
    }
    return due.sorted { left, right in
      let (first, second) = (checks[left]?.checked, checks[right]?.checked)
      guard first == second else {
        let never = Timestamp(millisecondsSinceEpoch: .min)
        return (first ?? never) < (second ?? never)
      }
      return left.hexadecimal < right.hexadecimal
    }
  }

  /// Returns nil where there is no such package.
  func reader(of digest: SHA256Digest) async throws -> (any PackageReader)? {
    do {
      return try await shelf.reader(of: digest)
    } catch {
      guard error.code == .notFound else { throw error }
      return nil
    }
  }

  private func place(of digest: SHA256Digest) async throws -> PackagePlace {
    try await reader(of: digest).map { .there($0.identity) } ?? .absent
  }

  /// Writes a check down, unless nothing expects the package any more, and logs what has changed. Answers whether
  /// something does.
  @discardableResult
  private func record(
    _ fault: PackageFault?, of digest: SHA256Digest, in place: PackagePlace? = nil, at begun: Timestamp? = nil
  ) async throws -> Bool {
    let (now, keepsWithdrawn) = (begun ?? clock.now(), rules.keepsWithdrawn)
    sightings.note(fault, of: digest, in: place, at: timer.now())
    let before = try await database.write(locking: [.content(digest)]) { connection -> PackageFault?? in
      guard try PackageCheckTable.isExpected(digest, keepsWithdrawn: keepsWithdrawn, in: connection) else {
        return nil
      }
      let before = try PackageCheckTable.fault(of: digest, in: connection)
      try PackageCheckTable.record(fault, of: digest, at: now, in: connection)
      return .some(before)
    } then: { [stops, didChange] before in
      if fault == nil || before == nil {
        stops.takeBack(repaired: digest)
      } else {
        stops.setAside(damaged: digest)
      }
      if let before, before != fault { didChange(digest) }
    }
    await unwritten.forget(digest)
    if fault != .missing { missing.remove(digest) }
    guard let before else { return false }
    guard before != fault else { return true }
    let name: KeyValuePairs<String, LogValue> = ["digest": LogValue(digest.hexadecimal)]
    if let fault {
      log.error(fault == .missing ? "a package is missing" : "a package is damaged", name)
    } else {
      log.info("a package is whole again", name)
    }
    return true
  }
}
