import CLinux
import CoreTypes
import Dispatch
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@testable import HTTPServer

/// Responses whose pages are not in memory.
@Suite("Page cache", .timeLimit(.minutes(10)))
struct PageCacheTests {
  private static let length = 4 << 20
  private static let content = (0..<length).map { UInt8(truncatingIfNeeded: $0 % 251) }

  private let directory: TemporaryDirectory
  private let content = Self.content
  private let file: SharedDescriptor

  init() throws {
    directory = try TemporaryDirectory()
    let written = try FileDescriptor.open(directory.path("content"), .readWrite, options: .create)
    try written.write(Self.content.span, at: .zero)
    try written.synchronize()
    file = try SharedDescriptor(written)
  }

  /// Knows nothing, and fetches as it is told.
  private final class Fake: PageCache {
    private let fetches = Locked(0)
    private let failure: SystemError?
    private let gate: DispatchSemaphore?

    init(failure: SystemError? = nil, gate: DispatchSemaphore? = nil) {
      self.failure = failure
      self.gate = gate
    }

    var count: Int { fetches.current }

    func holds(_ file: SharedDescriptor, range: Range<Int64>) -> Bool { false }

    func fetch(_ file: SharedDescriptor, range: Range<Int64>) throws(SystemError) {
      fetches.withLock { $0 += 1 }
      gate?.wait()
      if let failure { throw failure }
    }
  }

  @Test("a range is in memory only when all of its pages are, not when its ends are")
  func holes() throws {
    let cache = SystemPageCache()
    let reader = try FileDescriptor.open(directory.path("content"), .readOnly)
    #expect(posix_fadvise(reader.number, 0, 0, POSIX_FADV_DONTNEED) == 0)
    #expect(posix_fadvise(reader.number, 0, 0, POSIX_FADV_RANDOM) == 0)
    let range = Int64(1 << 20)..<Int64(2 << 20)
    try #require(!cache.holds(file, range: range), "the file system of the tests forgets pages on request")
    for offset in [range.lowerBound, range.upperBound - 1] {
      var byte: [UInt8] = []
      try reader.read(upTo: 1, at: ByteCount(offset), into: &byte)
    }
    #expect(cache.holds(file, range: range.lowerBound..<range.lowerBound + 1))
    #expect(cache.holds(file, range: range.upperBound - 1..<range.upperBound))
    #expect(!cache.holds(file, range: range))
    #expect(!cache.holds(file, range: range.lowerBound..<range.lowerBound + 131_072))
    try cache.fetch(file, range: range)
    #expect(cache.holds(file, range: range))
  }

  @Test("a page that cannot be read ends the connection, and is not asked for again")
  func unreadable() async throws {
    let cache = Fake(failure: SystemError(number: EIO, call: "pread"))
    try await withServer(inline: FileHandler(file: file), pageCache: cache) { server in
      let connection = try server.connect()
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      let received = try await connection.receiveToEnd()
      #expect(received.count < Self.length)
      #expect(cache.count == 1)
    }
  }

