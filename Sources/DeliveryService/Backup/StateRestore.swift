import BlobStore
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import DeliverySchema
import Files
import PostgreSQLEngine
import PullboxAPI
import RecordTransfer
import ServiceRuntime
import SystemCalls

/// Puts a generation of a backup into an empty state directory, and its records into an empty database on PostgreSQL where one is
/// given. Every byte is compared with its digest on the way.
///
/// While it runs, the directory holds a mark, with which no server starts there: one that is killed is given again, and goes on.
/// See docs/decisions/0027. docs/operations.md ("Restore") shows it to operators.
struct StateRestore: Sendable {
  /// The outcome of a restore.
  struct Outcome: Sendable {
    /// The generation that was restored.
    var generation: String
    /// Its manifest; what it names as absent is absent in the state as well.
    var manifest: BackupManifest
  }

  /// The state directory.
  let state: String
  let directory: BackupDirectory
  /// Where the records go; nil for the file in the state directory.
  var database: PostgreSQLAddress?
  /// Where the packages go; nil for the state directory.
  var store: PackageStorePlace?
  /// The newest one unless given.
  var generation: String?
  /// Bounds the bytes that are read a second.
  var rate = ReadingRate()
  /// Dates the note of the restore in the database.
  var clock: any WallClock = SystemWallClock()
  /// Writes the files; tests have them fail.
  var operations: any FileOperations = SystemFileOperations()

  /// Blocks. Throws ``StateCareError``, ``StateDirectoryError`` while another process uses the directory, ``BlobStoreError``
  /// `digestMismatch`, ``RecordTransferError``, and the errors of files and databases.
  ///
  /// Packages come first, then the files, then the notes in the database, and then its records go on to PostgreSQL. The mark goes last, once
  /// everything is on the device. Packages that a restore that was killed has left are compared and kept where they are
  /// whole.
  func run() throws -> Outcome {
    let generation = try directory.generation(generation)
    let manifest = try generation.manifest()
    if let place = manifest.packagesIn, place != store?.name {
      throw UsageError(
        "\(generation.path): its packages lie in \(place); name a configuration that has them there")
    }
    let opened = try store.map { place throws(ConfigurationError) in try OpenPackageStore(place) }
    try opened?.ask()
    let lock = try StateDirectory.claim(state)
    try DurableFile.removeLeftovers(in: state)
    let target = try emptyDatabase(besides: RestoreMark.read(in: state)?.move)
    let mark = try RestoreMark(
      generation: generation.name, move: target == nil ? nil : RandomBytes.token(bits: 96),
      installation: store == nil ? nil : RandomBytes.token(bits: 128)
    ).set(in: state, operations: operations)
    if opened == nil { try copyPackages(manifest, from: generation) }
    try removeDatabase()
    for file in manifest.files {
      let digest = try StateFiles.copy(
        "\(generation.path)/\(file.name)", to: "\(state)/\(file.name)", operations: operations)
      guard digest == file.sha256 else {
        throw StateCareError(
          .damaged, "\(generation.path)/\(file.name): its bytes are not those of the backup")
      }
    }
    let installation = try settle(manifest, of: generation, proposing: mark.installation)
    if let opened, let installation {
      try opened.claim(for: installation)
      try putPackages(manifest, from: generation, into: opened)
    }
    if let target { try fill(target, for: mark) }
    try StateFiles.giveToOwner(of: state)
    try operations.synchronizeFileSystem(of: FileDescriptor.open(state, .readOnly, options: .directory))
    try target?.setMark(mark.moveMark(.arrived, at: clock.now()))
    try RestoreMark.remove(from: state, operations: operations)
    withExtendedLifetime(lock) {}
    return Outcome(generation: generation.name, manifest: manifest)
  }

  private func removeDatabase() throws {
    for name in ["server.db", "server.db-wal", "server.db-shm", "server.db-reserve"] {
      try operations.remove("\(state)/\(name)")
    }
  }

