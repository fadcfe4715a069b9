import BlobStore
import CoreTypes
import Crypto
import Files
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@Suite("Blobs beside the process that has the store open")
struct BlobDirectoryTests {
  private let directory: TemporaryDirectory
  private let store: BlobStore
  private static let content = (0..<2_500_000).map { UInt8(truncatingIfNeeded: $0 &* 13) }
  private let content = Self.content
  private var digest: SHA256Digest { .of(content) }

  init() throws {
    directory = try TemporaryDirectory()
    store = try BlobStore.open(directory: directory.path("state"), reserve: .zero)
  }

  private func put(_ bytes: [UInt8], as identifier: String = "a") async throws {
    let incoming = try await store.begin(identifier, expectedLength: nil, limit: .mebibytes(8))
    try await incoming.append(bytes, at: .zero)
    _ = try await incoming.commit()
  }

  private func path(of digest: SHA256Digest, in name: String) -> String {
    let text = digest.hexadecimal
    return directory.path("\(name)/blobs/\(text.prefix(2))/\(text.dropFirst(2))")
  }

  private func flip(_ path: String) throws {
    let file = try FileDescriptor.open(path, .readWrite)
    let byte: [UInt8] = [content[1_500_000] ^ 1]
    try file.write(byte.span, at: ByteCount(1_500_000))
  }

  private func blobs(_ name: String, _ operations: any FileOperations = SystemFileOperations())
    -> BlobDirectory
  {
    BlobDirectory(directory.path(name), operations: operations)
  }

  @Test("a copy has the bytes, a file of its own, and permissions for its owner alone")
  func copies() async throws {
    try await put(content)
    try blobs("copy").copy(digest, from: blobs("state"))
    #expect(try blobs("copy").list() == [digest: ByteCount(content.count)])
    #expect(try blobs("copy").isWhole(digest))
    let (original, copy) = (
      try #require(try FileSystem.status(of: path(of: digest, in: "state"))),
      try #require(try FileSystem.status(of: path(of: digest, in: "copy")))
    )
    #expect(original.inode != copy.inode)
    #expect(copy.permissions == 0o600)
    try flip(path(of: digest, in: "state"))
    #expect(try blobs("copy").isWhole(digest))
    #expect(try !blobs("state").isWhole(digest))
  }

