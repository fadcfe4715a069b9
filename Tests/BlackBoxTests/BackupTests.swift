import CoreTypes
import Crypto
import Files
import PullboxAPI
import PullboxTesting
import ServiceAPI
import SystemCalls
import Testing

/// Serialized: each test moves tens of megabytes.
@Suite("Backup and restore by the executables", .serialized, .timeLimit(.minutes(10)))
struct BackupTests {
  private static let product = "com.example.kept"
  private static let later = "com.example.later"
  private static let pieces = 24
  private static let length = Int64(pieces) * pieceLength - 12_345

  private func server(_ arguments: String..., in directory: TemporaryDirectory) async throws
    -> Executables.Outcome
  {
    try await Executables.run(Executables.path("pullbox-server"), arguments, in: directory)
  }

  private func generations(_ path: String) throws -> [String] {
    try FileSystem.list(path).map(\.name).filter { !$0.hasPrefix(".") }.sorted()
  }

  @Test(
    "a backup taken while a device downloads is restored elsewhere: the download goes on at its byte, what was bought since is granted again and fetched once, and every transaction is finished (H3)"
  )
  func restoredElsewhere() async throws {
    try await Stack.with { stack in
      let directory = stack.directory
      let file = try await Material.file("file.cbz", length: Self.length, in: directory)
      let other = try await Material.file("other.cbz", length: 5 << 20, seed: 2, in: directory)
      try await stack.publish(file, as: Self.product)
      try await stack.publish(other, as: Self.later)
      stack.serverProxy.hold(at: 10 * pieceLength + 4321)
      _ = try await stack.agent.buy(Self.product)
      _ = try await stack.agent.download(of: Self.product) { $0.bytesVerified >= ByteCount(10 * pieceLength) }

      let backups = directory.path("backups")
      let backup = try await server("backup", backups, "--state", directory.path("server"), in: directory)
      #expect(backup.succeeded, "\(backup.errors)")
      #expect(backup.output.contains("2 packages"))
      // The backup knows nothing of this purchase.
      stack.serverProxy.release()
      // Neither download ends before the server does.
      stack.serverProxy.hold(at: 3 * pieceLength)
      _ = try await stack.agent.buy(Self.later)
      _ = try await stack.agent.download(of: Self.later) { $0.bytesVerified > .zero }
      await stack.kill(.server)
      stack.serverProxy.release()

      let restore = try await server(
        "restore", backups, "--state", directory.path("elsewhere"), in: directory)
      #expect(restore.succeeded, "\(restore.errors)")
      let check = try await server("check", "--state", directory.path("elsewhere"), in: directory)
      #expect(check.succeeded, "\(check.output) \(check.errors)")
      try await stack.start(.server, state: "elsewhere")

      for (product, original) in [(Self.product, file), (Self.later, other)] {
        let download = try await stack.agent.finishedDownload(of: product)
        #expect(download.state == .finished)
        _ = try await stack.agent.finishedTransaction(of: product)
        #expect(
          try Material.digests(of: try #require(download.contentPath)) == (try Material.digests(of: original))
        )
      }
      // The first may have been finished before the server was killed: a backup from before cannot know that.
      let states = try await stack.deliveries(of: Self.product).map(\.state)
      #expect(states == [.finished] || states == [.granted])
      try await eventually { try await stack.deliveries(of: Self.later).map(\.state) == [.finished] }
      #expect(try await stack.unfinishedTransactions().isEmpty)
      #expect(
        try await stack.operatorWeb.get("/v1/operator/products").decoded(Page<OperatorProduct>.self).items
          .count == 2)
    }
  }

  @Test("an issue that was finished before a restore stays so, and one finished after the backup too")
  func finished() async throws {
    try await Stack.with { stack in
      let directory = stack.directory
      let file = try await Material.file("file.cbz", length: 3 << 20, in: directory)
      try await stack.publish(file, as: Self.product)
      try await stack.publish(file, as: Self.later)
      _ = try await stack.agent.buy(Self.product)
      _ = try await stack.agent.finishedTransaction(of: Self.product)
      let backups = directory.path("backups")
      let backup = try await server("backup", backups, "--state", directory.path("server"), in: directory)
      #expect(backup.succeeded, "\(backup.errors)")
      _ = try await stack.agent.buy(Self.later)
      _ = try await stack.agent.finishedTransaction(of: Self.later)
      await stack.kill(.server)
      let restore = try await server(
        "restore", backups, "--state", directory.path("elsewhere"), in: directory)
      #expect(restore.succeeded, "\(restore.errors)")
      try await stack.start(.server, state: "elsewhere")
      #expect(try await stack.deliveries(of: Self.product).map(\.state) == [.finished])
      // A delivery that the backup does not know is not made up.
      #expect(try await stack.deliveries(of: Self.later).isEmpty)
      #expect(try await stack.unfinishedTransactions().isEmpty)
      #expect(try await stack.agent.downloads().allSatisfy { $0.state == .finished })
    }
  }

  @Test(
    "a package that was lost while the server runs is taken from a backup, and the waiting device gets it (K20)"
  )
  func repair() async throws {
    try await Stack.with { stack in
      let directory = stack.directory
      let file = try await Material.file("file.cbz", length: 3 << 20, in: directory)
      try await stack.publish(file, as: Self.product)
      let (state, backups) = (directory.path("server"), directory.path("backups"))
      let backup = try await server("backup", backups, "--state", state, in: directory)
      #expect(backup.succeeded, "\(backup.errors)")
      let digest = try Material.digest(ofFile: file).hexadecimal
      try FileSystem.removeFile("\(state)/blobs/\(digest.prefix(2))/\(digest.dropFirst(2))")
      let check = try await server("check", "--state", state, in: directory)
      #expect(check.ending == .exited(6))
      #expect(check.output.contains("missing \(digest) (\(Self.product) 1.0)"))

      _ = try await stack.agent.buy(Self.product)
      _ = try await stack.agent.download(of: Self.product) {
        $0.state == .waiting && $0.reason == "server-unavailable"
      }
      let restore = try await server("restore", backups, "--package", digest, "--state", state, in: directory)
      #expect(restore.succeeded, "\(restore.errors)")
      _ = try await stack.agent.finishedTransaction(of: Self.product)
      let json = try await server("check", "--json", "--state", state, in: directory)
      #expect(json.succeeded)
      #expect(json.output.hasPrefix("{"))

      struct Report: Decodable {
        var generation: String?
        var packages: Int
        var bytes: Int
        var linked: Int
        var absent: [String]
      }
      let again = try await server("backup", backups, "--json", "--state", state, in: directory)
      let report = try APIJSON.decode(Report.self, from: Array(again.output.utf8))
      #expect((report.packages, report.bytes, report.linked) == (1, 3 << 20, 1))
      #expect(report.absent.isEmpty)
      #expect(try generations(backups).last == report.generation)
      struct Restored: Decodable {
        var generation: String?
        var packages: [String]
      }
      let package = try await server(
        "restore", backups, "--package", digest, "--json", "--state", state, in: directory)
      #expect(try APIJSON.decode(Restored.self, from: Array(package.output.utf8)).packages == [digest])
      let whole = try await server(
        "restore", backups, "--json", "--state", directory.path("elsewhere"), in: directory)
      let restored = try APIJSON.decode(Restored.self, from: Array(whole.output.utf8))
      #expect((restored.generation, restored.packages) == (report.generation, [digest]))
    }
  }

  @Test(
    "a backup that is killed before any durable step leaves the generation before, and the next one is complete"
  )
  func killed() async throws {
    try await Stack.with(Stack.Options(parts: [.server])) { stack in
      let directory = stack.directory
      let file = try await Material.file("file.cbz", length: 3 << 20, in: directory)
      try await stack.publish(file, as: Self.product)
      let killPoint = try await KillPoint(in: directory)
      let (state, backups) = (directory.path("server"), directory.path("backups"))
      let first = try await server("backup", backups, "--state", state, in: directory)
      #expect(first.succeeded, "\(first.errors)")
      let before = try generations(backups)
      try killPoint.arm()
      var step = 1
      while true {
        let environment = Executables.environment.merging(killPoint.environment(step: step, .order)) { $1 }
        let outcome = try await Executables.run(
          Executables.path("pullbox-server"), ["backup", backups, "--state", state], environment: environment,
          in: directory)
        if outcome.succeeded { break }
        #expect(outcome.ending == .killed(signal: 9), "\(outcome.errors)")
        // The generation that it was making is removed by the next one, which runs at the end.
        // Killed after its last rename, it is complete: what came after was the sync of its name.
        for name in try generations(backups) where !before.contains(name) {
          let check = try await server("check", "--state", "\(backups)/\(name)", in: directory)
          #expect(check.succeeded, "\(check.output)")
        }
        #expect(try generations(backups).contains(before[0]))
        step += 1
      }
      _ = try killPoint.disarm()
      #expect(step > 5)
      #expect(try FileSystem.list(backups).map(\.name).filter { $0.hasPrefix(".") } == [".lock"])
      for name in try generations(backups) {
        let check = try await server("check", "--state", "\(backups)/\(name)", in: directory)
        #expect(check.succeeded, "\(check.output)")
      }
    }
  }
}