  /// The database that the records go to, for this process alone; nil for the file. Throws ``StateCareError``, and ``RecordTransferError``
  /// `notEmpty` where it has records that no restore under that name has brought.
  private func emptyDatabase(besides move: String?) throws -> TableTransfer? {
    guard let database else { return nil }
    let transfer = try StatePlace.connect(to: database, for: "restore")
    try StatePlace.claim(transfer)
    let known = try transfer.mark()
    if known == nil || known?.move != move {
      try OpenRecords.refuseRecords(of: try RecordTable.all(), in: transfer)
    }
    return transfer
  }

  /// Brings the records of the file into the database, unless they are all there, and removes the file.
  private func fill(_ transfer: TableTransfer, for mark: RestoreMark) throws {
    let known = try transfer.mark()
    if known?.move != mark.move || known?.state != .arrived {
      let tables = try RecordTable.all()
      let records = OpenRecords.file(state + "/server.db")
      try records.refuseUnstorableTexts(of: tables)
      try transfer.apply(PostgreSQLSchema.definition)
      _ = try RecordCopy(of: tables, from: records).fill(
        transfer, marking: mark.moveMark(.arriving, at: clock.now()))
    }
    try removeDatabase()
  }

  /// Copies the packages that are not there whole. Throws ``StateCareError`` `damaged` for one that the
  /// generation has not.
  private func copyPackages(_ manifest: BackupManifest, from generation: BackupGeneration) throws {
    try operations.createDirectories(state + "/blobs", permissions: 0o700)
    let (source, target) = (generation.packages, BlobDirectory(state, operations: operations))
    let there = try target.list()
    for package in manifest.packages {
      // What a restore that was killed has put there may have been lost since: it was not synced.
      if there[package.digest] == package.length, try target.isWhole(package.digest, didRead: rate.didRead) {
        continue
      }
      do throws(BlobStoreError) {
        try target.copy(package.digest, from: source, didRead: rate.didRead)
      } catch {
        guard error.isOfSource else { throw error }
        throw Self.lacks(package.digest, error, generation)
      }
    }
  }

  /// Puts the packages into the store that are not there. Throws ``StateCareError`` `damaged` for one that neither the generation nor the store
  /// has.
  private func putPackages(
    _ manifest: BackupManifest, from generation: BackupGeneration, into store: OpenPackageStore
  ) throws {
    let target = PlacedPackages.store(store)
    guard manifest.packagesIn == nil else { return try requirePackages(of: generation, in: target) }
    for package in manifest.packages where try target.length(of: package.digest) != package.length {
      do throws(BlobStoreError) {
        try target.put(package.digest, from: generation.packages, didRead: rate.didRead)
      } catch {
        guard error.isOfSource else { throw error }
        throw Self.lacks(package.digest, error, generation)
      }
    }
  }

  /// Finds a version whose package the store has lost before its server does.
  private func requirePackages(of generation: BackupGeneration, in target: PlacedPackages) throws {
    let needs = try Database.inspect(state + "/server.db") { try PackageNeed.all(in: $0) }
    for (digest, need) in needs where need.isRequired {
      guard try target.length(of: digest) != need.length else { continue }
      throw StateCareError(
        .damaged, "\(generation.path): it has no packages, and the store has no package \(digest)")
    }
  }

  private static func lacks(
    _ digest: SHA256Digest, _ error: BlobStoreError, _ generation: BackupGeneration
  ) -> StateCareError {
    StateCareError(
      .damaged,
      "\(generation.path): the package \(digest) is \(error.code == .notFound ? "missing" : "damaged"); another generation may have it"
    )
  }

