import BlobStore
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import DeliverySchema
import DeliveryTesting
import Files
import Glibc
import HTTPClient
import PostgreSQLEngine
import PullboxAPI
import PullboxTesting
import RecordTransfer
import ServiceAPI
import ServiceRuntime
import Synchronization
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryService

/// A state directory with records of every kind, one package and ticket keys, in which no server has ever run.
struct SampleState {
  static let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

  let path: String

  /// Makes the directory, as a server that has ended leaves it.
  init(_ path: String) throws {
    self.path = path
    let digest = SHA256Digest.of(Self.bytes).hexadecimal
    try FileSystem.createDirectories("\(path)/blobs/\(digest.prefix(2))", permissions: 0o700)
    try SampleRecords.make("\(path)/server.db", rows: 2, extremes: false)
    try OpenRecords.file("\(path)/server.db").settle(at: ServerHarness.start)
    try DurableFile.write(Self.bytes.span, to: Self.package(in: path))
    let keys = Array(#"{"keys":[]}"#.utf8)
    try DurableFile.write(keys.span, to: "\(path)/ticket-keys.json", permissions: 0o600)
  }

  /// The file of the package.
  static func package(in path: String) -> String {
    let digest = SHA256Digest.of(bytes).hexadecimal
    return "\(path)/blobs/\(digest.prefix(2))/\(digest.dropFirst(2))"
  }

  /// The packages of its versions that are nowhere, in the order of their digests.
  static func lost(_ file: String) throws -> [SHA256Digest] {
    try Database.inspect(file) { try PackageNeed.all(in: $0) }.filter(\.value.isRequired).keys
      .sorted { $0.hexadecimal < $1.hexadecimal }
  }

  /// The digests of all tables of a file, by their names.
  static func digests(_ file: String) throws -> [String: RecordDigest] {
    try Database.inspect(file) { connection in
      var digests: [String: RecordDigest] = [:]
      for table in try RecordTable.all() { digests[table.name] = try RecordDigest.of(table, in: connection) }
      return digests
    }
  }
}

@Suite("Moving a server's state to another directory", .enabled(if: !TestDatabase.isOnServer))
struct MoveTests {
  private let bytes = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  /// A server's directories are `state` in these.
  private let old: TemporaryDirectory
  private let new: TemporaryDirectory
  private var source: StatePlace { StatePlace(directory: old.path("state")) }
  private var target: StatePlace { StatePlace(directory: new.path("state")) }

  init() throws {
    old = try TemporaryDirectory()
    new = try TemporaryDirectory()
    try FileSystem.createDirectories(new.path("state"))
  }

  private struct Unparsed: Error {}

  private func hasLeft(_ path: String) -> Bool {
    do {
      try MoveMark.refuse(in: path)
      return false
    } catch { return true }
  }

