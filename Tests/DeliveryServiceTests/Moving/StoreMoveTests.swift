import BlobStore
import CoreTypes
import Crypto
import Database
import DeliveryRecords
import DeliveryTesting
import Files
import Glibc
import HTTPClient
import HTTPServer
import ObjectStore
import PostgreSQLEngine
import PullboxAPI
import PullboxTesting
import RecordTransfer
import ServiceAPI
import ServiceRuntime
import StorageTesting
import Synchronization
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import DeliveryService

/// docs/moving.md: packages go into an object store and out of one, beside the server; at every moment one place is the good one.
@Suite(
  "Moving packages into an object store and back", .enabled(if: !TestDatabase.isOnServer),
  .timeLimit(.minutes(5)))
struct StoreMoveTests {
  private let bytes = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  private let directory: TemporaryDirectory
  private let tested: TestedStore
  private let memory: FakeObjectStore

  init() throws {
    directory = try TemporaryDirectory()
    tested = try TestedStore()
    memory = try #require(tested.memory)
  }

  private func local(_ name: String = "state") throws -> StatePlace {
    try FileSystem.createDirectories(directory.path(name))
    return StatePlace(directory: directory.path(name))
  }

  private func remote(_ name: String = "state") throws -> StatePlace {
    var place = try local(name)
    place.store = try tested.place
    return place
  }

  /// A command has a thread of its own.
  @discardableResult
  private func move(
    _ source: StatePlace, _ target: StatePlace, packagesOnly: Bool = false,
    operations: any FileOperations = SystemFileOperations()
  ) async throws -> Move.Outcome {
    try await BlockingPool.shared.run {
      var move = Move(source: source, target: target)
      move.operations = operations
      return try move.run(packagesOnly: packagesOnly)
    }
  }

  private func options(cache: TemporaryDirectory) -> [String] {
    tested.options + ["--cache-directory", cache.path]
  }

  private func package(_ bytes: [UInt8]) -> String {
    let name = SHA256Digest.of(bytes).hexadecimal
    return "packages/\(name.prefix(2))/\(name.dropFirst(2))"
  }

  /// Why no server starts there; nil where one does.
  private func refusal(_ options: [String]) async throws -> String? {
    do {
      try await ServerHarness.run(options: options, in: directory) { _ in }
      return nil
    } catch let error as StateDirectoryError {
      return error.message
    }
  }

  @Test("a server with a file goes on with its packages in the store, and with its directory again")
  func thereAndBack() async throws {
    let granted = Mutex<GrantResponse?>(nil)
    try await ServerHarness.run(in: directory) { server in
      try await server.publish(bytes)
      let grant = try await server.grantForPurchase()
      granted.withLock { $0 = grant }
      let only = try await move(local(), remote(), packagesOnly: true)
      #expect(!only.isComplete)
      #expect(only.packages == PackageMove.Outcome(copied: 1))
      #expect(memory.objects[package(bytes)]?.hasSameBytes(as: bytes) == true)
      try await server.publish(bytes + [1], as: "com.example.second")
      let error = await #expect(throws: StateCareError.self) { try await move(local(), remote()) }
      #expect(error?.code == .inUse)
    }
    #expect(try await refusal([]) == nil)
    let there = try await move(local(), remote())
    #expect(there.isComplete && there.keepsRecords && there.tables == nil)
    #expect(there.packages == PackageMove.Outcome(present: 2))
    #expect(MoveReport(there, took: .seconds(1)).lines.first == "0 packages copied, 2 were there")
    #expect(try await refusal([])?.contains("its packages were moved to s3://comics/production") == true)
    let grant = try #require(granted.withLock { $0 })
    let cache = try TemporaryDirectory()
    try await ServerHarness.run(options: options(cache: cache), in: directory) { server in
      #expect(try await server.fetch(grant).body.hasSameBytes(as: bytes))
      try await server.publish(bytes + [2], as: "com.example.third")
    }
    // The same command again changes nothing.
    #expect(try await move(local(), remote()).isComplete)
    let back = try await move(remote(), local())
    #expect(back.isComplete)
    #expect(back.packages == PackageMove.Outcome(copied: 1, present: 2))
    let otherCache = try TemporaryDirectory()
    #expect(try await refusal(options(cache: otherCache))?.contains("'packages' has to go") == true)
    try await ServerHarness.run(in: directory) { server async throws in
      #expect(try await server.fetch(grant).body == bytes)
      #expect(try BlobDirectory(server.configuration.state).list().count == 3)
    }
    await memory.stop()
  }

