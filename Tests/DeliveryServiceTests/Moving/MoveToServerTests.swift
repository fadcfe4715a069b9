import CoreTypes
import Crypto
import Database
import DeliveryRecords
import DeliverySchema
import DeliveryTesting
import Files
import HTTPClient
import PostgreSQLEngine
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import RecordTransfer
import ServiceAPI
import ServiceRuntime
import StorageTesting
import Synchronization
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryService

@Suite(
  "Moving a server's records to PostgreSQL", .enabled(if: EmptyServer.url != nil && !TestDatabase.isOnServer))
struct MoveToServerTests {
  private let bytes = (0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  private let directory: TemporaryDirectory
  private let restored: [TemporaryDirectory]
  private let url: String
  private var file: StatePlace { StatePlace(directory: directory.path("state")) }
  private var backups: BackupDirectory { BackupDirectory(directory.path("backups")) }

  init() throws {
    directory = try TemporaryDirectory()
    restored = [try TemporaryDirectory(), try TemporaryDirectory()]
    url = try EmptyServer.makeSchema()
  }

  private func server(_ url: String? = nil) throws -> StatePlace {
    StatePlace(directory: directory.path("state"), database: try PostgreSQLAddress(url ?? self.url))
  }

  @Test(
    "records go to PostgreSQL and back, packages stay, and at each place a server goes on with the grants of the other"
  )
  func thereAndBack() async throws {
    let first = Mutex<GrantResponse?>(nil)
    let second = Mutex<GrantResponse?>(nil)
    try await ServerHarness.run(in: directory) { server in
      try await server.publish(bytes)
      let grant = try await server.grantForPurchase()
      first.withLock { $0 = grant }
    }
    let there = try Move(source: file, target: try server()).run()
    #expect(there.packages == nil)
    #expect(there.isComplete)
    #expect(throws: StateDirectoryError.self) { try MoveMark.refuse(in: file.directory) }
    try await ServerHarness.run(options: ["--database", url], in: directory) { server in
      let grant = try #require(first.withLock { $0 })
      #expect(try await server.fetch(grant).body == bytes)
      let receipt = try server.store.receipt(of: [server.purchase(id: "2")], device: server.device.id)
      let another = try await server.grant(receipt: receipt).value
      second.withLock { $0 = another }
    }
    #expect(try Move(source: try server(), target: file).run().isComplete)
    try await ServerHarness.run(in: directory) { server in
      let granted = [first.withLock { $0 }, second.withLock { $0 }]
      for grant in granted {
        let grant = try #require(grant)
        #expect(try await server.status(grant).state == .granted)
        #expect(try await server.fetch(grant).body == bytes)
      }
    }
    let error = #expect(throws: DatabaseError.self) {
      try Database.open(
        try PostgreSQLAddress(url), schema: PostgreSQLSchema.definition,
        options: PostgreSQLOptions(writers: 1, readers: 1))
    }
    #expect(error?.message.contains("moved to \(file.directory)") == true)
  }

