import BlobStore
import ContentDelivery
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import Files
import PostgreSQLEngine
import PullboxAPI
import RecordTransfer
import ServiceAPI
import ServiceRuntime
import SystemCalls

/// Backs a server's state up, beside servers that run or without one: the records as they were at one moment, and every
/// package that they refer to. Records in PostgreSQL become a file of SQLite: a generation is restored to either. See docs/decisions/0027.
///
/// A package of the generation before is linked, any other copied and compared with its digest on the way. Nothing counts
/// until the generation is complete; a process that is killed, or a disk that is full, leaves the earlier ones
/// as they were. docs/operations.md ("Backup") shows it to operators.
struct Backup: Sendable {
  /// The outcome of a backup.
  struct Outcome: Sendable {
    /// The name of the new generation in its directory.
    var generation: String
    /// The list of all that the generation has, and of the packages that it lacks.
    var manifest: BackupManifest
    /// Packages that share the file of the generation before.
    var linked = 0
    /// Packages that were read from the state, or from the generation before, and compared with their digests.
    var copied = 0
    /// Earlier generations that were removed.
    var removed: [String] = []
    /// Generations that were passed over since their manifests do not read, the newest first: what is wrong with each.
    var passedOver: [String] = []
    /// Why the state directory does not say that this backup was made; nil where it does.
    var unrecorded: String?
  }

  /// The generation that packages are linked to.
  private struct Previous {
    /// The packages of that generation, to link or to copy from.
    var packages: BlobDirectory
    /// Names the packages with their lengths. A file of another length is not linked.
    var manifest: BackupManifest
  }

  /// The state directory.
  let state: String
  /// Where the generations are; it is created where it is not there.
  let directory: BackupDirectory
  /// The database of the records; nil for the file in the state directory.
  var database: PostgreSQLAddress?
  /// The object store of the packages; nil where they lie in the state directory.
  var store: PackageStorePlace?
  /// Whether packages of an object store stay there alone, and the generation names the store.
  var leavesPackages = false
  /// Generations that are kept, this one among them; nil keeps all.
  var keep: Int?
  /// Bounds the bytes that are read a second; linked packages are not read.
  var rate = ReadingRate()
  /// Names the generation and dates its manifest.
  var clock: any WallClock = SystemWallClock()

  /// Blocks. Throws ``StateCareError``, `UsageError` for a directory in the state directory, what the database
  /// says, and the errors of files.
  ///
  /// The steps are: take the directory for this process, remove what killed ones left behind, fill an
  /// incomplete generation, sync it and give it its name, leave a note in the state directory, and remove what
  /// is beyond ``keep``.
  func run() throws -> Outcome {
    let place = StatePlace(directory: state, database: database, store: store)
    let records = try place.openRecords(for: "backup")
    try records.refuseMark(of: place)
    try refuseOwnState()
    do {
      _ = try TicketKeyFile.load(TicketKeyFile.path(in: state))
    } catch {
      throw StateCareError(.damaged, "\(error)")
    }
    guard let lock = try directory.claim() else {
      throw StateCareError(.inUse, "\(directory.path): another backup is being written there")
    }
    defer { withExtendedLifetime(lock) {} }
    try directory.removeLeftovers()
    let (previous, passedOver) = try newestReadable()
    let (name, incomplete) = try directory.begin(at: clock.now())
    var outcome: Outcome
    do {
      outcome = try fill(incomplete, named: name, of: records, after: previous)
      outcome.passedOver = passedOver.map(\.reason)
      try directory.complete(name, from: incomplete)
    } catch {
      // The first error is the one that explains; what stays is removed by the next backup.
      _ = try? directory.operations.removeRecursively(incomplete)
      throw error
    }
    do {
      try LastBackup(outcome.manifest, of: name).write(in: state)
    } catch {
      // The backup is complete all the same.
      outcome.unrecorded = "\(error)"
    }
    guard let keep else { return outcome }
    // A generation that cannot be read is no backup: it takes the place of none that can.
    let unreadable = Set(passedOver.map(\.name))
    outcome.removed = BackupPlan.superfluous(
      try directory.generations().map(\.name).filter { !unreadable.contains($0) }, keeping: keep,
      besides: name)
    for name in outcome.removed { try directory.remove(name) }
    return outcome
  }