  @Test("bytes that are not those of their name are not copied, and what was there stays")
  func refusesDamage() async throws {
    try await put(content)
    try blobs("copy").copy(digest, from: blobs("state"))
    try flip(path(of: digest, in: "state"))
    let error = #expect(throws: BlobStoreError.self) {
      try blobs("copy").copy(digest, from: blobs("state"))
    }
    #expect(error?.code == .digestMismatch)
    #expect(try blobs("copy").isWhole(digest))
    let other = #expect(throws: BlobStoreError.self) {
      try blobs("other").copy(digest, from: blobs("state"))
    }
    #expect(other?.code == .digestMismatch)
    #expect(try blobs("other").list().isEmpty)
    let missing = #expect(throws: BlobStoreError.self) {
      try blobs("other").copy(.of([1]), from: blobs("state"))
    }
    #expect(missing?.code == .notFound)
    for error in [error, other, missing] { #expect(error?.isOfSource == true) }
  }

  @Test(
    "a blob that its device does not give back is unreadable, and nothing is there; another may be copied")
  func unreadable() async throws {
    try await put(content)
    for number in [EIO, EBADMSG, EUCLEAN, EACCES] {
      let operations = FaultyFileOperations(failing: .read, number: number)
      let error = #expect(throws: BlobStoreError.self) {
        try blobs("copy", operations).copy(digest, from: blobs("state"))
      }
      #expect(error?.code == .unreadable && error?.isOfSource == true)
      #expect(error?.cause?.number == number)
      #expect(try blobs("copy").list().isEmpty)
      let whole = #expect(throws: BlobStoreError.self) { _ = try blobs("state", operations).isWhole(digest) }
      #expect(whole?.code == .unreadable)
    }
    try blobs("copy").copy(digest, from: blobs("state"))
    #expect(try blobs("copy").isWhole(digest))
  }

  @Test("a link, a directory or a pipe in a blob's place is unreadable, without a wait for the pipe's writer")
  func noFile() async throws {
    try await put(content)
    let places = (0..<3).map { path(of: .of([UInt8($0)]), in: "state") }
    for place in places { try FileSystem.createDirectories(FileSystem.parent(of: place)) }
    let target = path(of: digest, in: "state")
    try SystemCall.run("symlink") { unsafe symlink(target, places[0]) }
    try FileSystem.createDirectory(places[1])
    try SystemCall.run("mkfifo") { unsafe mkfifo(places[2], 0o600) }
    for number in 0..<3 {
      let digest = SHA256Digest.of([UInt8(number)])
      let error = #expect(throws: BlobStoreError.self) {
        try blobs("copy").copy(digest, from: blobs("state"))
      }
      #expect(error?.code == .unreadable && error?.isOfSource == true, "\(number)")
    }
  }

  @Test(
    "a device that takes no copy is not the fault of the blob",
    arguments: [.makeDirectory, .create, .write, .rename] as [FileCall])
  func unwritable(call: FileCall) async throws {
    try await put(content)
    let operations = FaultyFileOperations()
    // Nothing is written where the file system lets two files share their bytes.
    operations.answer { made, _ in made == call ? EIO : made == .clone ? EOPNOTSUPP : nil }
    let error = #expect(throws: BlobStoreError.self) {
      try blobs("copy", operations).copy(digest, from: blobs("state"))
    }
    #expect(error?.code == .inputOutput && error?.isOfSource == false)
  }

  @Test("where bytes cannot be shared since a device fails, they are copied")
  func failedClone() async throws {
    try await put(content)
    try blobs("copy", FaultyFileOperations(failing: .clone)).copy(digest, from: blobs("state"))
    #expect(try blobs("copy").isWhole(digest))
  }

  @Test("a link is the same file; where the file system has none, it says so and makes nothing")
  func links() async throws {
    try await put(content)
    #expect(try blobs("copy").link(digest, from: blobs("state")))
    #expect(
      try FileSystem.status(of: path(of: digest, in: "copy"))?.inode
        == FileSystem.status(of: path(of: digest, in: "state"))?.inode)
    for number in [EPERM, EXDEV, EMLINK] {
      let operations = FaultyFileOperations(failing: .link, number: number)
      #expect(try !blobs("none", operations).link(digest, from: blobs("state")))
      #expect(try blobs("none").list().isEmpty)
    }
  }

  @Test("a full disk, at whatever call, leaves nothing under the digest, and the copy can be made again")
  func fullDisk() async throws {
    try await put(content)
    let trial = FaultyFileOperations()
    try blobs("trial", trial).copy(digest, from: blobs("state"), synchronizing: true)
    #expect(trial.steps.count > 8)
    for index in trial.steps.indices {
      let name = "full-\(index)"
      let operations = FaultyFileOperations()
      operations.fail(call: index, number: ENOSPC)
      let error = #expect(throws: BlobStoreError.self) {
        try blobs(name, operations).copy(digest, from: blobs("state"), synchronizing: true)
      }
      // A file that a clone that failed leaves, and that cannot be removed, is in the way of the copy.
      #expect(error?.code == .outOfSpace || trial.steps[index] == .remove, "\(trial.steps[index])")
      // Only where the directory could not be synced is it there already, and whole.
      if let length = try blobs(name).list()[digest] {
        #expect(length == ByteCount(content.count))
        #expect(trial.steps[index] == .synchronizeDirectory)
      }
      try blobs(name).copy(digest, from: blobs("state"), synchronizing: true)
      #expect(try blobs(name).isWhole(digest))
    }
  }

  @Test("nothing is removed from a store while removals are held, by any process, and everything afterwards")
  func holds() async throws {
    try await put(content)
    do {
      let hold = try blobs("state").holdRemovals()
      let error = await #expect(throws: BlobStoreError.self) { try await store.remove(digest) }
      #expect(error?.code == .inUse)
      // Bytes come as ever, also in the place of others.
      try await put(content, as: "again")
      try await put([1, 2, 3], as: "other")
      withExtendedLifetime(hold) {}
    }
    #expect(try await store.list().count == 2)
    #expect(try await store.remove(digest))
    // Removals do not hold off one another.
    try await put(content)
    try await withThrowingTaskGroup { group in
      for digest in [digest, .of([1, 2, 3])] { group.addTask { _ = try await store.remove(digest) } }
      try await group.waitForAll()
    }
    #expect(try await store.list().isEmpty)
  }
}