  @Test(
    "records go to PostgreSQL and packages into a store in one move, and back; a backup from there has both, and holds removals"
  )
  func withStore() async throws {
    let tested = try TestedStore()
    let granted = Mutex<GrantResponse?>(nil)
    try await ServerHarness.run(in: directory) { server in
      try await server.publish(bytes)
      let grant = try await server.grantForPurchase()
      granted.withLock { $0 = grant }
    }
    let grant = try #require(granted.withLock { $0 })
    var target = try server()
    target.store = try tested.place
    let (place, file, backups) = (target, file, backups)
    let there = try await BlockingPool.shared.run { try Move(source: file, target: place).run() }
    #expect(there.isComplete && !there.keepsRecords)
    #expect(there.packages == PackageMove.Outcome(copied: 1))
    let cache = try TemporaryDirectory()
    let options = ["--database", url, "--cache-directory", cache.path] + tested.options
    try await ServerHarness.run(options: options, in: directory) { server in
      #expect(try await server.fetch(grant).body.hasSameBytes(as: bytes))
      let outcome = try await BlockingPool.shared.run {
        var backup = Backup(state: place.directory, directory: backups, database: place.database)
        backup.store = place.store
        return try backup.run()
      }
      #expect(outcome.copied == 1 && outcome.manifest.absent == [])
      let now = SystemWallClock().now()
      #expect(
        try await server.server.components.infrastructure.database.read {
          try RemovalHold.isHeld(at: now, in: $0)
        })
      let report = try await BlockingPool.shared.run {
        try StateCheck(state: place.directory, database: place.database, store: place.store).run()
      }
      #expect(report.isWhole && report.packages == 1)
    }
    let back = try await BlockingPool.shared.run { try Move(source: place, target: file).run() }
    #expect(back.isComplete)
    #expect(back.packages == PackageMove.Outcome(present: 1))
    try await ServerHarness.run(in: directory) { server async throws in
      #expect(try await server.fetch(grant).body == bytes)
    }
    await tested.memory?.stop()
  }

  @Test("a server on PostgreSQL is named, whichever directory it has, and nothing is moved beside it")
  func running() async throws {
    try await ServerHarness.run(options: ["--database", url, "--node", "shelf-1"], in: directory) { _ in
      let other = try SampleState(directory.path("other"))
      let error = #expect(throws: StateCareError.self) {
        try Move(
          source: StatePlace(directory: other.path),
          target: StatePlace(directory: directory.path("another"), database: try PostgreSQLAddress(url))
        ).run()
      }
      #expect(error?.code == .inUse)
      #expect(error?.message.contains("pullbox-server shelf-1 uses it") == true)
    }
  }

  /// Runs that have ended or died, as they stand at a place: the node, the end, the death, and when the node was heard of last.
  private static let lastRun = "SELECT node, ended, died, heard FROM runs ORDER BY id DESC LIMIT 1"

  @Test("a server that was killed before the move has died by the records that come, whichever way they go")
  func deaths() throws {
    let start = ServerHarness.start
    let state = try SampleState(file.directory)
    let before = try Database.open(path: state.path + "/server.db", migrations: Migrations.all)
    _ = try before.writeBlocking(locking: [.everything]) { try ServerRunTable.begin(at: start, in: $0) }
    before.close()
    var there = Move(source: file, target: try server())
    there.clock = ManualWallClock(start + .seconds(9))
    _ = try there.run()
    let database = try Database.open(
      try PostgreSQLAddress(url), schema: PostgreSQLSchema.definition,
      options: PostgreSQLOptions(writers: 1, readers: 1))
    let (run, node) = try database.writeBlocking(locking: []) { connection in
      let run = try connection.first(Self.lastRun)?.values
      let number = try NodeTable.take(
        "shelf-1", for: "shelf-1 x", at: "", running: "1", after: nil, at: start, in: connection)
      _ = try ServerRunTable.begin(of: number, at: start, in: connection)
      _ = try LeaseTable.take(
        "scrub", for: "shelf-1 x", until: start + .seconds(60), at: start, in: connection)
      return (run, try #require(number))
    }
    #expect(run == [.null, .null, .timestamp(start + .seconds(9)), .null])
    database.close()
    var back = Move(source: try server(), target: file)
    back.clock = ManualWallClock(start + .seconds(99))
    _ = try back.run()
    let (last, gone, leases) = try Database.inspect(file.file) { connection in
      (
        try connection.first(Self.lastRun)?.values, try NodeTable.find("shelf-1", in: connection)?.gone,
        try connection.query("SELECT 1 FROM leases WHERE holder = 'shelf-1 x'").count
      )
    }
    #expect(last == [.integer(node), .null, .timestamp(start + .seconds(99)), .timestamp(start)])
    #expect(gone == start + .seconds(99))
    #expect(leases == 0)
  }

  @Test("tickets that were sealed at a file are good at PostgreSQL, also where its records were there before")
  func keys() async throws {
    try await ServerHarness.run(options: ["--database", url], in: directory) { _ in }
    #expect(try Move(source: try server(), target: file).run().isComplete)
    let granted = Mutex<GrantResponse?>(nil)
    // Another key than that of the database, which seals at once.
    _ = try TicketKeyFile.rotate(TicketKeyFile.path(in: file.directory), at: ServerHarness.start)
    try await ServerHarness.run(in: directory) { server in
      try await server.publish(bytes)
      let grant = try await server.grantForPurchase()
      granted.withLock { $0 = grant }
    }
    let keys = try FileSystem.read(TicketKeyFile.path(in: file.directory), upTo: .mebibytes(1))
    #expect(try Move(source: file, target: try server()).run().isComplete)
    try await ServerHarness.run(options: ["--database", url], in: directory) { server in
      let grant = try #require(granted.withLock { $0 })
      #expect(try await server.fetch(grant).body == bytes)
    }
    #expect(try FileSystem.read(TicketKeyFile.path(in: file.directory), upTo: .mebibytes(1)) == keys)
  }

  @Test("a text that PostgreSQL cannot hold ends the move before anything is written there")
  func unstorable() throws {
    let state = try SampleState(file.directory)
    let database = try Database.open(path: state.path + "/server.db", migrations: Migrations.all)
    try database.writeBlocking(locking: [.everything]) {
      try $0.execute("INSERT INTO bought_products (product) VALUES (?)", [.text("com.example\u{0}")])
    }
    database.close()
    let error = #expect(throws: RecordTransferError.self) {
      try Move(source: file, target: try server()).run()
    }
    #expect(error?.code == .unstorable)
    #expect(
      error?.message.contains(#"column product of bought_products, where product is 'com.example\u0000'"#)
        == true)
    let transfer = try TableTransfer(try PostgreSQLAddress(url), application: "pullbox-server test")
    #expect(try transfer.version() == nil)
    try MoveMark.refuse(in: file.directory)
  }

  @Test("a mark between the steps of a move is completed by the same move")
  func completed() throws {
    _ = try SampleState(file.directory)
    _ = try Move(source: file, target: try server()).run()
    let transfer = try TableTransfer(try PostgreSQLAddress(url), application: "pullbox-server test")
    let mark = try #require(try transfer.mark())
    try transfer.setMark(mark.with(.arriving, other: mark.other, at: mark.at))
    let outcome = try Move(source: file, target: try server()).run()
    #expect(outcome.tables == nil)
    #expect(try transfer.mark()?.state == .arrived)
    // Before the source was marked, all begins again.
    try transfer.setMark(mark.with(.arriving, other: mark.other, at: mark.at))
    try FileSystem.removeFile(file.directory + "/move.json")
    #expect(try Move(source: file, target: try server()).run().tables?.isEmpty == false)
    #expect(try transfer.mark()?.state == .arrived)
  }

  @Test(
    "a backup of records in PostgreSQL is a generation of today, beside the server, and is restored to a file and to PostgreSQL"
  )
  func backup() async throws {
    let granted = Mutex<GrantResponse?>(nil)
    try await ServerHarness.run(options: ["--database", url], in: directory) { server in
      try await server.publish(bytes)
      let grant = try await server.grantForPurchase()
      granted.withLock { $0 = grant }
      let outcome = try Backup(
        state: file.directory, directory: backups, database: try PostgreSQLAddress(url)
      ).run()
      #expect(outcome.manifest.packages.count == 1)
      #expect(try LastBackup.read(in: file.directory)?.generation == outcome.generation)
      #expect(try StateCheck(state: file.directory, database: try PostgreSQLAddress(url)).run().isWhole)
    }
    #expect(try StateCheck(state: try backups.generation(nil).path).run().isWhole)
    let grant = try #require(granted.withLock { $0 })
    for (place, database) in zip(restored, [nil, try EmptyServer.makeSchema()]) {
      var restore = StateRestore(
        state: place.path("state"), directory: backups,
        database: try database.map { try PostgreSQLAddress($0) })
      restore.clock = ManualWallClock(ServerHarness.start)
      _ = try restore.run()
      #expect(try FileSystem.status(of: place.path("state/server.db")) == nil || database == nil)
      try await ServerHarness.run(options: database.map { ["--database", $0] } ?? [], in: place) { server in
        let fetched = try await server.fetch(grant).body
        #expect(fetched == bytes)
        #expect(try await server.status(grant).state == .granted)
      }
    }
  }

  @Test(
    "a restore goes into no database with records, and one that was broken off goes on in the same database")
  func restore() throws {
    struct BrokenOff: Error {}
    let state = try SampleState(file.directory)
    let keys = Array(#"{"keys":[{"id":1,"secret":"\#(String(repeating: "ab", count: 32))"}]}"#.utf8)
    try DurableFile.write(keys.span, to: state.path + "/ticket-keys.json", permissions: 0o600)
    _ = try Backup(state: file.directory, directory: backups).run()
    let address = try PostgreSQLAddress(url)
    let restored = directory.path("restored")
    let operations = FaultyFileOperations(failing: .synchronizeFileSystem)
    var restore = StateRestore(state: restored, directory: backups, database: address)
    restore.operations = operations
    #expect(throws: SystemError.self) { try restore.run() }
    let transfer = try TableTransfer(address, application: "pullbox-server test")
    #expect(try transfer.mark()?.state == .arriving)
    operations.fail(nil)
    _ = try restore.run()
    #expect(try transfer.mark()?.state == .arrived)
    #expect(try FileSystem.status(of: restored + "/server.db") == nil)
    let other = StateRestore(state: directory.path("other"), directory: backups, database: address)
    let error = #expect(throws: RecordTransferError.self) { try other.run() }
    #expect(error?.code == .notEmpty)
    #expect(try RestoreMark.read(in: other.state) == nil)
  }
}
