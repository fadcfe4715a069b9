import BlobStore
import Commerce
import CoreTypes
import Crypto
import Database
import DeliveryTesting
import Files
import Glibc
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Synchronization
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryService

@Suite("Restoring a server's state", .enabled(if: !TestDatabase.isOnServer))
struct StateRestoreTests {
  private static let bytes = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  private let bytes = Self.bytes
  private let place: TemporaryDirectory
  private let directory: BackupDirectory
  private var restored: String { place.path("state") }

  init() async throws {
    place = try TemporaryDirectory()
    directory = BackupDirectory(place.path("backups"))
  }

  /// Backs up a server with one released product, and what `body` does with it.
  private func backUp(_ body: (ServerHarness) async throws -> Void = { _ in }) async throws {
    try await ServerHarness.run { server in
      try await server.publish(bytes)
      try await body(server)
      _ = try Backup(state: server.configuration.state, directory: directory).run()
    }
  }

  private func restore(_ operations: any FileOperations = SystemFileOperations(), to path: String? = nil)
    throws
  {
    var restore = StateRestore(state: path ?? restored, directory: directory)
    restore.clock = ManualWallClock(ServerHarness.start)
    restore.operations = operations
    _ = try restore.run()
  }

  private func damage(_ path: String, at offset: Int) throws {
    let file = try FileDescriptor.open(path, .readWrite)
    var byte: [UInt8] = []
    try file.read(upTo: 1, at: ByteCount(offset), into: &byte)
    byte[0] ^= 1
    try file.write(byte.span, at: ByteCount(offset))
  }

  private func package(_ path: String) -> String {
    let name = SHA256Digest.of(bytes).hexadecimal
    return "\(path)/blobs/\(name.prefix(2))/\(name.dropFirst(2))"
  }

