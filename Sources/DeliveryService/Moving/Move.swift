import BlobStore
import ContentDelivery
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

/// Moves a server's state: packages beside the server that runs, then, with no server at either place, the ticket keys and all records.
///
/// At every moment one of the two places is the good one, and a server starts there alone: ``MovePlan`` says in which order the marks
/// change. A move that was killed is given again: it goes on, or begins the copy of the records again. See docs/moving.md.
struct Move {
  /// How far a move is.
  enum Progress: Sendable {
    case packages(PackageMove.Progress)
    case records(RecordCopy.Progress)
  }

  /// The outcome of a move.
  struct Outcome {
    /// Where records were, and where they are: for people.
    var source: String
    var target: String
    /// Nil where both places have the same packages.
    var packages: PackageMove.Outcome?
    /// The tables that were copied; nil where none had to be.
    var tables: [RecordCopy.Summary]?
    /// Whether the records are at the target: not where packages alone were asked for.
    var isComplete = false
    /// Whether both places have the same records, of which nothing had to move.
    var keepsRecords = false
  }

  let source: StatePlace
  let target: StatePlace
  /// Bounds the bytes of packages that are read a second.
  var rate = ReadingRate()
  var clock: any WallClock = SystemWallClock()
  /// Writes the files; tests have them fail.
  var operations: any FileOperations = SystemFileOperations()
  /// Told of each page of rows, and of each chunk of a package. Ends the move by what it throws.
  var progress: (Progress) throws -> Void = { _ in }

  /// Copies packages and, unless `packagesOnly`, moves the rest. Blocks. Throws `UsageError` for two places that are one, ``StateCareError``
  /// `inUse` while a server runs at one of them, ``RecordTransferError``, ``StateDirectoryError`` for a directory that a restore has not
  /// completed, ``ConfigurationError`` for a store that cannot be used, and the errors of files and databases.
  func run(packagesOnly: Bool = false) throws -> Outcome {
    guard !isOneDirectory || source.database != target.database || !isOneStore else {
      throw UsageError("both places are the same: \(source.directory)")
    }
    for place in [source, target] {
      try BackupGeneration.refuse(in: place.directory)
      try RestoreMark.refuse(in: place.directory)
    }
    // A move that is complete may be given again.
    if try PackagesMark.read(in: source.directory)?.location != target.store?.name {
      try PackagesMark.refuse(in: source.directory, unless: source.store)
    }
    let route = try PackageRoute(from: source, to: target, operations: operations)
    var outcome = Outcome(source: source.directory, target: target.directory)
    outcome.packages = try movePackages(route) { try source.needs(for: "move") }
    if packagesOnly { return outcome }
    let lock = try claim(source.directory)
    let otherLock = isOneDirectory ? nil : try claim(target.directory)
    let from = try MoveEnd(source)
    outcome.source = from.name
    if keepsRecords {
      try moveAroundRecords(from, by: route, &outcome)
    } else {
      try moveRecords(from, by: route, &outcome)
    }
    // The lock, where root has made it.
    for place in [source, target] {
      try StateFiles.give(place.directory + "/lock", toOwnerOf: place.directory)
    }
    outcome.isComplete = true
    withExtendedLifetime(lock) {}
    withExtendedLifetime(otherLock) {}
    return outcome
  }

  private var isOneDirectory: Bool { source.directory == target.directory }
  private var isOneStore: Bool { source.store?.address == target.store?.address }
  private var keepsRecords: Bool {
    source.database == target.database && (source.database != nil || isOneDirectory)
  }

  private func claim(_ directory: String) throws -> LockFile {
    do {
      return try StateDirectory.claim(directory)
    } catch let error as StateDirectoryError where error.code == .inUse {
      throw StateCareError(
        .inUse, "\(directory): a server uses it; stop it, and give the same command again")
    }
  }

  /// Nil where both places have the same packages.
  private func movePackages(
    _ route: PackageRoute?, needs: @escaping () throws -> [SHA256Digest: PackageNeed]
  ) throws -> PackageMove.Outcome? {
    guard let route else { return nil }
    let move = PackageMove(
      source: route.source, target: route.target,
      staging: BlobDirectory(target.directory + "/moving", operations: operations), needs: needs, rate: rate
    ) { try progress(.packages($0)) }
    let outcome = try move.run()
    try operations.removeRecursively(target.directory + "/moving")
    return outcome
  }

  /// The packages that came while the server ran.
  private func movePackagesAgain(
    _ route: PackageRoute?, of records: OpenRecords, _ outcome: inout Outcome
  ) throws {
    let again = try movePackages(route) { try records.read { try PackageNeed.all(in: $0) } }
    if let again { outcome.packages?.add(again) }
  }

