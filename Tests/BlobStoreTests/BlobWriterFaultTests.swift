import BlobStore
import CoreTypes
import Crypto
import Files
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@Suite struct BlobWriterFaultTests {
  private let directory: TemporaryDirectory
  private let limit = ByteCount.mebibytes(1)
  private let content = Array("the bytes of an issue".utf8)

  init() throws {
    directory = try TemporaryDirectory()
  }

  private func open(_ operations: FaultyFileOperations) throws -> BlobStore {
    try BlobStore.open(directory: directory.path, reserve: .zero, operations: operations)
  }

  @Test(
    "whatever step of a commit fails, nothing is visible, and the commit can be repeated",
    arguments: [FaultyFileOperations.Step.synchronize, .rename, .synchronizeDirectory])
  func commit(step: FaultyFileOperations.Step) async throws {
    let operations = FaultyFileOperations(failing: nil)
    let store = try open(operations)
    let incoming = try await store.begin("a", expectedLength: nil, limit: limit)
    try await incoming.append(content, at: .zero)
    operations.fail(step)
    let error = await #expect(throws: BlobStoreError.self) { _ = try await incoming.commit() }
    #expect(error?.code == .inputOutput)
    #expect(try await store.list().isEmpty)
    operations.fail(nil)
    let digest = try await incoming.commit().digest
    #expect(try await store.list().keys.map(\.self) == [digest])
  }

  @Test("after a commit that failed another process can resume and commit") func resumeAfterFailure()
    async throws
  {
    let operations = FaultyFileOperations(failing: nil)
    do {
      let incoming = try await open(operations).begin("a", expectedLength: nil, limit: limit)
      try await incoming.append(content, at: .zero)
      operations.fail(.synchronizeDirectory)
      await #expect(throws: BlobStoreError.self) { _ = try await incoming.commit() }
    }
    operations.fail(nil)
    let incoming = try await open(operations).resume("a", limit: limit)
    #expect(try await incoming.commit().digest == SHA256Digest.of(content))
  }

  @Test("a device that fills up adds nothing; with space made the same bytes are accepted") func outOfSpace()
    async throws
  {
    let operations = FaultyFileOperations(failing: nil, number: ENOSPC)
    let incoming = try await open(operations).begin("a", expectedLength: nil, limit: limit)
    try await incoming.append([1, 2, 3], at: .zero)
    operations.fail(.write)
    let error = await #expect(throws: BlobStoreError.self) {
      try await incoming.append(content, at: ByteCount(3))
    }
    #expect(error?.code == .outOfSpace)
    #expect(await incoming.offset == ByteCount(3))
    #expect(try FileSystem.status(of: directory.path("incoming/a"))?.length == ByteCount(3))
    operations.fail(nil)
    try await incoming.append(content, at: ByteCount(3))
    #expect(try await incoming.commit().digest == SHA256Digest.of([1, 2, 3] + content))
  }

  @Test(
    "a file whose beginning fails is not there",
    arguments: [FaultyFileOperations.Step.create, .write, .synchronize, .rename, .synchronizeDirectory])
  func begin(step: FaultyFileOperations.Step) async throws {
    let store = try open(FaultyFileOperations(failing: step))
    await #expect(throws: BlobStoreError.self) {
      _ = try await store.begin("a", expectedLength: nil, limit: limit)
    }
    #expect(try FileSystem.list(directory.path("incoming")) == [])
  }

  @Test("bytes committed by a process that was killed before its last sync are synced by the next")
  func killedCommit()
    async throws
  {
    let operations = FaultyFileOperations(failing: nil)
    let store = try open(operations)
    for identifier in ["a", "b"] {
      let incoming = try await store.begin(identifier, expectedLength: nil, limit: limit)
      try await incoming.append(content, at: .zero)
      _ = try await incoming.commit()
    }
    // The second takes the place of the first: a file that has the name may have been damaged since.
    #expect(
      operations.steps.suffix(6)
        == [.synchronize, .rename, .status, .rename, .synchronizeDirectory, .remove])
  }
}