  /// The newest generation whose manifest reads, and why newer ones are passed over.
  private func newestReadable() throws -> (previous: Previous?, passedOver: [(name: String, reason: String)])
  {
    var passedOver: [(name: String, reason: String)] = []
    for generation in try directory.generations() {
      do {
        let manifest = try generation.manifest()
        return (Previous(packages: generation.packages, manifest: manifest), passedOver)
      } catch let error as StateCareError {
        passedOver.append((generation.name, error.message))
      }
    }
    return (nil, passedOver)
  }

  /// Throws ``UsageError`` where the directory of backups is in the state directory, and would be lost with it.
  private func refuseOwnState() throws {
    let own = try FileSystem.realPath(state)
    let place = try Self.realPathOfWhatExists(of: directory.path)
    guard place == own || place.hasPrefix(own == "/" ? own : own + "/") else { return }
    throw UsageError("\(directory.path) is in the state directory; a backup belongs outside of \(own)")
  }

  /// Returns the real path of `path`, or of the nearest directory above it that exists.
  private static func realPathOfWhatExists(of path: String) throws(SystemError) -> String {
    var path = try FileSystem.absolutePath(path)
    while true {
      do throws(SystemError) {
        return try FileSystem.realPath(path)
      } catch {
        guard error.isFileMissing, path != "/" else { throw error }
        path = FileSystem.parent(of: path)
      }
    }
  }

  /// Fills the generation. Removals of packages are held off from before the database is copied until the last
  /// package was.
  private func fill(
    _ incomplete: String, named name: String, of records: OpenRecords, after previous: Previous?
  ) throws -> Outcome {
    let operations = directory.operations
    let place = StatePlace(directory: state, database: self.database, store: store)
    let stored = try PlacedPackages(of: place)
    if !leavesPackages { try stored.checkInstallation(of: place, for: "backup") }
    // From before the database is copied until the last package was: what it refers to stays.
    let hold = try BlobDirectory(state).holdRemovals()
    let lease = try RemovalLease(of: records, clock: clock)
    let made = clock.now()
    let database = incomplete + "/server.db"
    try copy(records, to: database)
    let needs = try Database.inspect(database) { try PackageNeed.all(in: $0) }
    let keys = TicketKeyFile.path(in: state)
    let secrets = try operations.read(keys, upTo: SecretFile.maximumLength)
    try DurableFile.write(
      secrets.span, to: TicketKeyFile.path(in: incomplete), permissions: 0o600, operations: operations)
    var outcome = Outcome(
      generation: name,
      manifest: BackupManifest(
        program: ProductVersion.current, made: made, files: [], packages: [], absent: []))
    outcome.manifest.packagesIn = leavesPackages ? store?.name : nil
    if outcome.manifest.packagesIn == nil {
      try takePackages(needs, from: stored, after: previous, into: incomplete, holding: lease, &outcome)
    }
    withExtendedLifetime(hold) {}
    for file in BackupManifest.fileNames {
      let path = "\(incomplete)/\(file)"
      guard let length = try operations.status(of: path)?.length else { continue }
      outcome.manifest.files.append(
        .init(name: file, length: length, sha256: try StateFiles.digest(of: path)))
    }
    let manifest = try APIJSON.encode(outcome.manifest)
    try DurableFile.write(
      manifest.span, to: "\(incomplete)/\(BackupManifest.fileName)", permissions: 0o600,
      operations: operations)
    return outcome
  }

