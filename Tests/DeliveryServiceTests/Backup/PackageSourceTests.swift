import BlobStore
import CoreTypes
import Crypto
import DeliveryTesting
import Files
import Glibc
import PullboxAPI
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import SystemCalls
import Testing

@testable import DeliveryService

/// Backups of states, and repairs from generations, some of whose packages cannot be had.
@Suite("Where backups and repairs take a package from", .enabled(if: !TestDatabase.isOnServer))
struct PackageSourceTests {
  private static let bytes = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  private static let other = "com.example.other"

  private let place: TemporaryDirectory
  private let directory: BackupDirectory
  private var state: String { place.path("state") }

  init() throws {
    place = try TemporaryDirectory()
    directory = BackupDirectory(place.path("backups"))
  }

  /// A state directory of a server that was stopped; answers the digests of the products' packages.
  @discardableResult
  private func publish(_ packages: [String: [UInt8]]? = nil) async throws -> [String: SHA256Digest] {
    let packages = packages ?? ["com.example.issue1": Self.bytes]
    try await ServerHarness.run(in: place) { server in
      for (product, bytes) in packages { try await server.publish(bytes, as: product) }
    }
    return packages.mapValues { SHA256Digest.of($0) }
  }

  private func backUp(
    _ operations: any FileOperations = SystemFileOperations(), keep: Int? = nil
  ) throws -> Backup.Outcome {
    try Backup(state: state, directory: BackupDirectory(directory.path, operations: operations), keep: keep)
      .run()
  }

  private func path(of digest: SHA256Digest, in directory: String) -> String {
    let name = digest.hexadecimal
    return "\(directory)/blobs/\(name.prefix(2))/\(name.dropFirst(2))"
  }

  /// Puts a link that leads nowhere in the file's place. It is as long as `length` says.
  private func putLink(at path: String, length: Int) throws {
    try FileSystem.removeFile(path)
    let target = String(repeating: "x", count: length)
    try SystemCall.run("symlink", subject: path) { unsafe symlink(target, path) }
  }

  private func flipByte(of path: String) throws {
    let file = try FileDescriptor.open(path, .readWrite)
    var byte: [UInt8] = []
    try file.read(upTo: 1, at: ByteCount(40), into: &byte)
    byte[0] ^= 1
    try file.write(byte.span, at: ByteCount(40))
  }

  private func damage(manifestOf generation: String) throws {
    let bytes: [UInt8] = [0x7B]
    try DurableFile.write(bytes.span, to: "\(directory.path)/\(generation)/\(BackupManifest.fileName)")
  }

  private func expectWhole(_ generation: String) throws {
    let report = try StateCheck(state: "\(directory.path)/\(generation)").run()
    #expect(report.isWhole, "\(report)")
  }

  @Test(
    "without links a package that is damaged or cannot be read in the state is taken from the generation before",
    arguments: [false, true])
  func withoutLinks(isUnreadable: Bool) async throws {
    let content = Array(Self.bytes.prefix(1000))
    let digests = try await publish(["com.example.issue1": content])
    _ = try backUp()
    let digest = try #require(digests.values.first)
    let package = path(of: digest, in: state)
    if isUnreadable { try putLink(at: package, length: 1000) } else { try flipByte(of: package) }
    for number in [EPERM, EXDEV] {
      let outcome = try backUp(FaultyFileOperations(failing: .link, number: number))
      #expect(outcome.manifest.absent.isEmpty)
      #expect((outcome.linked, outcome.copied) == (0, 1))
      try expectWhole(outcome.generation)
    }
  }

  @Test("a package that neither the state nor the generation before has whole is named as the state has it")
  func nowhere() async throws {
    let digests = try await publish()
    let digest = try #require(digests.values.first)
    let first = try backUp()
    try flipByte(of: path(of: digest, in: state))
    try flipByte(of: path(of: digest, in: "\(directory.path)/\(first.generation)"))
    let outcome = try backUp(FaultyFileOperations(failing: .link, number: EPERM))
    #expect(outcome.manifest.absent == [.init(digest: digest, fault: .damaged)])
    #expect(outcome.manifest.packages.isEmpty)
  }

