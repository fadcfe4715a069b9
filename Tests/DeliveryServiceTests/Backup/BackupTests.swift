import BlobStore
import CoreTypes
import Crypto
import Database
import DeliveryTesting
import Files
import Glibc
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import ServiceRuntime
import Synchronization
import SystemCalls
import Testing

@testable import ContentDelivery
@testable import ContentPublishing
@testable import DeliveryService

@Suite("Backups of a server's state", .enabled(if: !TestDatabase.isOnServer))
struct BackupTests {
  private static let bytes = (0..<1_500_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  private let bytes = Self.bytes

  private func backup(
    _ state: String, to directory: BackupDirectory, keep: Int? = nil
  ) async throws -> Backup.Outcome {
    try await BlockingPool.shared.run {
      var backup = Backup(state: state, directory: directory)
      backup.keep = keep
      return try backup.run()
    }
  }

  private func isWhole(_ path: String) throws -> Bool {
    let report = try StateCheck(state: path).run()
    #expect(report.isWhole, "\(report)")
    return report.isWhole
  }

  private func inode(_ digest: SHA256Digest, in directory: String) throws -> UInt64? {
    let name = digest.hexadecimal
    return try FileSystem.status(of: "\(directory)/blobs/\(name.prefix(2))/\(name.dropFirst(2))")?.inode
  }

  /// A state directory of a server that was stopped, with one released product.
  private func state(in directory: TemporaryDirectory) async throws -> String {
    let path = Mutex("")
    try await ServerHarness.run(in: directory) { server in
      try await server.publish(bytes)
      path.withLock { $0 = server.configuration.state }
    }
    return path.withLock { $0 }
  }

  @Test("what did not change is linked to the generation before, and nothing to the state; the oldest go")
  func generations() async throws {
    try await ServerHarness.run { server in
      let first = try await server.publish(bytes)
      let directory = BackupDirectory(server.directory.path("backups"))
      let one = try await backup(server.configuration.state, to: directory)
      #expect(one.copied == 1)
      let second = try await server.publish(bytes + [1], as: "com.example.second")
      let two = try await backup(server.configuration.state, to: directory)
      #expect((two.linked, two.copied) == (1, 1))
      let paths = try directory.generations().map(\.path)
      #expect(paths.map { FileSystem.lastPart(of: $0) } == [two.generation, one.generation])
      #expect(try inode(first.digest, in: paths[0]) == inode(first.digest, in: paths[1]))
      #expect(try inode(first.digest, in: paths[0]) != inode(first.digest, in: server.configuration.state))
      #expect(try inode(second.digest, in: paths[1]) == nil)
      for path in paths {
        #expect(try isWhole(path))
        for name in ["server.db", "ticket-keys.json", "backup.json"] {
          #expect(try FileSystem.status(of: "\(path)/\(name)")?.permissions == 0o600)
        }
      }
      let three = try await backup(server.configuration.state, to: directory, keep: 2)
      #expect(three.removed == [one.generation])
      #expect(try directory.generations().map(\.name) == [three.generation, two.generation])
      #expect(try isWhole(try directory.generation(nil).path))
    }
  }

  @Test(
    "a backup taken while devices, publishers and garbage collection are at work has all that its records have"
  )
  func load() async throws {
    let options = ["--collect-withdrawn", "--gc-grace", "0", "--upload-lifetime", "1s"]
    try await ServerHarness.run(options: options) { server in
      try await server.publish(bytes)
      let directory = BackupDirectory(server.directory.path("backups"))
      let work = Work()
      try await withThrowingTaskGroup { group in
        group.addTask {
          var number = 0
          while !work.isDone.withLock({ $0 }) {
            number += 1
            let product = "com.example.brief\(number)"
            let content = bytes.prefix(300_000) + [UInt8(truncatingIfNeeded: number), 9]
            // Its upload may expire in the middle: the clock makes leaps.
            do {
              try await server.publish(Array(content), as: product)
              _ = try await server.operatorAPI.call(
                "POST", "/v1/operator/products/\(product)/versions/1.0/withdraw", body: ReasonBody(),
                as: VersionRecord.self)
            } catch is APICallError {}
          }
        }
        group.addTask {
          while !work.isDone.withLock({ $0 }) {
            server.clock.advance(by: .seconds(2))
            let report = try await server.server.collector.run(isDryRun: false, by: "ada")
            work.collected.withLock { $0 += report.blobs.count }
          }
        }
        group.addTask {
          var number = 0
          while !work.isDone.withLock({ $0 }) {
            number += 1
            let receipt = try server.store.receipt(
              of: [server.purchase(id: "\(number)")], device: server.device.id)
            let grant = try await server.grant(receipt: receipt).value
            #expect(try await server.fetch(grant).body == bytes)
          }
        }
        for _ in 0..<6 {
          let outcome = try await backup(server.configuration.state, to: directory)
          #expect(outcome.manifest.absent.isEmpty)
        }
        // The race was one.
        while work.collected.withLock({ $0 }) == 0 { await Task.yield() }
        work.isDone.withLock { $0 = true }
        try await group.waitForAll()
      }
      #expect(try directory.generations().count == 6)
      for generation in try directory.generations() {
        #expect(try isWhole(generation.path))
        let packages = Set(try generation.manifest().packages.map(\.digest))
        let needs = try Database.inspect(generation.path + "/server.db") { try PackageNeed.all(in: $0) }
        #expect(needs.filter(\.value.isRequired).allSatisfy { packages.contains($0.key) })
      }
    }
  }

  @Test(
    "a full disk, and a death, at whatever call leave the earlier generations whole and add none that is not")
  func faults() async throws {
    let place = try TemporaryDirectory()
    let state = try await state(in: place)
    let directory = BackupDirectory(place.path("backups"))
    let first = try Backup(state: state, directory: directory).run().generation
    let trial = FaultyFileOperations()
    _ = try Backup(state: state, directory: BackupDirectory(directory.path, operations: trial)).run()
    #expect(trial.steps.count > 20)
    for index in trial.steps.indices {
      for dies in [false, true] {
        for name in try directory.generations().map(\.name) where name != first { try directory.remove(name) }
        let operations = FaultyFileOperations()
        if dies { operations.die(at: index) } else { operations.fail(call: index, number: ENOSPC) }
        let error = #expect(throws: (any Error).self) {
          try Backup(state: state, directory: BackupDirectory(directory.path, operations: operations)).run()
        }
        let (step, context) = (trial.steps[index], "call \(index), \(trial.steps[index])")
        if !dies { #expect(error.map { ExitCode.of($0) } == .noSpace, "\(context)") }
        let generations = try directory.generations()
        // All but the sync of the last name, after which it is there.
        #expect(generations.count == 1 || step == .synchronizeDirectory, "\(context)")
        for generation in generations { #expect(try isWhole(generation.path)) }
        let hidden = { try FileSystem.list(directory.path).filter { $0.name.hasPrefix(".") }.map(\.name) }
        // A process that lives cleans up behind itself; for one that died, the next backup does.
        if !dies { #expect(try hidden() == [".lock"], "\(context)") }
        try directory.removeLeftovers()
        #expect(try hidden() == [".lock"])
      }
    }
    #expect(try Backup(state: state, directory: directory).run().linked == 1)
  }

  @Test(
    "after a full disk, and a death, at whatever call, also while the oldest generation goes, the next backup is made and leaves nothing else"
  )
  func nextBackup() async throws {
    let place = try TemporaryDirectory()
    let state = try await state(in: place)
    let directory = BackupDirectory(place.path("backups"))
    func backUp(_ operations: any FileOperations) throws -> Backup.Outcome {
      let target = BackupDirectory(directory.path, operations: operations)
      return try Backup(state: state, directory: target, keep: 1).run()
    }
    var known = try backUp(SystemFileOperations()).generation
    var (index, isOver) = (0, false)
    while !isOver {
      for dies in [false, true] {
        let operations = FaultyFileOperations()
        if dies { operations.die(at: index) } else { operations.fail(call: index, number: ENOSPC) }
        let made = try? backUp(operations)
        // No call was left to fail.
        if made != nil, operations.failures == 0 { isOver = true }
        let context = "call \(index), \(dies ? "a death" : "a full disk")"
        let generations = try directory.generations()
        // The one before goes only once the new one is there.
        #expect(generations.last?.name == known || generations.count == 1, "\(context)")
        #expect(generations.count <= 2, "\(context)")
        for generation in generations { #expect(try isWhole(generation.path), "\(context)") }

        let next = try backUp(SystemFileOperations())
        #expect(next.linked == 1, "\(context)")
        let names = try FileSystem.list(directory.path).map(\.name)
        #expect(Set(names) == [".lock", next.generation], "\(context)")
        #expect(try isWhole(try directory.generation(nil).path), "\(context)")
        known = next.generation
      }
      index += 1
    }
    #expect(index > 20)
  }

  @Test("a package that is missing or damaged in the state is taken from the generation before, else named")
  func damagedState() async throws {
    try await ServerHarness.run { server in
      let record = try await server.publish(bytes)
      let name = record.digest.hexadecimal
      let path = "\(server.configuration.state)/blobs/\(name.prefix(2))/\(name.dropFirst(2))"
      let first = BackupDirectory(server.directory.path("first"))
      _ = try await backup(server.configuration.state, to: first)
      try FileDescriptor.open(path, .readWrite).truncate(to: ByteCount(5))
      #expect(try await backup(server.configuration.state, to: first).manifest.absent.isEmpty)
      #expect(try isWhole(try first.generation(nil).path))
      for fault in [PackageFault.damaged, .missing] {
        if fault == .missing { try FileSystem.removeFile(path) }
        let none = BackupDirectory(server.directory.path("none-\(fault.rawValue)"))
        let manifest = try await backup(server.configuration.state, to: none).manifest
        #expect(manifest.absent == [.init(digest: record.digest, fault: fault)])
        #expect(manifest.packages.isEmpty)
      }
    }
  }

  @Test("two backups do not write to one directory at a time, and no state is no backup")
  func refusals() async throws {
    let place = try TemporaryDirectory()
    let state = try await state(in: place)
    let directory = BackupDirectory(place.path("backups"))
    do {
      guard let lock = try directory.claim() else {
        Issue.record("no process holds it")
        return
      }
      let error = #expect(throws: StateCareError.self) {
        try Backup(state: state, directory: directory).run()
      }
      #expect(error?.code == .inUse)
      withExtendedLifetime(lock) {}
    }
    let error = #expect(throws: StateCareError.self) {
      try Backup(state: place.path("nothing"), directory: directory).run()
    }
    #expect(error?.code == .noState)
    #expect(try directory.generations().isEmpty)
  }

  @Test("a damaged database is not backed up over the good ones")
  func damagedDatabase() async throws {
    let place = try TemporaryDirectory()
    let state = try await state(in: place)
    let directory = BackupDirectory(place.path("backups"))
    _ = try Backup(state: state, directory: directory).run()
    let damaged = place.path("damaged")
    try FileSystem.createDirectories(damaged + "/blobs")
    try Database.copy(state + "/server.db", to: damaged + "/server.db")
    let keys = try FileSystem.read(TicketKeyFile.path(in: state), upTo: SecretFile.maximumLength)
    try DurableFile.write(keys.span, to: TicketKeyFile.path(in: damaged), permissions: 0o600)
    let length = try #require(try FileSystem.status(of: damaged + "/server.db")).length.rawValue
    let noise = [UInt8](repeating: 0xA5, count: Int(length / 2))
    try FileDescriptor.open(damaged + "/server.db", .readWrite).write(noise.span, at: ByteCount(length / 2))
    let error = #expect(throws: (any Error).self) {
      try Backup(state: damaged, directory: directory).run()
    }
    #expect(error.map { ExitCode.of($0) } == .integrity)
    #expect(try directory.generations().count == 1)
    let report = try? StateCheck(state: damaged).run()
    #expect(report?.isWhole != true)
  }

  @Test("a directory whose name is no instant is no generation: it is kept, not counted and not restored")
  func otherDirectories() async throws {
    let place = try TemporaryDirectory()
    let state = try await state(in: place)
    let directory = BackupDirectory(place.path("backups"))
    let first = try await backup(state, to: directory).generation
    let copy = directory.path + "/before-upgrade"
    try FileSystem.rename("\(directory.path)/\(first)", to: copy)
    let made = try await backup(state, to: directory, keep: 1)
    #expect(made.removed.isEmpty)
    #expect(try directory.generation(nil).name == made.generation)
    #expect(try directory.generations().count == 1)
    #expect(try isWhole(copy))
    let later = "29991231T235959.999Z"
    try FileSystem.rename(copy, to: "\(directory.path)/\(later)")
    let next = try await backup(state, to: directory, keep: 1)
    #expect(next.removed == [made.generation, later])
    #expect(try directory.generations().map(\.name) == [next.generation])
  }

  @Test(
    "a generation that a wrong clock has dated years ahead is older than all others; one of a clock that is hours ahead is the newest"
  )
  func wrongClock() async throws {
    let place = try TemporaryDirectory()
    let state = try await state(in: place)
    let clock = ManualWallClock(Timestamp(millisecondsSinceEpoch: 1_795_317_125_123))
    let directory = BackupDirectory(place.path("backups"), clock: clock)
    let backup = { (moment: Timestamp) in
      try Backup(state: state, directory: directory, clock: ManualWallClock(moment)).run().generation
    }
    let early = try backup(clock.now() + .seconds(10 * 365 * 86400))
    #expect(try directory.generation(nil).name == early)
    let now = try backup(clock.now())
    let ahead = try backup(clock.now() + .seconds(12 * 3600))
    #expect(try directory.generations().map(\.name) == [ahead, now, early])
    #expect(try directory.generation(nil).name == ahead)
  }

  @Test(
    "a backup tells the server's metrics its moment and its size; one that cannot is complete all the same")
  func lastBackup() async throws {
    try await ServerHarness.run { server in
      let samples = {
        let page = try await server.client.send(
          ClientRequest(method: "GET", url: server.api.url("/metrics")))
        return try PrometheusPage(String(decoding: page.body, as: UTF8.self)).samples
      }
      let (moment, size) = ("pullbox_backup_last_success_timestamp_seconds", "pullbox_backup_last_size_bytes")
      try await server.publish(bytes)
      let none = try await samples()
      #expect((none[moment], none[size]) == (nil, nil))
      let directory = BackupDirectory(server.directory.path("backups"))
      let outcome = try await backup(server.configuration.state, to: directory)
      #expect(outcome.unrecorded == nil)
      let known = try await samples()
      #expect(known[moment] == Double(outcome.manifest.made.millisecondsSinceEpoch) / 1000)
      let files = outcome.manifest.files.reduce(ByteCount.zero) { $0 + $1.length }
      #expect(known[size] == Double(files.rawValue + Int64(bytes.count)))

      let path = "\(server.configuration.state)/\(LastBackup.fileName)"
      try FileSystem.removeFile(path)
      try FileSystem.createDirectories(path)
      let unrecorded = try await backup(server.configuration.state, to: directory)
      #expect(unrecorded.unrecorded != nil)
      #expect(try isWhole(try directory.generation(nil).path))
      #expect(try await samples()["pullbox_metrics_unreadable"] == 1)
    }
  }

  @Test("a package that was cut in the generation before is copied from the state, and not linked on")
  func cutInGeneration() async throws {
    try await ServerHarness.run { server in
      let record = try await server.publish(bytes)
      let directory = BackupDirectory(server.directory.path("backups"))
      _ = try await backup(server.configuration.state, to: directory)
      let name = record.digest.hexadecimal
      let newest = try directory.generation(nil).path
      let path = "\(newest)/blobs/\(name.prefix(2))/\(name.dropFirst(2))"
      try FileDescriptor.open(path, .readWrite).truncate(to: ByteCount(5))
      let next = try await backup(server.configuration.state, to: directory)
      #expect((next.linked, next.copied) == (0, 1))
      #expect(try isWhole(try directory.generation(nil).path))
    }
  }

  @Test("a backup into the state directory, or below it, is wrong usage")
  func insideState() async throws {
    let place = try TemporaryDirectory()
    let state = try await state(in: place)
    for path in [state, state + "/backups", state + "/a/b", state + "/blobs/../new/"] {
      let error = #expect(throws: UsageError.self) {
        try Backup(state: state, directory: BackupDirectory(path)).run()
      }
      #expect(error.map { ExitCode.of($0) } == .usage, "\(path)")
    }
    #expect(try FileSystem.status(of: state + "/backups") == nil)
    // A name that only begins alike lies beside it.
    _ = try Backup(state: state, directory: BackupDirectory(state + "-backups")).run()
  }