  @Test(
    "records move to another directory with packages in the store, and back, where those of both places differ"
  )
  func withRecords() async throws {
    let state = try SampleState(try local("old").directory)
    let before = try SampleState.digests(state.path + "/server.db")
    let lost = try SampleState.lost(state.path + "/server.db")
    #expect(lost.count == 2)
    let there = try await move(local("old"), remote("new"))
    #expect(there.isComplete && !there.keepsRecords)
    #expect(memory.objects[package(SampleState.bytes)] == SampleState.bytes)
    var moved = try SampleState.digests(directory.path("new/server.db"))
    // The installation was given its name on the way.
    #expect(moved.removeValue(forKey: "installation")?.rows == 1)
    var expected = before
    expected["installation"] = nil
    #expect(moved == expected)
    #expect(throws: StateDirectoryError.self) { try MoveMark.refuse(in: state.path) }
    #expect(try FileSystem.status(of: state.path + "/installation.json") == nil)
    let back = try await move(remote("new"), local("old"))
    #expect(back.isComplete)
    #expect(back.packages == PackageMove.Outcome(present: 1, damaged: lost))
    await memory.stop()
  }

  @Test("packages go from one store to another, with nothing left on the way")
  func betweenStores() async throws {
    let state = try SampleState(try local().directory)
    let lost = try SampleState.lost(state.path + "/server.db")
    try await move(local(), remote())
    let other = try TestedStore()
    var target = try local()
    target.store = try other.place
    let outcome = try await move(remote(), target)
    #expect(outcome.packages == PackageMove.Outcome(copied: 1, damaged: lost))
    #expect(other.memory?.objects[package(SampleState.bytes)] == SampleState.bytes)
    #expect(try FileSystem.status(of: target.directory + "/moving") == nil)
    await memory.stop()
    await other.memory?.stop()
  }

