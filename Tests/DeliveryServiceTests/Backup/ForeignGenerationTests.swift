import CoreTypes
import Crypto
import Glibc
import PullboxAPI
import PullboxTesting
import SystemCalls
import Testing

@testable import DeliveryService

/// Generations that another program, or another person, has written.
@Suite("Generations that no backup has made")
struct ForeignGenerationTests {
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
}
