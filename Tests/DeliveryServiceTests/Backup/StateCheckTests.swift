import BlobStore
import CoreTypes
import Crypto
import Database
import DeliverySchema
import DeliveryTesting
import Files
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("Checking a server's state", .enabled(if: !TestDatabase.isOnServer))
struct StateCheckTests {
  private static let bytes = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  private let bytes = Self.bytes

  private func path(of digest: SHA256Digest, _ server: ServerHarness) -> String {
    let name = digest.hexadecimal
    return "\(server.configuration.state)/blobs/\(name.prefix(2))/\(name.dropFirst(2))"
  }

  @Test(
    "every package is compared with its digest and every record with its package, while the server runs (M12)"
  )
  func faults() async throws {
    try await ServerHarness.run { server in
      let damaged = try await server.publish(bytes)
      let missing = try await server.publish(bytes + [1], as: "com.example.b")
      let withdrawn = try await server.publish(bytes + [2], as: "com.example.c")
      try await server.publish(bytes + [3], as: "com.example.d")
      let state = server.configuration.state
      let whole = try StateCheck(state: state).run()
      #expect(whole.isWhole)
      #expect(whole.packages == 4)
      #expect(whole.unreferenced.isEmpty)

      try FileDescriptor.open(path(of: damaged.digest, server), .readWrite).truncate(to: ByteCount(1_000_000))
      try FileSystem.removeFile(path(of: missing.digest, server))
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/products/com.example.c/versions/1.0/withdraw", body: ReasonBody(),
        as: VersionRecord.self)
      // It may have been collected.
      try FileSystem.removeFile(path(of: withdrawn.digest, server))
      let stray = SHA256Digest.of([9])
      try FileSystem.createDirectories(FileSystem.parent(of: path(of: stray, server)))
      let byte: [UInt8] = [9]
      try DurableFile.write(byte.span, to: path(of: stray, server))

      let report = try StateCheck(state: state).run()
      #expect(!report.isWhole)
      #expect(report.packages == 2)
      #expect(
        Set(report.faults) == [
          .init(
            digest: damaged.digest, fault: .damaged, versions: ["com.example.issue1 1.0"], isRepaired: false),
          .init(digest: missing.digest, fault: .missing, versions: ["com.example.b 1.0"], isRepaired: false),
        ])
      #expect(report.unreferenced == [stray])
      #expect(report.database.isEmpty)
    }
  }

  @Test("a generation is compared with its manifest: what is altered, missing or not of the backup is named")
  func generation() async throws {
    try await ServerHarness.run { server in
      let withdrawn = try await server.publish(bytes)
      let state = server.configuration.state
      _ = try await server.operatorAPI.call(
        "POST", "/v1/operator/products/com.example.issue1/versions/1.0/withdraw", body: ReasonBody(),
        as: VersionRecord.self)
      let directory = BackupDirectory(server.directory.path("backups"))
      let generation = { try BackupGeneration.made(of: state, in: directory) }

      // Another database than was backed up, which is whole in itself.
      let altered = try generation()
      try Database.copy(state + "/server.db", to: altered.path + "/other.db")
      let other = try Database.open(
        path: altered.path + "/other.db", migrations: Migrations.all, options: .small)
      try other.writeBlocking(locking: [.everything]) {
        try ServerRunTable.noteRestore(at: SystemWallClock().now(), in: $0)
      }
      other.close()
      try FileSystem.rename(altered.path + "/other.db", to: altered.path + "/server.db")
      let report = try StateCheck(state: altered.path).run()
      #expect(report.files == ["\(altered.path)/server.db: its bytes are not those of the backup"])
      #expect(report.database.isEmpty)
      #expect(!report.isWhole)

      let logged = try generation()
      try DurableFile.write(bytes.span, to: logged.path + "/server.db-wal")
      let error = #expect(throws: StateCareError.self) { try StateCheck(state: logged.path).run() }
      #expect(error?.code == .damaged)
      #expect(error?.message.hasPrefix(logged.path + "/server.db-wal") == true)
      #expect(try FileSystem.status(of: logged.path + "/server.db-wal")?.length == ByteCount(bytes.count))

      // A restore takes all that the manifest names.
      let cut = try generation()
      let name = withdrawn.digest.hexadecimal
      try FileSystem.removeFile("\(cut.path)/blobs/\(name.prefix(2))/\(name.dropFirst(2))")
      #expect(try StateCheck(state: cut.path).run().faults.map(\.fault) == [.missing])
      let restore = #expect(throws: StateCareError.self) {
        try StateRestore(state: server.directory.path("new"), directory: directory, generation: cut.name)
          .run()
      }
      #expect(restore?.code == .damaged)

      let short = try generation()
      var manifest = try short.manifest()
      manifest.packages = []
      let document = try APIJSON.encode(manifest)
      try DurableFile.write(document.span, to: "\(short.path)/\(BackupManifest.fileName)")
      #expect(try StateCheck(state: short.path).run().files.isEmpty)
      try FileSystem.removeFile("\(short.path)/ticket-keys.json")
      #expect(
        try StateCheck(state: short.path).run().files.first == "\(short.path)/ticket-keys.json is missing")
    }
  }

  @Test(
    "what is faulty is taken from whichever backup has it whole, and from none that is damaged itself (M12)")
  func repairs() async throws {
    try await ServerHarness.run { server in
      let record = try await server.publish(bytes)
      let state = server.configuration.state
      let directory = BackupDirectory(server.directory.path("backups"))
      _ = try Backup(state: state, directory: directory).run()
      // Not linked: another file, which is damaged below.
      let other = BackupDirectory(server.directory.path("other"))
      _ = try Backup(state: state, directory: other).run()
      let newest =
        "\(directory.path)/\(BackupGeneration.name(of: SystemWallClock().now() + .seconds(3600)))"
      try FileSystem.rename(try other.generation(nil).path, to: newest)
      let name = record.digest.hexadecimal
      let copy = "\(newest)/blobs/\(name.prefix(2))/\(name.dropFirst(2))"
      try FileDescriptor.open(copy, .readWrite).truncate(to: ByteCount(10))

      try FileSystem.removeFile(path(of: record.digest, server))
      let repair = PackageRepair(state: state, directory: directory)
      let report = try StateCheck(state: state, repair: repair).run()
      #expect(report.faults.map(\.isRepaired) == [true])
      #expect(report.isWhole)
      #expect(try StateCheck(state: state).run().faults.isEmpty)
      #expect(try !repair.repair(.of([1])))
    }
  }

  @Test("manifests, ticket keys and the database are checked as well")
  func others() async throws {
    try await ServerHarness.run { server in
      try await server.publish(bytes)
      let state = server.configuration.state
      try await server.server.collector.database.write(locking: [.everything]) { connection in
        try connection.execute("UPDATE manifests SET document = x'7B7D'")
      }
      try FileSystem.removeFile(TicketKeyFile.path(in: state))
      let report = try StateCheck(state: state).run()
      #expect(report.database.count == 1)
      #expect(report.database.first?.contains("manifest") == true)
      #expect(report.files.count == 1)
      #expect(!report.isWhole)
    }
    let error = #expect(throws: StateCareError.self) { try StateCheck(state: "/nonexistent").run() }
    #expect(error?.code == .noState)
  }
}

extension BackupGeneration {
  /// The generation of a new backup.
  fileprivate static func made(of state: String, in directory: BackupDirectory) throws -> BackupGeneration {
    try directory.generation(try Backup(state: state, directory: directory).run().generation)
  }
}
