import BlobStore
import CoreTypes
import Crypto
import Database
import DeliveryModel
import DeliverySchema
import DeliveryTesting
import Files
import Glibc
import HTTPServer
import PackageStorage
import PullboxAPI
import PullboxTesting
import ServiceRuntime
import StorageTesting
import SystemCalls
import Testing

@testable import ContentPublishing
@testable import DeliveryRecords

/// Nodes with one database and one store, each with files of its own. A part has 1,000 bytes.
@Suite("Uploads that any node goes on with")
struct SharedUploadTests {
  private let directory: TemporaryDirectory
  private let database: Database
  private let clock = ManualWallClock()
  private let timer = ManualMonotonicClock()
  private let store: MemoryPartShelf
  private let bytes = (0..<4500).map { UInt8(truncatingIfNeeded: $0 &* 7 >> 2) }

  init() throws {
    directory = try TemporaryDirectory()
    try NewDatabase.put(into: directory.path)
    database = try Database.open(path: directory.path("server.db"), migrations: Migrations.all)
    store = MemoryPartShelf()
  }

  private func node(
    _ name: String, limits: UploadLimits = UploadLimits(), reserve: ByteCount = .zero,
    operations: any FileOperations = SystemFileOperations()
  ) throws -> UploadService {
    let log = Log(level: .error)
    return try UploadService.open(
      database: database,
      blobs: BlobStore.open(directory: directory.path(name), reserve: reserve, operations: operations),
      parts: UploadParts(
        database: database, shelf: store, process: "\(name) \(RandomBytes.token(bits: 64))", clock: clock,
        timer: timer, partLength: ByteCount(1000), log: log),
      clock: LifetimeClock(wall: clock, timer: timer, log: log), limits: limits)
  }

  private func begin(at node: UploadService) async throws -> String {
    try await node.create(NewUpload(length: ByteCount(bytes.count)), owner: "ada").id
  }

  @discardableResult
  private func send(
    _ range: Range<Int>, to id: String, at node: UploadService, checksum: Checksum? = nil
  ) async throws -> Int {
    let append = TusAppend(
      offset: ByteCount(range.lowerBound), checksum: checksum, contentLength: ByteCount(range.count))
    let answer = try await node.append(
      RequestBody(Array(bytes[range])), to: id, under: append, onConflict: .preempt)
    return Int(answer.state.offset.rawValue)
  }

  private func offset(of id: String, at node: UploadService) async throws -> Int {
    Int(try await node.status(of: id, onConflict: .preempt).state.offset.rawValue)
  }

  private func parts(of id: String) async throws -> [UploadPart] {
    try await database.read { try UploadPartTable.all(of: id, in: $0) }
  }

  private func names(of id: String) async throws -> Set<UploadPartName> {
    Set(try await parts(of: id).map { UploadPartName(upload: id, part: $0.name) })
  }

  @Test("each node goes on behind what the others have received, and any of them makes the package")
  func nodes() async throws {
    let nodes = [try node("a"), try node("b"), try node("c")]
    let id = try await begin(at: nodes[0])
    var end = 0
    for (index, count) in [700, 1, 1299, 0, 2000, 400, 100].enumerated() {
      let node = nodes[index % 3]
      #expect(try await offset(of: id, at: nodes[(index + 1) % 3]) == end)
      #expect(try await send(end..<end + count, to: id, at: node) == end + count)
      end += count
    }
    #expect(try await names(of: id) == store.names)
    let (upload, received) = try await nodes[1].takeOver(id)
    #expect(received.digest == .of(bytes))
    #expect(upload.length == ByteCount(bytes.count))
    #expect(store.names.isEmpty)
    #expect(try await nodes[1].takeOver(id).received.digest == .of(bytes))
  }