  /// Leaves the records where they are: from the mark on, a server starts with the packages at their new place alone.
  private func moveAroundRecords(_ from: MoveEnd, by route: PackageRoute?, _ outcome: inout Outcome) throws {
    outcome.keepsRecords = true
    outcome.target = from.name
    let side = try from.side(of: try RecordTable.all())
    if let refusal = side.mark?.refusal {
      throw RecordTransferError(.elsewhere, "\(from.name): \(refusal)")
    }
    guard side.hasRecords else { throw RecordTransferError(.elsewhere, "\(from.name) has no records") }
    try from.records.update()
    try name(from.records, by: route)
    try movePackagesAgain(route, of: from.records, &outcome)
    try copyKeys()
    try markPackages()
    guard !isOneDirectory else { return }
    try PackagesMark(location: target.store?.name ?? target.directory, at: clock.now())
      .write(in: source.directory, operations: operations)
  }

  private func moveRecords(_ from: MoveEnd, by route: PackageRoute?, _ outcome: inout Outcome) throws {
    let to = try MoveEnd(target)
    guard from.name != to.name else { throw UsageError("both places are the same: \(from.name)") }
    outcome.target = to.name
    let tables = try RecordTable.all()
    switch try MovePlan(from: from.side(of: tables), to: to.side(of: tables)) {
    case .copy:
      try movePackagesAgain(route, of: from.records, &outcome)
      outcome.tables = try move(tables, from: from, to: to, by: route)
    case .finish(let mark):
      try markPackages()
      try to.setMark(mark.with(.arrived, other: from.name, at: clock.now()), operations: operations)
    case .nothing: break
    }
  }

  /// Gives the records the name that the bucket of the target bears. Their tables are up to date.
  private func name(_ records: OpenRecords, by route: PackageRoute?) throws {
    guard let name = route?.installation else { return }
    let found = try records.installation(proposed: name)
    guard found == name else {
      throw ConfigurationError(
        subject: "packages",
        message: "\(target.store?.name ?? ""): it was claimed for \(name), and the records name \(found)")
    }
    try InstallationNote.remove(from: source.directory, operations: operations)
  }

  /// Lets no server start at the target that would look for packages where they were, if both places have one directory.
  private func markPackages() throws {
    guard !isOneStore else { return }
    try PackagesMark(location: target.store?.name, at: clock.now())
      .write(in: target.directory, operations: operations)
  }

  /// Copies the records, and changes the marks in their order.
  private func move(
    _ tables: [RecordTable], from: MoveEnd, to: MoveEnd, by route: PackageRoute?
  ) throws -> [RecordCopy.Summary] {
    if case .file = from.records { try StateFiles.requireDatabase(in: source.directory) }
    try from.records.update()
    try from.records.settle(at: clock.now())
    try name(from.records, by: route)
    if to.transfer != nil { try from.records.refuseUnstorableTexts(of: tables) }
    let mark = MoveMark(
      move: RandomBytes.token(bits: 96), state: .arriving, other: from.name, at: clock.now())
    let copy = RecordCopy(of: tables, from: from.records) { try progress(.records($0)) }
    let summaries: [RecordCopy.Summary]
    if let transfer = to.transfer {
      try transfer.apply(PostgreSQLSchema.definition)
      summaries = try copy.fill(transfer, marking: mark)
    } else {
      try to.setMark(mark, operations: operations)
      summaries = try makeFile(by: copy)
    }
    try copyKeys()
    try from.setMark(mark.with(.left, other: to.name, at: clock.now()), operations: operations)
    try markPackages()
    try to.setMark(mark.with(.arrived, other: from.name, at: clock.now()), operations: operations)
    return summaries
  }

  /// Makes the file of the records beside its place, and lets it take that once it is whole and on the device.
  private func makeFile(by copy: RecordCopy) throws -> [RecordCopy.Summary] {
    let path = target.file
    let made = path + "-move"
    for suffix in ["", "-wal", "-shm", "-journal"] { try operations.remove(made + suffix) }
    let summaries = try copy.makeFile(made)
    // Comparing it has made companions.
    for suffix in ["-wal", "-shm"] { try operations.remove(made + suffix) }
    try StateFiles.give(made, toOwnerOf: target.directory)
    try operations.synchronize(FileDescriptor.open(made, .readWrite))
    // Those of a file whose records were moved away, which SQLite would take for the new one's.
    for suffix in ["-wal", "-shm", "-reserve"] { try operations.remove(path + suffix) }
    try operations.rename(made, to: path)
    try operations.synchronizeDirectory(target.directory)
    return summaries
  }

  /// Tickets that are out go on at the other directory.
  private func copyKeys() throws {
    guard !isOneDirectory else { return }
    let keys = TicketKeyFile.path(in: source.directory)
    guard try operations.status(of: keys) != nil else { return }
    let secrets = try operations.read(keys, upTo: SecretFile.maximumLength)
    let path = TicketKeyFile.path(in: target.directory)
    try DurableFile.write(secrets.span, to: path, permissions: 0o600, operations: operations)
    try StateFiles.give(path, toOwnerOf: target.directory)
  }
}

extension PackageMove.Outcome {
  /// Adds a later pass over the same packages.
  fileprivate mutating func add(_ later: PackageMove.Outcome) {
    copied += later.copied
    damaged = later.damaged
  }
}