  /// Links or copies every package that the records refer to, and names those that cannot be had.
  private func takePackages(
    _ needs: [SHA256Digest: PackageNeed], from stored: PlacedPackages, after previous: Previous?,
    into incomplete: String, holding lease: RemovalLease, _ outcome: inout Outcome
  ) throws {
    // A file that is not as long as it was then is not linked on.
    let there = try previous?.packages.list() ?? [:]
    let earlier = previous?.manifest.packages.filter { there[$0.digest] == $0.length } ?? []
    let plan = BackupPlan(
      needs, stored: try stored.lengths(of: needs),
      previous: Dictionary(earlier.map { ($0.digest, $0.length) }, uniquingKeysWith: { $1 }))
    outcome.manifest.absent = plan.missing.map { .init(digest: $0, fault: .missing) }
    let target = BlobDirectory(incomplete, operations: directory.operations)
    for step in plan.steps {
      try lease.renew()
      do throws(BlobStoreError) {
        if try take(step, from: stored, previous?.packages, to: target) {
          outcome.linked += 1
        } else {
          outcome.copied += 1
        }
        outcome.manifest.packages.append(
          .init(digest: step.digest, length: try target.length(of: step.digest) ?? .zero))
      } catch {
        // Whatever else fails does so where the backup is written.
        guard error.isOfSource else { throw error }
        let fault: PackageFault = error.code == .notFound ? .missing : .damaged
        guard fault == .damaged || needs[step.digest]?.isRequired == true else { continue }
        outcome.manifest.absent.append(.init(digest: step.digest, fault: fault))
      }
    }
  }

  /// Copies one state of the records to a new file. Throws ``StateCareError`` `damaged` for a file that is.
  private func copy(_ records: OpenRecords, to path: String) throws {
    switch records {
    case .file(let file):
      try Database.copy(file, to: path)
      let faults = try Database.inspect(path) { try $0.faults() }
      guard faults.isEmpty else {
        throw StateCareError(.damaged, "\(file) is damaged: \(faults.joined(separator: "; "))")
      }
    case .server: _ = try RecordCopy(of: RecordTable.all(), from: records).makeFile(path)
    }
  }

  /// Whether the package was linked and not copied. What the generation before cannot link is copied from the state, and from
  /// that generation where the state does not have it whole. Throws an error of the source only where no source
  /// has the package whole.
  private func take(
    _ step: BackupPlan.Step, from stored: PlacedPackages, _ previous: BlobDirectory?,
    to target: BlobDirectory
  ) throws(BlobStoreError) -> Bool {
    // Twice: a repair may have put the right bytes into the state meanwhile.
    var sources = [stored, stored]
    if case .previous(let orState) = step.source, let previous {
      sources = orState ? [stored, stored, .directory(previous)] : [.directory(previous)]
      do throws(BlobStoreError) {
        if try target.link(step.digest, from: previous) { return true }
      } catch {
        guard error.isOfSource, orState else { throw error }
      }
    }
    try copy(step.digest, from: sources, to: target)
    return false
  }

  /// Copies the package from the first of these that has it whole. Where none has, the first one's error is thrown.
  private func copy(
    _ digest: SHA256Digest, from sources: [PlacedPackages], to target: BlobDirectory
  ) throws(BlobStoreError) {
    var first: BlobStoreError?
    for source in sources {
      do throws(BlobStoreError) {
        try source.copy(digest, to: target) { rate.didRead($0) }
        return
      } catch {
        guard error.isOfSource else { throw error }
        first = first ?? error
      }
    }
    if let first { throw first }
  }
}

/// Keeps servers that share a database from removing packages: a lease there, taken again while packages are copied. Those of a file heed a
/// lock of its directory.
private final class RemovalLease {
  /// Nil for a file.
  private let transfer: TableTransfer?
  private let clock: any WallClock
  private var taken: Timestamp

  init(of records: OpenRecords, clock: any WallClock) throws {
    self.clock = clock
    taken = clock.now()
    if case .server(let transfer) = records { self.transfer = transfer } else { transfer = nil }
    try take()
  }

  /// Takes it again where a sixth of its time is over.
  func renew() throws {
    guard clock.now() - taken >= .seconds(600) else { return }
    try take()
  }

  private func take() throws {
    taken = clock.now()
    let now = taken
    try transfer?.write { try RemovalHold.take(at: now, in: $0) }
  }
}
