import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Crypto
import Database
import Files
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

/// A library whose file system comes and goes. Renaming its directory does what an unmount does: the path is empty or gone.
@Suite struct LibraryVolumeTests {
  private func isOffline(_ library: Library) throws -> Bool {
    if case .offline = try library.look() { true } else { false }
  }

  @Test(
    "an unmounted library is offline: no record goes, nothing is made; mounted again it is as before (D2)",
    arguments: [true, false])
  func unmounted(leavesMountPoint: Bool) async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.file(length: 1000)
    let placed = try await fixture.place(package)
    let away = fixture.directory.path("away")
    try FileSystem.rename(fixture.paths.library, to: away)
    if leavesMountPoint { try FileSystem.createDirectory(fixture.paths.library) }
    // A library as at a start: the agent has seen nothing of it yet.
    let started = Library(paths: fixture.paths, database: fixture.database)
    #expect(try isOffline(started) && isOffline(fixture.library))
    await #expect(throws: LibraryOfflineError.self) { try await started.held(package.terms) }
    await #expect(throws: LibraryOfflineError.self) {
      try await started.remove(package.manifest.product)
    }
    await #expect(throws: LibraryOfflineError.self) { try await fixture.place(package) }
    #expect(try fixture.database.libraryRecords().count == 1)
    if leavesMountPoint {
      #expect(try FileSystem.list(fixture.paths.library).isEmpty)
      try FileSystem.removeRecursively(fixture.paths.library)
    }
    try FileSystem.rename(away, to: fixture.paths.library)
    #expect(try started.look() == .online)
    #expect(try await started.held(package.terms) == placed)
  }

  private enum Folder: CaseIterable { case staging, manifest, pin }

  @Test(
    "a library that goes after the look leaves an empty directory, and nothing is made in it",
    arguments: Folder.allCases)
  private func goneAfterTheLook(folder: Folder) throws {
    let fixture = try LibraryFixture()
    let manifest = try FixturePackage.file(length: 1000).manifest
    try FileSystem.rename(fixture.paths.library, to: fixture.directory.path("away"))
    try FileSystem.createDirectory(fixture.paths.library)
    let error = #expect(throws: SystemError.self) {
      switch folder {
      case .staging: try fixture.library.makeStagingFolder()
      case .manifest: try fixture.library.write(manifest)
      case .pin: try fixture.library.writePin(true, of: manifest.product)
      }
    }
    #expect(error?.isFileMissing == true)
    #expect(try FileSystem.list(fixture.paths.library).isEmpty)
  }

  @Test("a library that goes while folders are made has them, and not what is mounted at its path then")
  func goneWhileFoldersAreMade() async throws {
    let operations = FaultyFileOperations()
    let fixture = try LibraryFixture(operations: operations)
    let manifest = try FixturePackage.file(length: 1000).manifest
    let (library, away) = (fixture.paths.library, fixture.directory.path("away"))
    let hasGone = Locked(false)
    operations.answer { call, _ in
      guard call == .makeDirectory, !hasGone.current else { return nil }
      hasGone.withLock { $0 = true }
      try? FileSystem.rename(library, to: away)
      _ = try? FileSystem.createDirectory(library)
      return nil
    }
    #expect(throws: SystemError.self) { try fixture.library.write(manifest) }
    #expect(try FileSystem.list(library).isEmpty)
    #expect(try FileSystem.isDirectory("\(away)/\(manifest.product)/.pullbox"))
  }

  @Test("another library at the same path is not taken for this one")
  func foreign() async throws {
    let fixture = try LibraryFixture()
    try await fixture.place(try FixturePackage.file(length: 1000))
    try FileSystem.removeRecursively(fixture.paths.library)
    let other = try LibraryFixture(root: fixture.paths.library)
    withExtendedLifetime(other) {
      #expect((try? isOffline(fixture.library)) == true)
    }
    #expect(try fixture.database.libraryRecords().count == 1)
  }

  @Test("two agents do not share a library (K16)")
  func shared() throws {
    let root: TemporaryDirectory = try TemporaryDirectory()
    do {
      let first = try LibraryFixture(root: root.path("library"))
      let second = try LibraryFixture(root: root.path("library"), isLooking: false)
      guard case .offline(let reason) = try second.library.look() else {
        Issue.record("both took it")
        return
      }
      #expect(reason.contains("another agent"))
      #expect(try first.library.look() == .online)
    }
    let third = try LibraryFixture(root: root.path("library"))
    #expect(third.library.availability == .online)
  }

  @Test("records are made anew from what the library holds with its manifests (D9)")
  func rebuilt() async throws {
    let root: TemporaryDirectory = try TemporaryDirectory()
    let folder = try FixturePackage.folder(product: "folder")
    let file = try FixturePackage.file(length: 1000, product: "file", version: "2.0")
    let cut = try FixturePackage.file(length: 1000, product: "cut")
    let records: [LibraryRecord]
    do {
      let first = try LibraryFixture(root: root.path("library"))
      for package in [folder, file, cut] { try await first.place(package) }
      #expect(try await first.library.setPinned(true, folder.manifest.product))
      try FileDescriptor.open(first.path(cut, "issue.pdf"), .readWrite).truncate(to: ByteCount(10))
      records = try first.database.libraryRecords()
      try FileSystem.createDirectories(root.path("library/no product/.pullbox"))
      try FileSystem.createDirectories(root.path("library/foreign/1.0"))
    }
    let second = try LibraryFixture(root: root.path("library"))
    let made = try second.database.libraryRecords()
    #expect(made.map(\.product) == records.map(\.product) && made.map(\.version) == records.map(\.version))
    #expect(made.map(\.relativePath) == records.map(\.relativePath))
    #expect(made.map(\.manifestDigest) == records.map(\.manifestDigest))
    #expect(made.map(\.isDamaged) == [true, false, false] && made.map(\.isPinned) == [false, false, true])
    #expect(try await second.held(folder) != nil)
    #expect(try await second.held(file) != nil)
    #expect(try await second.held(cut) == nil)
  }

  @Test(
    "a device that lost its records waits for its library and begins no new one in the mount point (D2, D9)")
  func expecting() throws {
    let fixture = try LibraryFixture(isLooking: false)
    try fixture.database.expect(.unknown)
    #expect(try isOffline(fixture.library))
    #expect(try FileSystem.status(of: fixture.paths.library) == nil)
    let asked = Library(paths: fixture.paths, database: fixture.database, mayBegin: true)
    #expect(try isOffline(asked))
    try fixture.database.expect(.none)
    #expect(try Library(paths: fixture.paths, database: fixture.database).look() == .online)
  }

  @Test(
    "a library of an earlier version is taken with what lies there, its manifests move beside the content")
  func earlier() async throws {
    let fixture = try LibraryFixture(isLooking: false)
    let package = try FixturePackage.file(length: 1000)
    let manifest = package.manifest.canonicalBytes()
    let path = fixture.path(package, "issue.pdf")
    let digest = package.manifest.digest.hexadecimal
    try fixture.database.database.writeBlocking(locking: [.everything]) { connection in
      try connection.execute(
        """
        INSERT INTO library (product, version, path, digest, length, placed_at, manifest)
        VALUES (?, '1.0', ?, ?, 1000, 5, ?)
        """,
        [.text(FixturePackage.product), .text(path), .text(digest), .blob(manifest)])
    }
    #expect(try isOffline(fixture.library))
    #expect(try fixture.database.libraryRecords().count == 1)
    try FileSystem.createDirectories(FileSystem.parent(of: path))
    try DurableFile.write(package.bytes.span, to: path)
    #expect(try fixture.library.look() == .online)
    #expect(try await fixture.held(package)?.path == path)
    #expect(try fixture.database.manifestsInRecords().isEmpty)
  }
}