  @Test("where pages go as fast as they come, what was fetched is sent all the same")
  func forgetful() async throws {
    let cache = Fake()
    try await withServer(inline: FileHandler(file: file), pageCache: cache) { server in
      let connection = try server.connect()
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().body == content)
      #expect(cache.count == Self.length / HTTPServerConfiguration(addresses: []).turnLength)
    }
  }

  @Test("while a part that had to be fetched is sent, the next one is read, and no more than that")
  func ahead() async throws {
    let cache = Fake()
    try await withServer(inline: FileHandler(file: file), pageCache: cache) { server in
      // It takes less than one part.
      let connection = try server.connect(receiveBuffer: 4096)
      let other = try server.connect()
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      func roundTrip() async throws {
        try await other.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await other.receiveResponse().status == 200)
      }
      while cache.count < 2 { try await roundTrip() }
      for _ in 0..<20 { try await roundTrip() }
      #expect(cache.count <= 3)
      let response = try await connection.receiveResponse()
      #expect(response.body == content)
      #expect(cache.count == Self.length / HTTPServerConfiguration(addresses: []).turnLength)
    }
  }

  @Test("what was fetched and not sent for a second is looked at anew, and fetched again where it is gone")
  func outdated() async throws {
    let cache = Fake()
    let clock = ManualMonotonicClock()
    try await withServer(inline: FileHandler(file: file), clock: clock, pageCache: cache) { server in
      let connection = try server.connect(receiveBuffer: 4096)
      let other = try server.connect()
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      func roundTrip() async throws {
        try await other.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await other.receiveResponse().status == 200)
      }
      while cache.count < 2 { try await roundTrip() }
      for _ in 0..<20 { try await roundTrip() }
      clock.advance(by: .seconds(2))
      try await roundTrip()
      #expect(try await connection.receiveResponse().body == content)
      #expect(cache.count > Self.length / HTTPServerConfiguration(addresses: []).turnLength)
    }
  }

  @Test("pages that a response waits for come before those that are only read ahead, each in their order")
  func order() {
    var queue = PageJobQueue<Int, Int>()
    for job in 0..<100 { queue.append(job, for: job, isAhead: job % 3 == 0) }
    var taken: [Int] = []
    for job in 100..<150 {
      taken.append(queue.takeFirst() ?? -1)
      queue.append(job, for: job, isAhead: false)
    }
    while let job = queue.takeFirst() { taken.append(job) }
    #expect(taken == (0..<100).filter { $0 % 3 != 0 } + Array(100..<150) + (0..<100).filter { $0 % 3 == 0 })
    #expect(queue.takeFirst() == nil)
  }

  @Test("what a response has come to wait for is read before what others ask for after it, and once")
  func promoted() {
    var queue = PageJobQueue<Int, Int>()
    for job in [7, 8, 9] { queue.append(job, for: job, isAhead: true) }
    for job in 1...3 { queue.append(job, for: job, isAhead: false) }
    queue.promote(8)
    queue.promote(5)
    queue.append(4, for: 4, isAhead: false)
    var taken: [Int] = []
    while let job = queue.takeFirst() { taken.append(job) }
    #expect(taken == [1, 2, 3, 8, 4, 7, 9])
  }

  @Test("connections of two loops that have the same place in each are two")
  func loops() throws {
    let prefetcher = PagePrefetcher(Fake())
    let mailboxes = try (0..<2).map { _ in try LoopMailbox() }
    let tag = ConnectionTag(index: 3, generation: ConnectionTag.Generation())
    for mailbox in mailboxes {
      prefetcher.fetch(.init(file: file, range: 0..<1, tag: tag, mailbox: mailbox))
    }
    #expect(prefetcher.waitingCount == 2)
    prefetcher.cancel(tag, of: mailboxes[0])
    #expect(prefetcher.waitingCount == 1)
    prefetcher.cancel(tag, of: mailboxes[1])
    #expect(prefetcher.waitingCount == 0)
  }

  @Test("jobs that are taken out leave the order of the others, and no trace")
  func removed() {
    var queue = PageJobQueue<Int, Int>()
    for round in 0..<100 {
      for job in 0..<10 {
        queue.append(10 * round + job, for: job, isAhead: job % 2 == 0)
        queue.append(-1, for: 100 + job, isAhead: true)
      }
      for job in 0..<10 { #expect(queue.removeAll(of: 100 + job) == [-1]) }
      #expect(queue.removeAll(of: 100).isEmpty)
      #expect(queue.removeAll(of: 3) == [10 * round + 3])
      #expect(queue.count == 9)
      var taken: [Int] = []
      while let job = queue.takeFirst() { taken.append(job - 10 * round) }
      #expect(taken == [1, 5, 7, 9, 0, 2, 4, 6, 8])
    }
  }

  @Test("what was to be read for connections that are gone is not, however many there are")
  func gone() async throws {
    let gate = DispatchSemaphore(value: 0)
    let cache = Fake(gate: gate)
    try await withServer(inline: FileHandler(file: file), pageCache: cache) { server in
      let other = try server.connect()
      func roundTrip() async throws {
        try await other.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await other.receiveResponse().status == 200)
      }
      try await roundTrip()
      for _ in 1...50 {
        let connection = try server.connect()
        try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
        while server.server.statistics().activeResponses == 0 { await server.server.ping() }
        connection.reset()
        while server.server.statistics().openConnections > 1 { await server.server.ping() }
      }
      #expect(server.server.waitingPageJobs <= 1)
      for _ in 0..<60 { gate.signal() }
    }
  }

  @Test("over TLS, too, what was fetched for a response is fetched once, however little its reader takes")
  func secure() async throws {
    let cache = Fake()
    try await withSecureServer(
      inline: FileHandler(file: file), pageCache: cache,
      configure: {
        $0.notSentLowWater = 16_384
        $0.turnLength = 1 << 20
      }
    ) { server in
      let connection = try await server.connect(receiveBuffer: 4096)
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().body == content)
      #expect(cache.count == Self.length >> 20)
    }
  }

  @Test("a range after one that was fetched is as long as it says, and is looked at anew")
  func second() async throws {
    let cache = Fake()
    try await withServer(inline: FileHandler(file: file), pageCache: cache) { server in
      let connection = try server.connect()
      for (range, fetches) in [("0-3145727", 3), ("0-99999", 4), ("500000-700000", 5)] {
        try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\nRange: bytes=\(range)\r\n\r\n")
        let ends = try range.split(separator: "-").map { try #require(Int($0)) }
        let response = try await connection.receiveResponse()
        #expect(response.body == Array(content[ends[0]...ends[1]]))
        #expect(cache.count == fetches)
      }
      try await connection.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().text == "request 4")
    }
  }

  @Test("a device that does not answer holds a connection until its deadline")
  func hangs() async throws {
    let gate = DispatchSemaphore(value: 0)
    let clock = ManualMonotonicClock()
    let cache = Fake(gate: gate)
    try await withServer(
      inline: FileHandler(file: file), clock: clock, pageCache: cache,
      configure: {
        $0.storageDeadline = .seconds(20)
        $0.idleDeadline = .seconds(3600)
      }
    ) { server in
      let connection = try server.connect()
      let other = try server.connect()
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      func roundTrip() async throws {
        for _ in 0..<2 {
          try await other.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
          #expect(try await other.receiveResponse().status == 200)
        }
      }
      while cache.count == 0 { try await roundTrip() }
      clock.advance(by: .seconds(19))
      server.server.clockDidMove()
      try await roundTrip()
      #expect(server.server.statistics().deadlinesPassed[.storage] == 0)
      clock.advance(by: .seconds(2))
      server.server.clockDidMove()
      _ = try? await connection.receiveToEnd()
      #expect(server.server.statistics().deadlinesPassed[.storage] == 1)
      gate.signal()
    }
  }
}
