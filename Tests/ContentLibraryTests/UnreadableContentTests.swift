import AgentTesting
import Commerce
import ContentPackage
import CoreTypes
import Files
import Glibc
import PackageTesting
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import SystemCalls
import Testing

@testable import AgentRecords
@testable import ContentLibrary

/// A library of which something does not come back from the device, or is not for this user.
@Suite("What of a library cannot be read", .timeLimit(.minutes(5))) struct UnreadableContentTests {
  private let operations = FaultyFileOperations()

  private func packages() throws -> [FixturePackage] {
    try (1...2).map {
      try FixturePackage.file(length: 1000 + $0, product: "com.example.p\($0)", seed: UInt64($0))
    }
  }

  private func read(_ path: String) throws -> [UInt8] { try FileSystem.read(path, upTo: .kibibytes(1)) }

  /// The folder that lies at `path` now cannot be listed, and nothing in it be looked at.
  private func breakFolder(_ path: String, _ number: Int32) throws {
    let inode = try #require(try FileSystem.status(of: path)).inode
    let name = FileSystem.lastPart(of: path)
    operations.answer { call, subject in
      guard call == .open && [path, name].contains(subject) || subject.hasPrefix("\(path)/"),
        (try? FileSystem.status(of: path))?.inode == inode
      else { return nil }
      return number
    }
  }

  // Files of other programs.

  @Test(
    "a folder whose manifest cannot be read is kept whole when its content goes: nothing tells whose its files are",
    arguments: [EACCES, EIO, nil])
  func withoutManifest(number: Int32?) async throws {
    let fixture = try LibraryFixture(operations: operations)
    let package = try FixturePackage.folder()
    try await fixture.place(package)
    let root = fixture.path(package)
    try DurableFile.write([7].span, to: "\(root)/pages/bookmark")
    let manifest = "\(FileSystem.parent(of: root))/.pullbox/1.0"
    if let number {
      operations.answer { call, path in call == .read && path == manifest ? number : nil }
    } else {
      try FileSystem.removeFile(manifest)
    }
    #expect(try await fixture.library.remove(package.manifest.product).count == 1)
    #expect(try read("\(root).others/pages/bookmark") == [7])
    #expect(try FileSystem.status(of: root) == nil)
    #expect(try fixture.database.libraryRecords().isEmpty)
    #expect(fixture.lines.current.contains { $0.contains("was kept whole") })
  }

  @Test("of a single file its name is known without a manifest: it goes, and what lies beside it stays")
  func singleFile() async throws {
    let fixture = try LibraryFixture()
    let package = try FixturePackage.file(length: 1000)
    try await fixture.place(package)
    let root = fixture.path(package)
    try DurableFile.write([7].span, to: "\(root)/bookmark")
    try FileSystem.removeFile("\(FileSystem.parent(of: root))/.pullbox/1.0")
    #expect(try await fixture.library.remove(package.manifest.product).count == 1)
    #expect(try FileSystem.list("\(root).others").map(\.name) == ["bookmark"])
    #expect(try FileSystem.status(of: root) == nil)
  }

  @Test("content without a readable manifest does not go to make room, and other content does")
  func eviction() async throws {
    let fixture = try LibraryFixture(reserve: .zero, quota: .mebibytes(12), operations: operations)
    let packages = try (1...2).map {
      try FixturePackage.folder(
        product: "com.example.p\($0)", firstPage: FixturePackage.noise(300_000, seed: UInt64($0)))
    }
    let now = SystemWallClock().now()
    for (number, package) in packages.enumerated() {
      try await fixture.place(package, at: now + .seconds(60 * number))
    }
    let products = Set(packages.map(\.manifest.product))
    fixture.library.evictionAdvice = Library.EvictionAdvice(
      removable: { _ in Library.Removable(products: products) }, noteRemoval: { _ in })
    try DurableFile.write([7].span, to: fixture.path(packages[0], "bookmark"))
    operations.answer { call, path in
      call == .read && path.hasSuffix("com.example.p1/.pullbox/1.0") ? EACCES : nil
    }
    let room = try await fixture.library.reserve(
      SpaceNeed(unpacked: .mebibytes(3)), for: .random(),
      of: try #require(ProductIdentifier("com.example.new")), allocating: false)
    room.release()
    #expect(try fixture.database.libraryRecords().map(\.product.description) == ["com.example.p1"])
    #expect(try read(fixture.path(packages[0], "bookmark")) == [7])
  }

  @Test("when it was opened last is not known of content that cannot be looked at, and others make room")
  func evictionOfUnreadable() async throws {
    let fixture = try LibraryFixture(reserve: .zero, quota: .mebibytes(5), operations: operations)
    let packages = try (1...2).map {
      try FixturePackage.file(length: 2 << 20, product: "com.example.p\($0)", seed: UInt64($0))
    }
    let now = SystemWallClock().now()
    for (number, package) in packages.enumerated() {
      try await fixture.place(package, at: now + .seconds(60 * number))
    }
    let products = Set(packages.map(\.manifest.product))
    fixture.library.evictionAdvice = Library.EvictionAdvice(
      removable: { _ in Library.Removable(products: products) }, noteRemoval: { _ in })
    operations.answer { call, path in
      call == .status && path.hasSuffix("com.example.p2/1.0/issue.pdf") ? EIO : nil
    }
    let room = try await fixture.library.reserve(
      SpaceNeed(unpacked: .mebibytes(2)), for: .random(),
      of: try #require(ProductIdentifier("com.example.new")), allocating: false)
    room.release()
    #expect(try fixture.database.libraryRecords().map(\.product.description) == ["com.example.p2"])
  }

  @Test(
    "a folder that cannot be listed is moved aside whole, and its content is placed anew",
    arguments: [("", EACCES), ("", EIO), ("/pages", EACCES), ("/pages", EIO)])
  func unlistable(folder: String, number: Int32) async throws {
    let fixture = try LibraryFixture(operations: operations)
    let package = try FixturePackage.folder()
    try await fixture.place(package)
    let root = fixture.path(package)
    try DurableFile.write([7].span, to: "\(root)/pages/bookmark")
    try breakFolder("\(root)\(folder)", number)
    #expect(try await fixture.held(package) == nil)
    #expect(try await fixture.library.recordPlaced(package.manifest, at: LibraryFixture.now) == nil)
    _ = try await fixture.library.sources(for: package.manifest, previous: nil)
    try await fixture.place(package)
    #expect(try await fixture.held(package) != nil)
    operations.answer(nil)
    #expect(try read("\(root).others/pages/bookmark") == [7])
  }

  // One entry of many.

  @Test(
    "one entry that cannot be looked at is damaged, and takes no other out of the library",
    arguments: [EIO, EACCES])
  func oneRecord(number: Int32) async throws {
    let fixture = try LibraryFixture(operations: operations)
    let packages = try packages()
    for package in packages { try await fixture.place(package) }
    fixture.library.close()
    operations.answer { call, path in
      call == .status && path.hasSuffix("com.example.p1/1.0/issue.pdf") ? number : nil
    }
    let started = Library(paths: fixture.paths, database: fixture.database, operations: operations)
    #expect(try started.look() == .online)
    #expect(try fixture.database.libraryRecords().map(\.isDamaged) == [true, false])
    #expect(try await started.items().map(\.state) == [.damaged, .present])
    #expect(try await started.held(packages[1].terms) != nil)
  }

  @Test("while an entry does not come back from the device it is shown as damaged, beside the others")
  func items() async throws {
    let fixture = try LibraryFixture(operations: operations)
    for package in try packages() { try await fixture.place(package) }
    operations.answer { call, path in
      call == .status && path.hasSuffix("com.example.p1/1.0/issue.pdf") ? EIO : nil
    }
    #expect(try await fixture.library.items().map(\.state) == [.damaged, .present])
    operations.answer(nil)
    #expect(try await fixture.library.items().map(\.state) == [.present, .present])
  }

  @Test("a manifest that cannot be looked at damages its own content, and the check goes on to the end")
  func verification() async throws {
    let fixture = try LibraryFixture(operations: operations)
    for package in try packages() { try await fixture.place(package) }
    operations.answer { call, path in
      call == .status && path.hasSuffix("com.example.p1/.pullbox/1.0") ? EIO : nil
    }
    #expect(try await fixture.library.verify().map(\.state) == [.damaged, .present])
  }

  @Test("a device that goes while its entries are looked at damages none of them")
  func goneMeanwhile() async throws {
    let fixture = try LibraryFixture(operations: operations)
    for package in try packages() { try await fixture.place(package) }
    fixture.library.close()
    let isGone = Locked(false)
    operations.answer { call, path in
      if call == .status, path.hasSuffix("com.example.p1/1.0/issue.pdf") { isGone.withLock { $0 = true } }
      return isGone.current ? EIO : nil
    }
    let started = Library(paths: fixture.paths, database: fixture.database, operations: operations)
    guard case .offline = try started.look() else {
      Issue.record("nothing of the library can be read")
      return
    }
    #expect(try fixture.database.libraryRecords().map(\.isDamaged) == [false, false])
    operations.answer(nil)
    #expect(try started.look() == .online)
    #expect(try await started.items().map(\.state) == [.present, .present])
  }

  // Records that are made anew.

  /// A library with two products, which new records are to be made of.
  private func abandoned(_ root: String) async throws -> [FixturePackage] {
    let packages = try packages()
    let fixture = try LibraryFixture(root: root)
    for package in packages { try await fixture.place(package) }
    fixture.library.close()
    return packages
  }

  @Test(
    "where records are made anew, what cannot be read costs its own record, or is damaged, and no other",
    arguments: [
      (FileCall.status, "com.example.p1/.pullbox", ["com.example.p2"]),
      (.open, "com.example.p1/.pullbox", ["com.example.p2"]),
      (.status, "com.example.p1/.pullbox/1.0", ["com.example.p2"]),
      (.status, "com.example.p1/1.0", ["com.example.p2"]),
      (.open, "com.example.p1/1.0", ["com.example.p1", "com.example.p2"]),
    ])
  func rebuilt(call: FileCall, path: String, expected: [String]) async throws {
    let root = try TemporaryDirectory()
    let library = root.path("library")
    _ = try await abandoned(library)
    operations.answer { asked, subject in asked == call && subject == "\(library)/\(path)" ? EIO : nil }
    let fixture = try LibraryFixture(root: library, isLooking: false, operations: operations)
    #expect(try fixture.library.look() == .online)
    let records = try fixture.database.libraryRecords()
    #expect(records.map(\.product.description) == expected)
    #expect(records.map(\.isDamaged) == expected.map { $0 == "com.example.p1" })
    #expect(expected.count == 2 || fixture.lines.current.contains { $0.contains("com.example.p1") })
  }

  @Test("making records anew that was broken off is done again, and forgets nothing")
  func brokenOff() async throws {
    let root = try TemporaryDirectory()
    let library = root.path("library")
    let packages = try await abandoned(library)
    let isFirst = Locked(true)
    operations.answer { call, path in
      guard call == .open, path == library else { return nil }
      return isFirst.withLock { isFirst in
        defer { isFirst = false }
        return isFirst ? EIO : nil
      }
    }
    let fixture = try LibraryFixture(root: library, isLooking: false, operations: operations)
    guard case .offline = try fixture.library.look() else {
      Issue.record("the library's folder could not be listed")
      return
    }
    #expect(try fixture.library.look() == .online)
    #expect(try fixture.database.libraryRecords().map(\.product) == packages.map(\.manifest.product))
  }
}