  /// Brings the schema up to date, compares records and packages, and notes what the backup cannot know. One
  /// write does all that is noted: that counts may be lost, that feeds begin a new life, that numbers of before
  /// are passed over, and a new revision of the catalog. Returns the name of the installation where one is proposed.
  private func settle(
    _ manifest: BackupManifest, of generation: BackupGeneration, proposing name: String?
  ) throws -> String? {
    let database = try Database.open(
      path: state + "/server.db", migrations: Migrations.all, options: .small)
    defer { database.close() }
    let needs = try database.readBlocking { try PackageNeed.all(in: $0) }
    let known = Set(manifest.packages.map(\.digest)).union(manifest.absent.map(\.digest))
    guard
      manifest.packagesIn != nil || needs.allSatisfy({ !$0.value.isRequired || known.contains($0.key) })
    else {
      throw StateCareError(.damaged, "\(generation.path): its manifest lacks packages that its database has")
    }
    let (now, life) = (clock.now(), FeedTable.newLife())
    return try database.writeBlocking(locking: [.everything]) { connection in
      try ServerRunTable.noteRestore(at: now, in: connection)
      try FeedTable.noteRestore(life, in: connection)
      try SQLDialect.passOverNumbers(in: connection)
      // Those of the generation stand in a file of their own.
      try TicketKeyTable.removeAll(in: connection)
      // Clients keep what they read of a later catalog, with a later date.
      try CatalogRevision.increment(at: now, in: connection)
      guard let name else { return nil }
      return try InstallationTable.identifier(proposed: name, in: connection)
    }
  }
}

/// Says that a state directory is being restored: `restore.json` in it.
struct RestoreMark: Codable, Hashable, Sendable {
  private static let name = "restore.json"

  /// Which generation.
  var generation: String
  /// The name under which its records go to a database; nil where they stay in the file.
  var move: String?
  /// The name that the installation gives itself if it has none, for a bucket; nil where packages go into the directory.
  var installation: String?

  /// Nil where no restore was begun.
  static func read(in state: String) throws -> RestoreMark? {
    do {
      let bytes = try FileSystem.read("\(state)/\(name)", upTo: .kibibytes(4))
      return try APIJSON.decode(RestoreMark.self, from: bytes)
    } catch let error as SystemError where error.isFileMissing {
      return nil
    }
  }

  /// Throws ``StateDirectoryError`` `damaged` where a restore was begun and not brought to its end.
  static func refuse(in state: String) throws {
    guard try FileSystem.status(of: "\(state)/\(name)") != nil else { return }
    throw StateDirectoryError(
      .damaged, path: state,
      message: "a restore into it was not completed; give the same 'pullbox-server restore' again")
  }

  /// Throws ``StateCareError`` `notEmpty` where there is something that no restore of this generation has put
  /// there. It is on the device before anything of the backup is written. A mark of the same generation stays:
  /// the restore goes on. Returns the mark that is there.
  func set(in state: String, operations: any FileOperations) throws -> RestoreMark {
    if let begun = try Self.read(in: state) {
      guard begun.generation == generation, (begun.move == nil) == (move == nil),
        (begun.installation == nil) == (installation == nil)
      else {
        throw StateCareError(
          .notEmpty,
          "\(state): a restore of \(begun.generation) was begun there; give it again, or empty the directory")
      }
      return begun
    }
    guard try operations.list(state).allSatisfy({ $0.name == "lock" }) else {
      throw StateCareError(.notEmpty, "\(state) is not empty; a backup is restored into an empty directory")
    }
    let bytes = try APIJSON.encode(self)
    try DurableFile.write(
      bytes.span, to: "\(state)/\(Self.name)", permissions: 0o600, operations: operations)
    return self
  }

  /// The mark of the database that the records go to.
  func moveMark(_ state: MoveMark.State, at now: Timestamp) -> MoveMark {
    MoveMark(move: move ?? "", state: state, other: "the backup \(generation)", at: now)
  }

  /// Takes the mark away; from then on a server starts there.
  static func remove(from state: String, operations: any FileOperations) throws(SystemError) {
    try operations.remove("\(state)/\(name)")
    try operations.synchronizeDirectory(state)
  }
}