  @Test(
    "tickets, grants and packages go on at the new place, and no server starts at the old one, which says where they went"
  )
  func goesOn() async throws {
    let granted = Mutex<GrantResponse?>(nil)
    try await ServerHarness.run(in: old) { server in
      try await server.publish(bytes)
      let grant = try await server.grantForPurchase()
      granted.withLock { $0 = grant }
    }
    let outcome = try Move(source: source, target: target).run()
    #expect(outcome.isComplete)
    #expect(outcome.packages == PackageMove.Outcome(copied: 1))
    let tables = try RecordTable.all()
    #expect(outcome.tables?.map(\.table) == tables.map(\.name))
    try await ServerHarness.run(in: new) { server in
      let grant = try #require(granted.withLock { $0 })
      #expect(try await server.fetch(grant).body == bytes)
      #expect(try await server.status(grant).state == .granted)
    }
    let parser = ArgumentParser(DeliveryConfiguration.command, environment: [:])
    let options = ["--listen", "127.0.0.1:0", "--state", source.directory, "--store-credential", "s"]
    guard case .run(let parsed) = try parser.parse(options) else { throw Unparsed() }
    let configuration: DeliveryConfiguration = try ConfigurationLoader.load(arguments: parsed)
    let error = #expect(throws: StateDirectoryError.self) {
      try DeliveryServer(configuration, log: Log(level: .error))
    }
    #expect(error?.message.contains("its records were moved to \(target.directory)") == true)
    let backup = #expect(throws: StateCareError.self) {
      try Backup(state: source.directory, directory: BackupDirectory(old.path("backups"))).run()
    }
    #expect(backup?.code == .moved)
  }

  @Test(
    "packages are copied beside the server that runs, again only those that lack; the records wait until it has stopped"
  )
  func besideServer() async throws {
    try await ServerHarness.run(in: old) { server in
      try await server.publish(bytes)
      let only = try Move(source: source, target: target).run(packagesOnly: true)
      #expect(!only.isComplete)
      #expect(only.packages == PackageMove.Outcome(copied: 1))
      try await server.publish(bytes + [1], as: "com.example.second")
      let error = #expect(throws: StateCareError.self) { try Move(source: source, target: target).run() }
      #expect(error?.code == .inUse)
      #expect(error?.message.hasPrefix("\(source.directory): a server uses it") == true)
      #expect(try BlobDirectory(target.directory).list().count == 2)
      #expect(!hasLeft(source.directory))
    }
    let outcome = try Move(source: source, target: target).run()
    #expect(outcome.packages == PackageMove.Outcome(present: 2))
    #expect(outcome.isComplete)
  }

  @Test("a package that is damaged at the old place is named, and everything else moves")
  func damagedPackage() throws {
    _ = try SampleState(source.directory)
    let file = try FileDescriptor.open(SampleState.package(in: source.directory), .readWrite)
    let wrong: [UInt8] = [0xFF]
    try file.write(wrong.span, at: ByteCount(7))
    let outcome = try Move(source: source, target: target).run()
    #expect(outcome.packages?.damaged == [SHA256Digest.of(SampleState.bytes)])
    #expect(outcome.isComplete)
    #expect(MoveReport(outcome, took: .seconds(1)).damaged.count == 1)
  }

  @Test(
    "a full disk, or a death, at whatever call leaves one good place, and the move goes on when it is given again"
  )
  func faults() throws {
    let trial = FaultyFileOperations()
    _ = try SampleState(old.path("trial"))
    try FileSystem.createDirectories(new.path("trial"))
    _ = try move("trial", trial).run()
    #expect(trial.steps.count > 15)
    let before = try SampleState.digests(old.path("trial/server.db"))
    let looks: Set<FileCall> = [.status, .list, .open]
    let changes = trial.steps.indices.filter { !looks.contains(trial.steps[$0]) }
    for (place, index) in changes.enumerated() {
      let name = "state-\(index)"
      let state = try SampleState(old.path(name))
      try FileSystem.createDirectories(new.path(name))
      let operations = FaultyFileOperations()
      // A call that fails and a death there leave the same, but for what is tidied up behind a failure.
      if place % 2 == 0 { operations.die(at: index) } else { operations.fail(call: index, number: ENOSPC) }
      _ = try? move(name, operations).run()
      let isThere = try MoveMark.read(in: new.path(name))?.state == .arrived
      #expect(!isThere || hasLeft(state.path), "two good places after \(trial.steps[index])")
      #expect(try move(name).run().isComplete)
      #expect(hasLeft(state.path))
      #expect(try MoveMark.read(in: new.path(name))?.state == .arrived)
      #expect(try SampleState.digests(new.path(name) + "/server.db") == before)
      #expect(try FileSystem.read(new.path(name) + "/ticket-keys.json", upTo: .kibibytes(1)).count == 11)
      #expect(try FileSystem.list(new.path(name)).filter { $0.name.hasPrefix("server.db-move") }.isEmpty)
      try FileSystem.removeRecursively(state.path)
      try FileSystem.removeRecursively(new.path(name))
    }
  }

  private func move(_ name: String, _ operations: any FileOperations = SystemFileOperations()) -> Move {
    var move = Move(
      source: StatePlace(directory: old.path(name)), target: StatePlace(directory: new.path(name)))
    move.operations = operations
    return move
  }

  @Test(
    "a move that was broken off while records came begins again; given once more when it is complete, nothing happens"
  )
  func again() throws {
    struct BrokenOff: Error {}
    let state = try SampleState(source.directory)
    let before = try SampleState.digests(state.path + "/server.db")
    var move = Move(source: source, target: target)
    move.progress = { progress in
      if case .records(let records) = progress, records.table == "outbox" { throw BrokenOff() }
    }
    #expect(throws: BrokenOff.self) { try move.run() }
    #expect(!hasLeft(source.directory))
    #expect(hasLeft(target.directory))
    let other = try SampleState(old.path("other"))
    let refused = #expect(throws: RecordTransferError.self) {
      try Move(source: StatePlace(directory: other.path), target: target).run()
    }
    #expect(refused?.message.contains("a move of records from \(source.directory) was begun there") == true)
    move.progress = { _ in }
    #expect(try move.run().tables?.isEmpty == false)
    #expect(try SampleState.digests(target.file) == before)
    let last = try move.run()
    #expect(last.isComplete)
    #expect(last.tables == nil)
  }

  @Test("records go back to the place that they came from, with what has changed since")
  func back() throws {
    _ = try SampleState(source.directory)
    _ = try Move(source: source, target: target).run()
    let database = try Database.open(path: target.file, migrations: Migrations.all)
    try database.writeBlocking(locking: [.everything]) {
      try $0.execute("INSERT INTO bought_products (product) VALUES ('com.example.later')")
    }
    database.close()
    let now = try SampleState.digests(target.file)
    #expect(try Move(source: target, target: source).run().isComplete)
    #expect(try SampleState.digests(source.file) == now)
    #expect(!hasLeft(source.directory))
    #expect(hasLeft(target.directory))
  }

  @Test("the summary says what has moved, from where to where, and what has not")
  func summary() {
    var outcome = Move.Outcome(source: "/old", target: "books at db.example")
    func lines() -> [String] { MoveReport(outcome, took: .milliseconds(83_400)).lines }
    #expect(lines() == ["both places have the same packages"])
    outcome.packages = PackageMove.Outcome(copied: 2, present: 1)
    #expect(lines() == ["2 packages copied, 1 were there"])
    outcome.isComplete = true
    #expect(lines().last == "all records had come before: a server starts at books at db.example")
    let digest = SHA256Digest.of([])
    outcome.tables = ["a", "b"].map { name in
      RecordCopy.Summary(table: name, content: RecordDigest(rows: 21, digest: digest))
    }
    #expect(
      lines().dropFirst() == [
        "moved 2 tables with 42 rows in 1 min 23 s, each compared",
        "left: /old; no server starts there any more",
        "come: books at db.example",
      ])
  }

  @Test(
    "a place with records of its own, one without any, and a directory of a backup or a restore are refused")
  func refusals() throws {
    let nothing = #expect(throws: RecordTransferError.self) { try Move(source: source, target: target).run() }
    #expect(nothing?.code == .elsewhere)
    _ = try SampleState(source.directory)
    let other = try SampleState(new.path("other"))
    let full = #expect(throws: RecordTransferError.self) {
      try Move(source: source, target: StatePlace(directory: other.path)).run()
    }
    #expect(full?.code == .notEmpty)
    #expect(throws: UsageError.self) { try Move(source: source, target: source).run() }
    let mark = Array("{}".utf8)
    for name in ["backup.json", "restore.json"] {
      try DurableFile.write(mark.span, to: "\(target.directory)/\(name)")
      #expect(throws: StateDirectoryError.self) { try Move(source: source, target: target).run() }
      try FileSystem.removeFile("\(target.directory)/\(name)")
    }
    #expect(!hasLeft(source.directory))
  }

  @Test("a place is a directory, or a configuration that names one; anything else is wrong usage")
  func places() throws {
    struct Unasked: Error {}
    let directory = try StatePlace(named: new.path("state") + "/../state") { _ in throw Unasked() }
    let real = try FileSystem.realPath(new.path("state"))
    #expect(directory == StatePlace(directory: real))
    #expect(throws: UsageError.self) { try StatePlace(named: new.path("nothing")) { _ in throw Unasked() } }
    let text = Array("{}".utf8)
    try DurableFile.write(text.span, to: new.path("server.json5"))
    #expect(throws: Unasked.self) { try StatePlace(named: new.path("server.json5")) { _ in throw Unasked() } }
  }
}
