import CoreTypes
import Crypto
import Database
import DeliverySchema
import DeliveryTesting
import Files
import Foundation
import Glibc
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import DeliveryRecords
@testable import DeliveryService

/// Generations that another program, or another person, has written.
@Suite("Generations that no backup has made", .enabled(if: !TestDatabase.isOnServer))
struct ForeignGenerationTests {
  /// Text that a terminal would obey, and that would read as a line of this program.
  private static let evil = "evil\u{1B}[31m\u{9B}2J\u{202E}\nforged\r\u{7}"

  private let place: TemporaryDirectory
  private let directory: BackupDirectory
  private var state: String { place.path("state") }
  private var restored: String { place.path("restored") }

  init() throws {
    place = try TemporaryDirectory()
    directory = BackupDirectory(place.path("backups"))
  }

  /// A generation of a server that was stopped.
  private func backUp() async throws -> BackupGeneration {
    try await ServerHarness.run(in: place) { server in try await server.publish([1, 2, 3]) }
    return try directory.generation(try Backup(state: state, directory: directory).run().generation)
  }

  private func write(_ bytes: [UInt8], asManifestOf generation: BackupGeneration) throws {
    try DurableFile.write(bytes.span, to: "\(generation.path)/\(BackupManifest.fileName)")
  }

  /// Runs the built server with these words; answers how it ended, and what it said on both streams.
  private func run(
    _ words: String...
  ) async throws -> (ending: ChildProcess.Ending, output: String, errors: String) {
    let own = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    let file = place.path("run-\(UInt64.random(in: .min ... .max))")
    let process = try ChildProcess(
      own.deletingLastPathComponent().appending(path: "pullbox-server").path, words,
      environment: ChildProcess.inheritedEnvironment, output: file + ".out", errors: file + ".err")
    let ending = await process.ending()
    func text(_ path: String) throws -> String {
      String(decoding: try FileSystem.read(path, upTo: .mebibytes(1)), as: UTF8.self)
    }
    return (ending, try text(file + ".out"), try text(file + ".err"))
  }

  /// Whether a terminal would obey it; the line feeds are this program's own.
  private static func isObeyed(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x0A: false
    case 0..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }

  private func expectPlain(_ text: String) {
    #expect(text.contains("evil[31m2J forged"), "\(text.debugDescription)")
    #expect(!text.unicodeScalars.contains(where: Self.isObeyed), "\(text.debugDescription)")
    #expect(!text.split(separator: "\n").contains { $0.hasPrefix("forged") }, "\(text)")
  }

  @Test(
    "a manifest that names other files than the two that a backup has is damaged, for a restore and a check",
    arguments: [
      [], ["server.db"], ["ticket-keys.json"], ["server.db", "ticket-keys.json", "more"],
      ["server.db", "server.db", "ticket-keys.json"], ["server.db", "../../../../dev/zero"],
      ["server.db", "..\u{2F}\u{301}out"], ["server.db", "/\u{338}"], ["server.db", "blobs/x"],
      ["server.db", "."], ["server.db", ".."], ["", "server.db"],
    ] as [[String]])
  func files(names: [String]) async throws {
    let generation = try await backUp()
    var manifest = try generation.manifest()
    let file = try #require(manifest.files.first)
    manifest.files = names.map { .init(name: $0, length: file.length, sha256: file.sha256) }
    try write(try APIJSON.encode(manifest), asManifestOf: generation)
    let check = #expect(throws: StateCareError.self) { try StateCheck(state: generation.path).run() }
    let restore = #expect(throws: StateCareError.self) {
      try StateRestore(state: restored, directory: directory).run()
    }
    #expect(check?.code == .damaged && restore == check)
    #expect(check?.message.hasPrefix("\(generation.path)/backup.json: its files are not server.db") == true)
    #expect(try FileSystem.status(of: restored) == nil)
  }

  @Test("the two files are a backup's in whatever order they are named")
  func order() async throws {
    let generation = try await backUp()
    var manifest = try generation.manifest()
    #expect(manifest.files.map(\.name) == BackupManifest.fileNames)
    manifest.files.reverse()
    try write(try APIJSON.encode(manifest), asManifestOf: generation)
    _ = try StateRestore(state: restored, directory: directory).run()
    #expect(try StateCheck(state: restored).run().isWhole)
  }

  @Test(
    "a link or a pipe in the place of a file of a generation is not read, and not waited for",
    arguments: ["backup.json", "server.db", "ticket-keys.json"])
  func irregular(name: String) async throws {
    let generation = try await backUp()
    let path = "\(generation.path)/\(name)"
    try FileSystem.rename(path, to: place.path("aside"))
    for isLink in [true, false] {
      if isLink {
        let target = place.path("aside")
        try SystemCall.run("symlink", subject: path) { unsafe symlink(target, path) }
      } else {
        try FileSystem.removeFile(path)
        try SystemCall.run("mkfifo", subject: path) { unsafe mkfifo(path, 0o600) }
      }
      let error = #expect(throws: StateCareError.self) { try StateCheck(state: generation.path).run() }
      #expect(error == StateCareError(.damaged, "\(path) is no regular file"))
      #expect(throws: StateCareError.self) { try StateRestore(state: restored, directory: directory).run() }
    }
    #expect(try FileSystem.status(of: restored) == nil)
  }

  @Test("a manifest's text reaches a terminal as one line that it does not obey")
  func manifestOnTerminal() async throws {
    let generation = try await backUp()
    var manifest = try generation.manifest()
    manifest.absent = [.init(digest: .of([9]), fault: PackageFault(rawValue: Self.evil))]
    try write(try APIJSON.encode(manifest), asManifestOf: generation)
    let restore = try await run("restore", directory.path, "--state", restored)
    #expect(restore.ending == .exited(6))
    expectPlain(restore.errors)

    let document = String(decoding: try APIJSON.encode(manifest), as: UTF8.self)
    let made = document.replacing(
      "\"\(manifest.made)\"", with: #""evil\u001b[31m\u009b2J\u202e\nforged\r\u0007""#)
    try write(Array(made.utf8), asManifestOf: generation)
    let refused = try await run("restore", directory.path, "--state", place.path("other"))
    #expect(refused.ending == .exited(6))
    expectPlain(refused.errors)

    let backup = try await run("backup", directory.path, "--state", state)
    #expect(backup.ending == .exited(0), "\(backup.errors)")
    #expect(backup.errors.hasPrefix("an earlier generation is passed over"))
    expectPlain(backup.errors)
  }

  @Test("a database's text reaches a terminal as one line that it does not obey")
  func databaseOnTerminal() async throws {
    _ = try await backUp()
    let database = try Database.open(
      path: state + "/server.db", migrations: Migrations.all, options: .small)
    try database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        "INSERT INTO products (id, document, type, created, changed) VALUES (?, '{}', 'consumable', 0, 0)",
        [.text(Self.evil)])
      // A version of which there is no manifest.
      try connection.execute(
        """
        INSERT INTO versions (product, version, state, digest, length, manifest_digest, pieces, files, created)
        SELECT ?, version, state, digest, length, x'00', pieces, files, created FROM versions
        """, [.text(Self.evil)])
    }
    database.close()
    let check = try await run("check", "--state", state)
    #expect(check.ending == .exited(6), "\(check.errors)")
    expectPlain(check.output)
  }
}