  @Test("a part has as many bytes as a part may have; a last one that is short is replaced by a longer one")
  func partLengths() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let id = try await begin(at: first)
    for begin in stride(from: 0, to: 2400, by: 300) {
      try await send(begin..<begin + 300, to: id, at: begin.isMultiple(of: 600) ? first : second)
    }
    #expect(try await parts(of: id).map(\.length.rawValue) == [1000, 1000, 400])
    try await send(2400..<4500, to: id, at: second)
    #expect(try await parts(of: id).map(\.length.rawValue) == [1000, 1000, 1000, 1000, 500])
    #expect(try await names(of: id) == store.names)
  }

  @Test("what the store did not take counts for nothing, at this node and the others; it is sent again")
  func failedPart() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let id = try await begin(at: first)
    try await send(0..<300, to: id, at: first)
    struct Away: Error {}
    store.setBeforePut { throw Away() }
    let error = await #expect(throws: BlobStoreError.self) { try await send(300..<2000, to: id, at: first) }
    #expect(error?.code == .unreachable)
    store.setBeforePut(nil)
    for node in [first, second] { #expect(try await offset(of: id, at: node) == 300) }
    // Others bytes than those that were lost may follow.
    #expect(try await send(300..<4500, to: id, at: second) == 4500)
    #expect(try await first.takeOver(id).received.digest == .of(bytes))
  }

  @Test("a store and a disk that fail at one moment lose what they had not taken, and nothing else")
  func bothFail() async throws {
    let operations = FaultyFileOperations()
    let (first, second) = (try node("a", operations: operations), try node("b"))
    let id = try await begin(at: first)
    try await send(0..<300, to: id, at: first)
    struct Away: Error {}
    // What cannot be put is taken off the file, and that fails once.
    store.setBeforePut {
      operations.fail(call: operations.steps.count, number: EIO)
      throw Away()
    }
    await #expect(throws: BlobStoreError.self) { try await send(300..<4000, to: id, at: first) }
    store.setBeforePut(nil)
    #expect(operations.failures == 1)
    for node in [first, second] { #expect(try await offset(of: id, at: node) == 300) }
    #expect(try await send(300..<4500, to: id, at: first) == 4500)
    #expect(try await second.takeOver(id).received.digest == .of(bytes))
  }

  @Test("bytes with a wrong checksum count nowhere, those with the right one everywhere")
  func checksums() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let id = try await begin(at: first)
    let problem = await #expect(throws: Problem.self) {
      try await send(0..<2500, to: id, at: first, checksum: .of([1], .sha1))
    }
    #expect(problem?.code == .checksumMismatch)
    #expect(try await offset(of: id, at: second) == 0)
    let right = Checksum.of(Array(bytes[0..<2500]), .sha1)
    #expect(try await send(0..<2500, to: id, at: first, checksum: right) == 2500)
    #expect(try await offset(of: id, at: second) == 2500)
  }

  @Test("a request from which another node has taken the upload adds nothing more, and is told so")
  func taken() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let id = try await begin(at: first)
    try await send(0..<500, to: id, at: first)
    let other = [UInt8](repeating: 9, count: 4000)
    let store = store
    store.setBeforePut {
      store.setBeforePut(nil)
      _ = try await second.append(
        RequestBody(other), to: id, under: TusAppend(offset: ByteCount(500)), onConflict: .preempt)
    }
    let problem = await #expect(throws: Problem.self) { try await send(500..<2000, to: id, at: first) }
    #expect(problem?.code == .uploadLocked)
    #expect(try await offset(of: id, at: first) == 4500)
    #expect(try await first.takeOver(id).received.digest == .of(Array(bytes[..<500]) + other))
  }

  @Test(
    "a request that yields is refused while another node receives, and goes on once that has ended or died")
  func yields() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let id = try await begin(at: first)
    let problem = Locked<Problem?>(nil)
    let store = store
    store.setBeforePut {
      do {
        _ = try await second.append(
          RequestBody([1]), to: id, under: TusAppend(offset: .zero), onConflict: .fail)
      } catch let refusal as Problem {
        problem.withLock { $0 = refusal }
      }
    }
    #expect(try await send(0..<500, to: id, at: first) == 500)
    #expect(problem.current?.code == .uploadLocked)
    store.setBeforePut(nil)
    // A request of a node that was killed has left its lease.
    let now = clock.now()
    let isTaken = try await database.write(locking: []) {
      try LeaseTable.take("upload \(id)", for: "dead x", until: now + .seconds(120), at: now, in: $0)
    }
    #expect(isTaken)
    func sendYielding() async throws {
      _ = try await second.append(
        RequestBody([1]), to: id, under: TusAppend(offset: ByteCount(500)), onConflict: .fail)
    }
    let refusal = await #expect(throws: Problem.self) { try await sendYielding() }
    #expect(refusal?.code == .uploadLocked)
    clock.advance(by: .seconds(121))
    try await sendYielding()
    #expect(try await offset(of: id, at: first) == 501)
  }

  @Test("bytes that a process left in its file and no part has are taken off when the node is back")
  func leftBytes() async throws {
    let id: String
    do {
      let first = try node("a")
      id = try await begin(at: first)
      try await send(0..<1700, to: id, at: first)
    }
    // The process was killed while more came, and another node went on with other bytes.
    let path = directory.path("a/incoming/\(id)")
    let file = try FileDescriptor.open(path, .readWrite)
    try file.write([UInt8](repeating: 3, count: 900).span, at: ByteCount(1700))
    let second = try node("b")
    try await send(1700..<2300, to: id, at: second)
    let again = try node("a")
    #expect(try await send(2300..<4500, to: id, at: again) == 4500)
    #expect(try await again.takeOver(id).received.digest == .of(bytes))
  }

  @Test("a part of which the store has other bytes is refused, and nothing is made of it")
  func otherBytes() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let id = try await begin(at: first)
    try await send(0..<1000, to: id, at: first)
    let name = try #require(try await names(of: id).first)
    store.set([UInt8](repeating: 0, count: 1000), as: name)
    let error = await #expect(throws: BlobStoreError.self) { try await send(1000..<4500, to: id, at: second) }
    #expect(error?.code == .unreadable)
    store.set(Array(bytes[0..<1000]), as: name)
    #expect(try await send(1000..<4500, to: id, at: second) == 4500)
    #expect(try await second.takeOver(id).received.digest == .of(bytes))
  }

  @Test("what was received before uploads were shared is gone on with at any node, once its own has begun")
  func adopted() async throws {
    var ids: [String] = []
    do {
      let before = try UploadService.open(
        database: database, blobs: BlobStore.open(directory: directory.path("a"), reserve: .zero),
        clock: LifetimeClock(wall: clock, timer: timer, log: Log(level: .error)), limits: UploadLimits())
      for _ in 0..<2 { ids.append(try await begin(at: before)) }
      try await send(0..<4500, to: ids[0], at: before)
      try await send(0..<1700, to: ids[1], at: before)
    }
    let (first, second) = (try node("a"), try node("b"))
    await first.adoptFiles(in: try #require(first.parts))
    #expect(try await second.takeOver(ids[0]).received.digest == .of(bytes))
    #expect(try await send(1700..<4500, to: ids[1], at: second) == 4500)
    #expect(try await first.takeOver(ids[1]).received.digest == .of(bytes))
  }

  @Test("what has arrived counts also where the request was cancelled, as by a client that is gone")
  func cancelled() async throws {
    let first = try node("a")
    let id = try await begin(at: first)
    // A client of HTTP ends the calls of a task that is cancelled.
    store.setBeforePut { try Task.checkCancellation() }
    let bytes = bytes
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      _ = try? await first.append(
        RequestBody(Array(bytes[0..<500])), to: id, under: TusAppend(offset: .zero), onConflict: .preempt)
    }
    task.cancel()
    await task.value
    store.setBeforePut(nil)
    #expect(try await offset(of: id, at: first) == 500)
  }

  @Test("no request takes an upload of which a package is being made, however long that takes")
  func publication() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let id = try await begin(at: first)
    try await send(0..<4500, to: id, at: first)
    try await first.withPublication(of: id) {
      for _ in 0..<2 {
        for policy in [UploadService.LockConflictPolicy.preempt, .fail] {
          let problem = await #expect(throws: Problem.self) {
            _ = try await second.status(of: id, onConflict: policy)
          }
          #expect(problem?.code == .uploadLocked)
        }
        // The lease of the request is over.
        clock.advance(by: UploadParts.leaseDuration + .seconds(1))
      }
    }
    #expect(try await offset(of: id, at: second) == 4500)
    #expect(try await second.takeOver(id).received.digest == .of(bytes))
  }

  @Test("an upload whose package is on its way counts with what it had reserved, however long that takes")
  func slowPublication() async throws {
    let limits = UploadLimits(quota: ByteCount(5_000))
    let (first, second) = (try node("a", limits: limits), try node("b", limits: limits))
    let id = try await begin(at: first)
    try await send(0..<4500, to: id, at: first)
    let (now, digest) = (clock.now(), SHA256Digest.of(bytes))
    try await database.write(locking: [.upload(id)]) {
      try UploadTable.setDigest(digest, of: id, at: now, in: $0)
    }
    clock.advance(by: .seconds(600))
    await #expect(throws: Problem.self) { _ = try await begin(at: second) }
  }

  @Test("a node keeps no room for uploads that go on at others")
  func localRoom() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let id = try await begin(at: first)
    #expect(await first.quota.reservations.isEmpty)
    try await send(0..<4500, to: id, at: second)
    #expect(await second.quota.reservations.isEmpty)
    // Refused, and of no further use to this node.
    await #expect(throws: Problem.self) { try await send(0..<10, to: id, at: first) }
    #expect(await first.quota.reservations.isEmpty)
  }

  @Test("what all nodes' uploads have reserved is within the quota of all together, and comes back")
  func quota() async throws {
    let limits = UploadLimits(quota: ByteCount(10_000))
    let (first, second) = (try node("a", limits: limits), try node("b", limits: limits))
    let id = try await begin(at: first)
    _ = try await begin(at: second)
    let refusal = await #expect(throws: Problem.self) { _ = try await begin(at: second) }
    #expect(refusal?.code == .outOfSpace)
    #expect(try await second.page(after: nil, limit: 10).items.count == 2)
    try await first.terminate(id, onConflict: .fail)
    _ = try await begin(at: second)
  }

  @Test("the parts of an upload that is given up or over its time go with it, from whatever node")
  func removals() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let (given, old) = (try await begin(at: first), try await begin(at: first))
    for id in [given, old] { try await send(0..<1500, to: id, at: first) }
    try await second.terminate(given, onConflict: .preempt)
    clock.advance(by: .seconds(86_401))
    timer.advance(by: .seconds(86_401))
    #expect(try await second.removeExpired(old, by: "ada"))
    #expect(store.names.isEmpty)
    // The files lie at the node that received them.
    try await first.removeLeftovers(isForAll: false)
    #expect(try await first.blobs.listIncoming().isEmpty)
  }

  @Test("an object that no row names is removed by the node that collects, and one of a row never")
  func strays() async throws {
    let first = try node("a")
    let id = try await begin(at: first)
    try await send(0..<1500, to: id, at: first)
    let kept = store.names
    store.set([1], as: UploadPartName(upload: id, part: "0-x"))
    store.set([1], as: UploadPartName(upload: "gone", part: "0-x"))
    try await first.removeLeftovers(isForAll: false)
    #expect(store.names.count == kept.count + 2)
    try await first.removeLeftovers(isForAll: true)
    #expect(store.names == kept)
  }

  @Test("a part that was put and has no row yet stays, whatever any clock says: its request holds the upload")
  func partOnItsWay() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let id = try await begin(at: first)
    let database = database
    try await send(0..<300, to: id, at: first)
    let store = store
    // Before the second part is put, the first one has lost its row: as if it were to be written still.
    let row = try #require(try await parts(of: id).first)
    store.setBeforePut {
      store.setBeforePut(nil)
      try await database.write(locking: []) { _ = try UploadPartTable.removeAll(of: id, in: $0) }
      try await second.removeLeftovers(isForAll: true)
      #expect(store.names.map(\.part) == [row.name])
      try await database.write(locking: []) { try UploadPartTable.set(row, of: id, in: $0) }
    }
    #expect(try await send(300..<2000, to: id, at: first) == 2000)
    try await second.removeLeftovers(isForAll: true)
    #expect(try await names(of: id) == store.names)
  }

  @Test("requests of one byte each put few bytes more than once, and few parts are short")
  func singleBytes() async throws {
    let first = try node("a")
    let id = try await begin(at: first)
    for place in 0..<1100 { try await send(place..<place + 1, to: id, at: first) }
    let lengths = try await parts(of: id).map(\.length.rawValue)
    #expect(lengths.first == 1000)
    #expect(lengths.count <= 1 + 10)
    #expect(try await names(of: id) == store.names)
    // A part of less than 1,000 bytes is doubled nine times at most.
    #expect(store.putLength <= 11 * 1100)
    try await send(1100..<4500, to: id, at: try node("b"))
    #expect(try await first.takeOver(id).received.digest == .of(bytes))
  }

  @Test("a node reads nothing again of what others have put once more in a longer part")
  func longerParts() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let id = try await begin(at: first)
    try await send(0..<300, to: id, at: first)
    try await send(300..<400, to: id, at: first)
    let before = store.reads
    try await send(400..<500, to: id, at: second)
    #expect(store.reads == before + 2)
    #expect(try await parts(of: id).map(\.length.rawValue) == [300, 200])
    try await send(500..<501, to: id, at: first)
    // Of the longer one, which has what this node had not; the one before it is here.
    #expect(store.reads == before + 3)
  }

  @Test("a node has no room for what its file lacks: it is said before anything is read")
  func roomForTheRest() async throws {
    let (first, full) = (try node("a"), try node("b", reserve: ByteCount(.max / 2)))
    let id = try await begin(at: first)
    try await send(0..<1500, to: id, at: first)
    for _ in 0..<2 {
      let problem = await #expect(throws: Problem.self) { try await send(1500..<1600, to: id, at: full) }
      #expect(problem?.code == .outOfSpace)
    }
    try await send(1500..<4500, to: id, at: first)
    let problem = await #expect(throws: Problem.self) { _ = try await full.takeOver(id) }
    #expect(problem?.code == .outOfSpace)
    #expect(store.reads == 0)
    #expect(await full.quota.reservations.isEmpty)
    #expect(try await first.takeOver(id).received.digest == .of(bytes))
  }

  @Test("a request holds its upload for as long as it lives, also while nothing comes")
  func slowClient() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let id = try await begin(at: first)
    let (clock, timer) = (clock, timer)
    let bytes = bytes
    try await first.withLock(id, onConflict: .fail) {
      for _ in 0..<10 {
        await timer.waitForSleepers()
        clock.advance(by: .seconds(30))
        timer.advance(by: .seconds(30))
        // The next pause begins behind the renewal.
        await timer.waitForSleepers()
        let problem = await #expect(throws: Problem.self) {
          _ = try await second.append(
            RequestBody(bytes), to: id, under: TusAppend(offset: .zero), onConflict: .fail)
        }
        #expect(problem?.code == .uploadLocked)
      }
    }
    _ = try await second.append(
      RequestBody(bytes), to: id, under: TusAppend(offset: .zero), onConflict: .fail)
    #expect(try await offset(of: id, at: first) == bytes.count)
  }

  @Test("a request from which the upload was taken ends when it next says that it lives, without word of it")
  func missedNews() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let id = try await begin(at: first)
    let timer = timer
    try await first.withLock(id, onConflict: .fail) {
      _ = try await second.status(of: id, onConflict: .preempt)
      await timer.waitForSleepers()
      timer.advance(by: UploadParts.renewal)
      while await first.locks[id]?.isPreempted == false { await Task.yield() }
    }
  }

  @Test("word of another node that takes an upload ends the request that had it, and no other one")
  func news() async throws {
    let (first, second) = (try node("a"), try node("b"))
    let (taken, kept) = (try await begin(at: first), try await begin(at: first))
    let parts = try #require(first.parts)
    try await first.withLock(kept, onConflict: .fail) {
      try await first.withLock(taken, onConflict: .fail) {
        let own = try #require(await first.locks[taken]?.hold?.news)
        _ = try await second.status(of: taken, onConflict: .preempt)
        // Its own word, and that of another upload.
        await first.process(.of([own, "\(kept)x/1"]), of: parts)
        #expect(await first.locks[taken]?.isPreempted == false)
        await first.process(.of(["\(taken)/1", "\(kept)/1"]), of: parts)
        #expect(await first.locks[taken]?.isPreempted == true)
        #expect(await first.locks[kept]?.isPreempted == false)
      }
      _ = try await second.status(of: kept, onConflict: .preempt)
      await first.process(.ofAnything, of: parts)
      #expect(await first.locks[kept]?.isPreempted == true)
    }
  }

  @Test(
    "a server that no longer shares uploads begins those anew of which nodes had parts, and clears them away")
  func alone() async throws {
    let id: String
    do {
      let first = try node("a")
      id = try await begin(at: first)
      try await send(0..<1500, to: id, at: first)
    }
    let blobs = try BlobStore.open(directory: directory.path("c"), reserve: .zero)
    let alone = try UploadService.open(
      database: database, blobs: blobs,
      shelf: MemoryStore(packages: MemoryShelf(incoming: blobs), parts: store),
      clock: LifetimeClock(wall: clock, timer: timer, log: Log(level: .error)), limits: UploadLimits())
    let problem = await #expect(throws: Problem.self) {
      _ = try await alone.status(of: id, onConflict: .fail)
    }
    #expect(problem?.code == .uploadUnknown)
    #expect(try await parts(of: id).isEmpty)
    #expect(try await alone.page(after: nil, limit: 10).items.isEmpty)
    try await alone.removeLeftovers(isForAll: false)
    #expect(store.names.count == 2)
    try await alone.removeLeftovers(isForAll: true)
    #expect(store.names.isEmpty)
  }

  /// A request that was sent to `offset`, and whether it was answered well.
  private struct Attempt: Sendable {
    var offset: Int
    var bytes: [UInt8]
    var isAccepted: Bool
  }

  @Test(
    "every byte of the package is of the one request that was answered for its place, or of one that failed on the way",
    arguments: 1...10)
  func mixed(seed: UInt64) async throws {
    let random = Locked(SplitMix(seed: seed))
    let nodes = [try node("a"), try node("b"), try node("c")]
    let id = try await begin(at: nodes[0])
    struct Away: Error {}
    store.setBeforePut {
      let number = random.withLock { $0.next() } % 8
      if number == 0 { throw Away() }
      if number < 4 { await Task.yield() }
    }
    let attempts = try await withThrowingTaskGroup { group in
      for client in 1...3 {
        group.addTask { try await sendAll(as: UInt8(client), to: id, nodes, random) }
      }
      return try await group.reduce(into: [Attempt]()) { $0 += $1 }
    }
    store.setBeforePut(nil)
    let digest = try await nodes[2].takeOver(id).received.digest
    let file = try await nodes[2].shelf.openWhole(digest)
    var package: [UInt8] = []
    try file.file.read(upTo: bytes.count + 1, at: .zero, into: &package)
    #expect(package.count == bytes.count)
    var isAnswered = [Bool](repeating: false, count: package.count)
    for attempt in attempts where attempt.isAccepted {
      for (index, byte) in attempt.bytes.enumerated() {
        #expect(!isAnswered[attempt.offset + index], "two requests were answered for one place")
        #expect(package[attempt.offset + index] == byte, "a byte of an answered request is another one")
        isAnswered[attempt.offset + index] = true
      }
    }
    for index in package.indices where !isAnswered[index] {
      let mayBe = attempts.contains { attempt in
        !attempt.isAccepted && attempt.offset <= index && index < attempt.offset + attempt.bytes.count
          && attempt.bytes[index - attempt.offset] == package[index]
      }
      #expect(mayBe, "the byte at \(index) is of no request")
    }
  }

  private func sendAll(
    as client: UInt8, to id: String, _ nodes: [UploadService], _ random: Locked<SplitMix>
  ) async throws -> [Attempt] {
    var attempts: [Attempt] = []
    var offset = 0
    while offset < bytes.count {
      let (number, place, policy) = random.withLock { random in
        (Int(random.next() % 900), Int(random.next() % 3), random.next() % 2)
      }
      let count = min(number + 1, bytes.count - offset)
      let sent = [UInt8](repeating: client, count: count)
      do {
        let state = try await nodes[place].append(
          RequestBody(sent), to: id, under: TusAppend(offset: ByteCount(offset)),
          onConflict: policy == 0 ? .fail : .preempt
        ).state
        #expect(state.offset == ByteCount(offset + count))
        attempts.append(Attempt(offset: offset, bytes: sent, isAccepted: true))
        offset += count
      } catch let problem as Problem where problem.code == .uploadOffsetMismatch {
        offset = Int(try #require(problem.expectedOffset))
      } catch let problem as Problem where problem.code == .uploadLocked {
        attempts.append(Attempt(offset: offset, bytes: sent, isAccepted: false))
        await Task.yield()
      } catch let error as BlobStoreError where error.code == .unreachable {
        attempts.append(Attempt(offset: offset, bytes: sent, isAccepted: false))
        await Task.yield()
      }
    }
    return attempts
  }
}