  @Test("a package that cannot be read in the state is damaged, and all others are backed up")
  func unreadable() async throws {
    let digests = try await publish([
      "com.example.issue1": Self.bytes, Self.other: Self.bytes + [1],
    ])
    let (digest, other) = (
      try #require(digests["com.example.issue1"]), try #require(digests[Self.other])
    )
    let package = path(of: digest, in: state)
    for isLink in [true, false] {
      if isLink {
        try putLink(at: package, length: 100)
      } else {
        try FileSystem.removeFile(package)
        try FileSystem.createDirectory(package)
      }
      let outcome = try Backup(state: state, directory: BackupDirectory(place.path("none-\(isLink)"))).run()
      #expect(outcome.manifest.absent == [.init(digest: digest, fault: .damaged)])
      #expect(outcome.manifest.packages.map(\.digest) == [other])
    }
  }

  @Test(
    "a device that gives no byte of a package back makes it damaged; one that takes none ends the backup")
  func devices() async throws {
    let digests = try await publish()
    let digest = try #require(digests.values.first)
    let reading = FaultyFileOperations()
    reading.answer { call, subject in call == .read && subject.isEmpty ? EIO : nil }
    let outcome = try backUp(reading)
    #expect(outcome.manifest.absent == [.init(digest: digest, fault: .damaged)])
    try directory.remove(outcome.generation)

    let writing = FaultyFileOperations()
    // Nothing is written where the file system lets two files share their bytes.
    writing.answer { call, _ in call == .clone ? EOPNOTSUPP : nil }
    writing.failWrites(of: .mebibytes(1))
    let error = #expect(throws: BlobStoreError.self) { try backUp(writing) }
    #expect(error?.code == .inputOutput)
    #expect(try directory.generations().isEmpty)
  }

  @Test("a repair passes over a generation whose package cannot be read", arguments: [false, true])
  func repair(isLink: Bool) async throws {
    let digests = try await publish()
    let digest = try #require(digests.values.first)
    let first = try backUp()
    let second = try backUp()
    #expect(try directory.generations().map(\.name) == [second.generation, first.generation])
    let newest = path(of: digest, in: "\(directory.path)/\(second.generation)")
    if isLink {
      try putLink(at: newest, length: 100)
    } else {
      try FileSystem.removeFile(newest)
      try FileSystem.createDirectory(newest)
    }
    try FileSystem.removeFile(path(of: digest, in: state))
    let repair = PackageRepair(state: state, directory: directory)
    #expect(try repair.repair(digest))
    #expect(try BlobDirectory(state).isWhole(digest))
  }

  @Test("a generation whose manifest is damaged is passed over and named, and the one before is linked to")
  func damagedManifest() async throws {
    try await publish()
    let first = try backUp()
    let second = try backUp()
    try damage(manifestOf: second.generation)
    let third = try backUp()
    #expect((third.linked, third.copied) == (1, 0))
    #expect(third.passedOver.count == 1)
    #expect(third.passedOver.first?.hasPrefix("\(directory.path)/\(second.generation)/backup.json") == true)
    try expectWhole(third.generation)

    for generation in [first.generation, third.generation] { try damage(manifestOf: generation) }
    let fourth = try backUp()
    #expect((fourth.linked, fourth.copied) == (0, 1))
    #expect(fourth.passedOver.count == 3)
    try expectWhole(fourth.generation)
    #expect(try backUp().passedOver.isEmpty)
  }

  @Test("of a number of generations to keep, one that cannot be read is none")
  func damagedAmongKept() async throws {
    try await publish()
    let first = try backUp()
    let second = try backUp()
    try damage(manifestOf: second.generation)
    #expect(try backUp(keep: 2).removed.isEmpty)
    try expectWhole(first.generation)
  }
}