  @Test("without ticket keys that a server could load, nothing is backed up")
  func ticketKeys() async throws {
    let place = try TemporaryDirectory()
    let state = try await state(in: place)
    let directory = BackupDirectory(place.path("backups"))
    let path = TicketKeyFile.path(in: state)
    let noKeys = Array(#"{"keys":[]}"#.utf8)
    for isMissing in [false, true] {
      if isMissing {
        try FileSystem.removeFile(path)
      } else {
        try DurableFile.write(noKeys.span, to: path, permissions: 0o600)
      }
      let error = #expect(throws: StateCareError.self) {
        try Backup(state: state, directory: directory).run()
      }
      #expect(error.map { ExitCode.of($0) } == .integrity)
      #expect(error?.message.contains("ticket-keys.json") == true)
    }
    #expect(try FileSystem.status(of: path) == nil)
    #expect(try directory.generations().isEmpty)
  }

  @Test("a server.db that is no database of a server is named as such, left as it is, and not backed up")
  func noDatabase() async throws {
    let place = try TemporaryDirectory()
    let state = try await state(in: place)
    let database = state + "/server.db"
    for bytes in [[], Array("a text, and no database".utf8)] as [[UInt8]] {
      try DurableFile.write(bytes.span, to: database)
      let check = #expect(throws: StateCareError.self) { try StateCheck(state: state).run() }
      let error = #expect(throws: StateCareError.self) {
        try Backup(state: state, directory: BackupDirectory(place.path("backups"))).run()
      }
      #expect(check?.message == "\(database) is no Pullbox database")
      #expect(error == check)
      #expect(error.map { ExitCode.of($0) } == .integrity)
      #expect(try FileSystem.status(of: database)?.length == ByteCount(bytes.count))
    }
  }
}

/// The state that the tasks of a test share.
private final class Work: Sendable {
  let isDone = Mutex(false)
  let collected = Mutex(0)
}
