import BlobStore
import CoreTypes
import Crypto
import Database
import PullboxAPI
import ServiceRuntime
import SystemCalls

/// Reads the stored packages again and again, slowly, and writes down which of them are missing or damaged: their
/// devices would be the first to notice otherwise, and have no way to say so. How far a round has come stands in
/// ``PackageCheckTable``, so that a restart goes on there.
actor PackageScrubber {
  /// What the operator decided.
  struct Rules: Sendable {
    /// Each package is read again after that time; zero: only when an operator asks.
    var interval: Duration = .seconds(30 * 86_400)
    /// Bytes a second.
    var rate = ByteCount.mebibytes(16)
    /// Whether withdrawn versions are to have their packages.
    var keepsWithdrawn = true
  }

  private static let chunk = ByteCount.mebibytes(1)
  /// New versions are looked for so often.
  private static let pause = Duration.seconds(3600)

  private let database: Database
  private let shelf: any PackageShelf
  private let clock: any WallClock
  private let timer: any MonotonicClock
  private let rules: Rules
  private let log: Log
  private let worker: Worker
  /// An operator asked for a round: what was checked before is read again.
  private var asked: Timestamp?
  /// What was written down as missing since the start; each is told once.
  private var missing: Set<SHA256Digest> = []
  private(set) var checks: Int64 = 0

  init(
    database: Database, shelf: any PackageShelf, clock: any WallClock, timer: any MonotonicClock,
    rules: Rules,
    log: Log
  ) {
    self.database = database
    self.shelf = shelf
    self.clock = clock
    self.timer = timer
    self.rules = rules
    self.log = log
    worker = Worker(clock: timer)
  }

  /// Checks what is due until the task is cancelled.
  func run() async {
    let log = log
    await worker.run {
      try await self.runRound()
      return .pause(atMost: Self.pause)
    } onFailure: { error in
      log.error("the check of the packages was broken off", ["error": LogValue(error)])
    }
  }

  /// Begins a round over all packages, and answers how they stand now.
  func ask() async throws -> PackageScrubReport {
    asked = clock.now()
    worker.wake()
    return try await report()
  }

  func report() async throws -> PackageScrubReport {
    let (expected, checks) = try await facts()
    let faults = checks.compactMap { digest, check in
      check.fault.map { PackageScrubReport.Item(digest: digest, fault: $0, checked: check.checked) }
    }
    return PackageScrubReport(
      packages: expected.count, waiting: due(expected, checks).count,
      faults: faults.sorted { $0.digest.hexadecimal < $1.digest.hexadecimal })
  }

  /// A request found no file of a package that a version has.
  func noteMissing(_ digest: SHA256Digest) async {
    guard missing.insert(digest).inserted else { return }
    do {
      try await record(.missing, of: digest)
    } catch {
      missing.remove(digest)
      log.error(
        "a missing package could not be written down",
        ["digest": LogValue(digest.hexadecimal), "error": LogValue(error)])
    }
  }

  /// Reads what is due now, the longest unread first.
  func runRound() async throws {
    let (expected, checks) = try await facts()
    for digest in checks.keys where !expected.contains(digest) {
      try await database.write(locking: [.content(digest)]) { try PackageCheckTable.remove(digest, in: $0) }
    }
    for digest in due(expected, checks) {
      try Task.checkCancellation()
      try await record(try await fault(of: digest), of: digest)
      self.checks += 1
    }
  }

  private func facts() async throws -> (Set<SHA256Digest>, [SHA256Digest: PackageCheckTable.Check]) {
    let keepsWithdrawn = rules.keepsWithdrawn
    return try await database.read { connection in
      (
        try PackageCheckTable.expected(keepsWithdrawn: keepsWithdrawn, in: connection),
        try PackageCheckTable.all(in: connection)
      )
    }
  }

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

  /// Nil for a package whose bytes are those that its name says. Reads at the rules' rate.
  private func fault(of digest: SHA256Digest) async throws -> PackageFault? {
    let file: SharedFile
    do {
      file = try await SharedFile(shelf.open(digest))
    } catch {
      guard error.code == .notFound else { throw error }
      return .missing
    }
    var hasher = SHA256Hasher()
    var position = ByteCount.zero
    let begun = timer.now()
    while true {
      let start = position
      let bytes: [UInt8]
      do {
        bytes = try await BlockingPool.shared.run { () throws(SystemError) -> [UInt8] in
          var bytes: [UInt8] = []
          try file.file.read(upTo: Int(Self.chunk.rawValue), at: start, into: &bytes)
          return bytes
        }
      } catch {
        log.error(
          "a package cannot be read", ["digest": LogValue(digest.hexadecimal), "error": LogValue(error)])
        return .damaged
      }
      if bytes.isEmpty { break }
      hasher.update(bytes.span)
      position += ByteCount(bytes.count)
      let needed = Duration.milliseconds(position.rawValue * 1000 / max(1, rules.rate.rawValue))
      let spent = timer.now() - begun
      if needed > spent { try await timer.sleep(for: needed - spent) }
    }
    return hasher.finalize() == digest ? nil : .damaged
  }

  /// Writes a check down, unless nothing expects the package any more, and logs what has changed.
  private func record(_ fault: PackageFault?, of digest: SHA256Digest) async throws {
    let (now, keepsWithdrawn) = (clock.now(), rules.keepsWithdrawn)
    let before = try await database.write(locking: [.content(digest)]) { connection -> PackageFault?? in
      guard try PackageCheckTable.isExpected(digest, keepsWithdrawn: keepsWithdrawn, in: connection) else {
        return nil
      }
      let before = try PackageCheckTable.fault(of: digest, in: connection)
      try PackageCheckTable.record(fault, of: digest, at: now, in: connection)
      return .some(before)
    }
    if fault != .missing { missing.remove(digest) }
    guard let before, before != fault else { return }
    let name: KeyValuePairs<String, LogValue> = ["digest": LogValue(digest.hexadecimal)]
    if let fault {
      log.error(fault == .missing ? "a package is missing" : "a package is damaged", name)
    } else {
      log.info("a package is whole again", name)
    }
  }
}

extension PackageScrubber: MetricSource {
  nonisolated func register(in metrics: inout MetricRegistry) {
    let database = database
    let damaged: Metric<Int64> = .gauge(
      "pullbox_packages_damaged", help: "Packages of versions that were found missing or damaged."
    ) { $0 }
    metrics.register([damaged]) { try await database.read { try PackageCheckTable.countFaults(in: $0) } }
    let checks: Metric<Int64> = .counter(
      "pullbox_package_checks_total", help: "Packages read to see whether they are whole."
    ) { $0 }
    metrics.register([checks]) { await self.checks }
  }
}