  @Test(
    "another installation's bucket, and one with packages of no installation, are refused before anything is written there"
  )
  func otherBucket() async throws {
    let state = try SampleState(try local().directory)
    for objects in [
      ["pullbox.json": Array(#"{"installation":"another"}"#.utf8)],
      ["packages/ab/\(String(repeating: "0", count: 62))": [1]],
    ] as [[String: [UInt8]]] {
      memory.objects = objects
      let error = await #expect(throws: ConfigurationError.self) { try await move(local(), remote()) }
      #expect(error?.subject == "packages")
      #expect(memory.objects == objects)
      #expect(try PackagesMark.read(in: state.path) == nil)
    }
    // What is wrong with the store is told by its setting.
    memory.refuse { _ in .forbidden }
    let denied = await #expect(throws: ConfigurationError.self) { try await move(local(), remote()) }
    #expect(denied?.subject == "s3.accessKeyFile")
    await memory.stop()
  }

  @Test(
    "a package that is damaged in the directory, or that the store lacks or has with other bytes, is named; everything else moves"
  )
  func damaged() async throws {
    let state = try SampleState(try local().directory)
    let lost = try SampleState.lost(state.path + "/server.db")
    let digest = SHA256Digest.of(SampleState.bytes)
    let file = try FileDescriptor.open(SampleState.package(in: state.path), .readWrite)
    let wrong: [UInt8] = [0xFF]
    try file.write(wrong.span, at: ByteCount(7))
    #expect(try await move(local(), remote()).packages?.damaged == [digest])
    #expect(memory.objects[package(SampleState.bytes)] == nil)
    // The directory has nothing of that digest.
    var other = SampleState.bytes
    other[9] ^= 1
    memory.objects[package(SampleState.bytes)] = other
    try FileSystem.createDirectories(directory.path("new"))
    let damaged = try await move(remote(), local("new")).packages?.damaged
    #expect(Set(damaged ?? []) == Set(lost + [digest]))
    await memory.stop()
  }

  @Test("a version's package that the store has lost is named")
  func lost() async throws {
    let digest = Mutex<SHA256Digest?>(nil)
    let cache = try TemporaryDirectory()
    try await ServerHarness.run(options: options(cache: cache), in: directory) { server in
      let record = try await server.publish(bytes)
      digest.withLock { $0 = record.digest }
    }
    memory.objects[package(bytes)] = nil
    let outcome = try await move(remote(), local())
    #expect(outcome.isComplete)
    let missing = try #require(digest.withLock { $0 })
    #expect(outcome.packages?.damaged == [missing])
    await memory.stop()
  }

  @Test(
    "a death at whatever call of files or of the store leaves the old place, and the move goes on when it is given again"
  )
  func faults() async throws {
    for isBack in [false, true] {
      let trial = FaultyFileOperations()
      let (source, target) = try await places("trial\(isBack)", isBack: isBack)
      _ = memory.takeCalls()
      _ = try await move(source, target, operations: trial)
      let calls = memory.takeCalls().count
      let looks: Set<FileCall> = [.status, .list, .open]
      let changes = trial.steps.indices.filter { !looks.contains(trial.steps[$0]) }
      #expect(changes.count > 3 && calls > 3)
      for point in changes.map({ (file: Optional($0), call: 0) }) + (0..<calls).map({ (file: nil, call: $0) })
      {
        let name = "state-\(isBack)-\(point.file ?? -1)-\(point.call)"
        let (source, target) = try await places(name, isBack: isBack)
        let operations = FaultyFileOperations()
        if let index = point.file {
          operations.die(at: index)
        } else {
          let made = Mutex(0)
          memory.refuse { _ in
            made.withLock { made in
              made += 1
              return made > point.call ? .forbidden : nil
            }
          }
        }
        _ = try? await move(source, target, operations: operations)
        memory.refuse { _ in nil }
        let isMoved = isRefused(source)
        #expect(isMoved != isRefused(target), "after \(point)")
        if isMoved { #expect(try await has(target)) } else { #expect(try await has(source)) }
        #expect(try await move(source, target).isComplete)
        #expect(isRefused(source) && !isRefused(target))
        #expect(try await has(target))
        #expect(try FileSystem.status(of: target.directory + "/installation.json") == nil)
        try FileSystem.removeRecursively(directory.path(name))
      }
    }
    await memory.stop()
  }

  /// A state whose package lies in its directory, or in an empty store, and the same with the package elsewhere.
  private func places(_ name: String, isBack: Bool) async throws -> (source: StatePlace, target: StatePlace) {
    memory.objects = [:]
    let state = try SampleState(try local(name).directory)
    guard isBack else { return (try local(name), try remote(name)) }
    try await move(local(name), remote(name))
    try FileSystem.removeFile(SampleState.package(in: state.path))
    return (try remote(name), try local(name))
  }

  private func isRefused(_ place: StatePlace) -> Bool {
    do {
      // A place that was never moved is refused by no mark: the target of a first move is none before.
      if try PackagesMark.read(in: place.directory) == nil { return place.store != nil }
      try PackagesMark.refuse(in: place.directory, unless: place.store)
      return false
    } catch { return true }
  }

  private func has(_ place: StatePlace) async throws -> Bool {
    try await BlockingPool.shared.run {
      try PlacedPackages(of: place).isWhole(.of(SampleState.bytes), didRead: { _ in })
    }
  }
}
