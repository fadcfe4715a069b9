import BlobStore
import ContentDelivery
import CoreTypes
import Crypto
import Database
import DeliveryRecords
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
  /// completed, and the errors of files and databases.
  func run(packagesOnly: Bool = false) throws -> Outcome {
    guard source.directory != target.directory || source.database != target.database else {
      throw UsageError("both places are the same: \(source.directory)")
    }
    guard source.packages == target.packages else {
      let places = [source, target].map { $0.packages ?? "the directory \($0.directory)" }
      throw UsageError(
        "packages are not moved between \(places[0]) and \(places[1]); both places must have the same object store, or none"
      )
    }
    for place in [source, target] {
      try BackupGeneration.refuse(in: place.directory)
      try RestoreMark.refuse(in: place.directory)
    }
    var outcome = Outcome(source: source.directory, target: target.directory)
    outcome.packages = try movePackages()
    if packagesOnly { return outcome }
    let lock = try claim(source.directory)
    let otherLock = isOneDirectory ? nil : try claim(target.directory)
    let from = try MoveEnd(source)
    let to = try MoveEnd(target)
    guard from.name != to.name else { throw UsageError("both places are the same: \(from.name)") }
    outcome.source = from.name
    outcome.target = to.name
    let tables = try RecordTable.all()
    switch try MovePlan(from: from.side(of: tables), to: to.side(of: tables)) {
    case .copy:
      // Those that came while the server ran.
      if let again = try movePackages() { outcome.packages?.add(again) }
      outcome.tables = try move(tables, from: from, to: to)
    case .finish(let mark):
      try to.setMark(mark.with(.arrived, other: from.name, at: clock.now()), operations: operations)
    case .nothing: break
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

  private func claim(_ directory: String) throws -> LockFile {
    do {
      return try StateDirectory.claim(directory)
    } catch let error as StateDirectoryError where error.code == .inUse {
      throw StateCareError(
        .inUse, "\(directory): a server uses it; stop it, and give the same command again")
    }
  }

  /// Nil where both places have the same packages.
  private func movePackages() throws -> PackageMove.Outcome? {
    guard !isOneDirectory else { return nil }
    for place in [source, target] {
      try operations.createDirectories(place.directory + "/blobs", permissions: 0o700)
      try StateFiles.give(place.directory + "/blobs", toOwnerOf: place.directory)
    }
    let move = PackageMove(
      source: BlobDirectory(source.directory),
      target: BlobDirectory(target.directory, operations: operations),
      rate: rate
    ) { try progress(.packages($0)) }
    return try move.run()
  }

  /// Copies the records, and changes the marks in their order.
  private func move(_ tables: [RecordTable], from: MoveEnd, to: MoveEnd) throws -> [RecordCopy.Summary] {
    if case .file = from.records { try StateFiles.requireDatabase(in: source.directory) }
    try from.records.update()
    try from.records.settle(at: clock.now())
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