  @Test(
    "tickets and grants from before go on; what was granted after the backup is granted again, and its completion needs no second delivery for a day (H3)"
  )
  func goesOn() async throws {
    let before = Mutex<GrantResponse?>(nil)
    try await backUp { server in
      let grant = try await server.grantForPurchase()
      before.withLock { $0 = grant }
    }
    try restore()
    try await ServerHarness.run(in: place) { server in
      let known = try #require(before.withLock { $0 })
      #expect(try await server.fetch(known).body == bytes)
      #expect(try await server.status(known).state == .granted)
      // The device had everything before the backup was restored.
      let receipt = try server.store.receipt(of: [server.purchase(id: "2")], device: server.device.id)
      let anew = try await server.grant(receipt: receipt).value
      #expect(anew.grant != known.grant)
      #expect(try await server.complete(anew).value.state != .granted)

      server.clock.advance(by: .seconds(2 * 86_400))
      let other = Device(id: try #require(DeviceIdentifier("7c6f9d6a-5b0c-4b0e-8a55-1f5a4a1b2c3d")))
      let later = try await server.grantForPurchase(device: other)
      let report = CompletionReport(
        digest: later.download.digest, version: later.download.version, length: later.download.length,
        placedAt: server.clock.now(), grant: later.grant, device: other.id)
      do {
        _ = try await server.complete(later, report)
        Issue.record("a completion without a delivery")
      } catch APICallError.problem(let problem) {
        #expect(problem.missingStep == "delivery")
      }
    }
  }

  @Test("a directory in use, or with anything in it, is refused and left as it is")
  func refuses() async throws {
    try await backUp()
    try FileSystem.createDirectories(restored)
    let note: [UInt8] = [1]
    try DurableFile.write(note.span, to: restored + "/note")
    let error = #expect(throws: StateCareError.self) { try restore() }
    #expect(error?.code == .notEmpty)
    #expect(Set(try FileSystem.list(restored).map(\.name)) == ["lock", "note"])
    try FileSystem.removeFile(restored + "/note")
    do {
      let lock = try StateDirectory.claim(restored)
      let error = #expect(throws: StateDirectoryError.self) { try restore() }
      #expect(error?.code == .inUse)
      withExtendedLifetime(lock) {}
    }
    try restore()
    #expect(try FileSystem.status(of: restored + "/backup.json") == nil)
    try BackupGeneration.refuse(in: restored)
    let again = #expect(throws: StateCareError.self) { try restore() }
    #expect(again?.code == .notEmpty)
    #expect(try StateCheck(state: restored).run().isWhole)
  }

  @Test(
    "a byte that is another than at the backup ends it, wherever it lies, and no server starts on what is there"
  )
  func damaged() async throws {
    try await backUp()
    let generation = try directory.generation(nil).path
    for path in [package(generation), generation + "/server.db", generation + "/ticket-keys.json"] {
      try damage(path, at: 40)
      let error = #expect(throws: StateCareError.self) { try restore() }
      #expect(error?.code == .damaged)
      #expect(throws: StateDirectoryError.self) { try RestoreMark.refuse(in: restored) }
      try damage(path, at: 40)
    }
    try restore()
    try RestoreMark.refuse(in: restored)
    #expect(try StateCheck(state: restored).run().isWhole)
  }

  @Test(
    "a full disk, and a death, at whatever call leave a restore that no server starts on and that goes on when given again"
  )
  func faults() async throws {
    try await backUp()
    let trial = FaultyFileOperations()
    try restore(trial, to: place.path("trial"))
    #expect(trial.steps.count > 20)
    let looks: Set<FileCall> = [.status, .list, .open]
    for index in trial.steps.indices where !looks.contains(trial.steps[index]) {
      for dies in [false, true] {
        let path = place.path("state-\(index)-\(dies)")
        let operations = FaultyFileOperations()
        if dies { operations.die(at: index) } else { operations.fail(call: index, number: ENOSPC) }
        var failed = false
        do { try restore(operations, to: path) } catch { failed = true }
        if failed, try FileSystem.status(of: path + "/restore.json") == nil {
          // Either nothing was begun, or all was done and only the mark's removal was not synced.
          let isDone = try FileSystem.status(of: path + "/server.db") != nil
          #expect(!isDone || trial.steps[index] == .synchronizeDirectory, "\(trial.steps[index])")
          if isDone { try FileSystem.removeRecursively(path) }
        }
        if failed { try restore(to: path) }
        #expect(try StateCheck(state: path).run().isWhole)
        #expect(try FileSystem.list(path).filter { $0.name.hasPrefix(".") }.isEmpty)
        try RestoreMark.refuse(in: path)
        try FileSystem.removeRecursively(path)
      }
    }
  }

  @Test("a restore that dies again and again, each time a call later, comes to its end in the same directory")
  func manyDeaths() async throws {
    try await backUp()
    let mark = restored + "/restore.json"
    var (index, isOver) = (0, false)
    while !isOver {
      let operations = FaultyFileOperations()
      operations.die(at: index)
      do {
        try restore(operations)
        isOver = true
      } catch {
        let hasDatabase = try FileSystem.status(of: restored + "/server.db") != nil
        if try FileSystem.status(of: mark) == nil {
          // Either nothing was begun, or all was done and only the mark's removal was not synced.
          isOver = hasDatabase
        } else {
          #expect(throws: StateDirectoryError.self) { try RestoreMark.refuse(in: restored) }
        }
      }
      index += 1
    }
    #expect(index > 20)
    #expect(try StateCheck(state: restored).run().isWhole)
    try RestoreMark.refuse(in: restored)
    #expect(try FileSystem.list(restored).filter { $0.name.hasPrefix(".") }.isEmpty)
  }

  @Test("a generation is no server's state directory, and no directory of generations")
  func generationItself() async throws {
    try await backUp()
    let generation = try directory.generation(nil)
    let refusal = #expect(throws: StateDirectoryError.self) {
      try BackupGeneration.refuse(in: generation.path)
    }
    #expect(refusal?.message.contains("pullbox-server restore") == true)
    let error = #expect(throws: StateCareError.self) {
      try StateRestore(state: restored, directory: BackupDirectory(generation.path)).run()
    }
    #expect(error?.code == .noBackup)
    #expect(error?.message.hasSuffix("/backups with --generation \(generation.name)") == true)
  }

  @Test("a restore that was begun goes on with its own generation and with no other")
  func otherGeneration() async throws {
    try await backUp()
    let first = try directory.generation(nil).name
    let operations = FaultyFileOperations(failing: .link)
    operations.fail(.synchronizeFileSystem)
    #expect(throws: (any Error).self) { try restore(operations) }
    try await ServerHarness.run { server in
      try await server.publish(bytes)
      _ = try Backup(state: server.configuration.state, directory: directory).run()
    }
    let error = #expect(throws: StateCareError.self) { try restore() }
    #expect(error?.code == .notEmpty)
    let outcome = try StateRestore(state: restored, directory: directory, generation: first).run()
    #expect(outcome.generation == first)
  }
}
