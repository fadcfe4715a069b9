import CoreTypes
import HTTPParsing
import PullboxTesting
import Testing

@testable import HTTPServer

/// Counters, access records and request identifiers.
@Suite(.timeLimit(.minutes(10)))
struct StatisticsTests {
  final class Recorder: ExchangeRecorder {
    let ringCapacity: Int
    private let rings = Locked<[AccessRing]>([])

    init(capacity: Int = 64) { ringCapacity = capacity }

    func begin(_ rings: [AccessRing]) { self.rings.withLock { $0 = rings } }

    func drain() -> [AccessRecord] {
      let collected = Locked<[AccessRecord]>([])
      for ring in rings.current {
        ring.drain { record in
          let copy = copy record
          collected.withLock { $0.append(copy) }
        }
      }
      return collected.current.sorted { $0.identifier < $1.identifier }
    }
  }

  @Test("each request leaves a record: what was asked, by whom, what was answered, how long it took")
  func records() async throws {
    let recorder = Recorder()
    let meter = CountingMeter()
    let identifiers = Locked<[String]>([])
    try await withServer(
      configure: { $0.recorder = recorder },
      respond: { request in
        identifiers.withLock { $0.append(request.id) }
        let body = try? await request.body.collect(upTo: ByteCount(100))
        return HTTPResponse(status: .created, body: .bytes(body ?? []))
      }
    ) { server in
      let connection = try server.connect()
      try await connection.send(
        "POST /a%20b?ticket=secret HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")
      #expect(try await connection.receiveResponse().text == "abc")
      try await connection.send("GET /chunked HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
      try await connection.send("5\r\nhello\r\n0\r\n\r\n")
      #expect(try await connection.receiveResponse().text == "hello")
      try await connection.send("BAD\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 400)
      connection.endSending()
      #expect(try await connection.receiveToEnd() == [])
    }
    let records = recorder.drain()
    try #require(records.count == 3)
    #expect(records.map(\.path) == ["/a%20b", "/chunked", ""])
    #expect(records.map(\.method) == [.post, .get, .other])
    #expect(records.map(\.status) == [201, 201, 400])
    #expect(records.map(\.bytesSent) == [3, 5, 0])
    #expect(records.map(\.bytesReceived) == [3, 5, 0])
    #expect(records.prefix(2).map(\.identifierText) == identifiers.current)
    for record in records {
      #expect(record.isComplete)
      #expect(record.peer.host == "127.0.0.1")
      #expect(record.timeToFirstByte > 0)
      #expect(record.duration >= record.timeToFirstByte)
      #expect(
        abs(SystemWallClock().now().millisecondsSinceEpoch - record.start.millisecondsSinceEpoch) < 60_000)
    }
    _ = meter
  }

  @Test("an inline response is recorded with the bytes behind its head", arguments: [false, true])
  func inlineRecords(isInline: Bool) async throws {
    let recorder = Recorder()
    let meter = CountingMeter()
    try await withFile(meter, isInline: isInline, length: 3_000_000, configure: { $0.recorder = recorder }) {
      server, length in
      let connection = try server.connect()
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().body.count == length)
      try await connection.send("HEAD /file HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await connection.receiveResponse(toHead: true)
      let slow = try server.connect(receiveBuffer: 4096)
      try await slow.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await slow.receive(exactly: 100)
      slow.reset()
      await meter.waitForEnds(2)
    }
    let records = recorder.drain()
    try #require(records.count == 3)
    #expect(records.map(\.bytesSent).prefix(2) == [3_000_000, 0])
    #expect(records.map(\.method) == [.get, .head, .get])
    #expect(records.map(\.isComplete) == [true, true, false])
    #expect(records[2].bytesSent < 3_000_000)
    #expect(records[2].bytesSent == meter.counts.sent - 3_000_000)
  }

  @Test("a path is cut where a record ends")
  func longPath() async throws {
    let recorder = Recorder()
    let path = "/" + String(repeating: "x", count: 400)
    try await withServer(configure: { $0.recorder = recorder }) { server in
      let connection = try server.connect()
      try await connection.send(
        "GET \(path) HTTP/1.1\r\nHost: h\r\n\r\nGET /short HTTP/1.1\r\nHost: h\r\n\r\n")
      for _ in 0..<2 { _ = try await connection.receiveResponse() }
    }
    let records = recorder.drain()
    #expect(records.map(\.path) == [String(path.prefix(160)), "/short"])
    #expect(records.map(\.isPathCut) == [true, false])
  }

  @Test("a ring that is not drained drops records and counts them, and takes new ones once drained")
  func fullRing() async throws {
    let recorder = Recorder(capacity: 4)
    try await withServer(configure: { $0.recorder = recorder }) { server in
      let connection = try server.connect()
      func ask(_ count: Int) async throws {
        for _ in 0..<count {
          try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
          #expect(try await connection.receiveResponse().status == 404)
        }
      }
      // The answer to a request shows that the record of the one before is written.
      try await ask(7)
      #expect(recorder.drain().map { $0.identifier >> 8 } == [1, 2, 3, 4])
      try await ask(2)
      #expect(server.server.statistics().droppedRecords >= 2)
      #expect(recorder.drain().isEmpty == false)
    }
  }

  @Test("the server counts responses by status, bytes, connections and refusals")
  func counts() async throws {
    try await withServer(
      configure: { $0.maximumConnections = 1 },
      respond: {
        $0.path == "/" ? HTTPResponse(status: .ok, body: .bytes([1, 2])) : HTTPResponse(status: .gone)
      }
    ) { server in
      let connection = try server.connect()
      for path in ["/", "/", "/x"] {
        try await connection.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
        _ = try await connection.receiveResponse()
      }
      let refused = try server.connect()
      #expect(try await refused.receiveResponse().status == 503)
      refused.endSending()
      #expect(try await refused.receiveToEnd() == [])
      // The server's side of the refused connection may end a little after ours.
      while server.server.statistics().openConnections > 1 { await Task.yield() }
      let statistics = server.server.statistics()
      #expect(statistics.responses == [200: 2, 410: 1, 503: 1])
      #expect(statistics.acceptedConnections == 2)
      #expect(statistics.openConnections == 1)
      #expect(statistics.refusedConnections[.capacity] == 1)
      #expect(statistics.activeResponses == 0)
      #expect(statistics.bytesSent == 4)
      #expect(statistics.timeToFirstByte.total == 4)
      #expect(statistics.timeToFirstByte.sum > 0)
    }
  }

  @Test("a passed deadline is counted by its kind")
  func deadlines() async throws {
    let clock = ManualMonotonicClock()
    try await withServer(clock: clock) { server in
      let idle = try server.connect()
      let head = try server.connect()
      for connection in [idle, head] {
        try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await connection.receiveResponse().status == 404)
      }
      try await head.send("GET / HT")
      // Its answer shows that the loop has seen the bytes before it.
      let third = try server.connect()
      try await third.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await third.receiveResponse().status == 404)
      clock.advance(by: .seconds(30))
      server.server.clockDidMove()
      #expect(try await head.receiveResponse().status == 408)
      #expect(server.server.statistics().deadlinesPassed[.head] == 1)
      clock.advance(by: .seconds(31))
      server.server.clockDidMove()
      #expect(try await idle.receiveToEnd() == [])
      #expect(server.server.statistics().deadlinesPassed[.idle] ?? 0 >= 1)
    }
  }

  @Test("a ring hands on every record it took, in order, while one thread writes and another reads")
  func ringUnderLoad() async {
    let ring = AccessRing(capacity: 64)
    let count: UInt64 = 100_000
    let writer = Task.detached {
      var record = AccessRecord()
      for number in 1...count {
        record.identifier = number
        record.bytesSent = number
        ring.append(record)
      }
    }
    var last: UInt64 = 0
    var taken: UInt64 = 0
    while taken + ring.dropped < count {
      let some = Locked<[(UInt64, UInt64)]>([])
      ring.drain { record in
        let pair = (record.identifier, record.bytesSent)
        some.withLock { $0.append(pair) }
      }
      for (identifier, bytes) in some.current {
        #expect(identifier > last && identifier == bytes)
        last = identifier
        taken += 1
      }
      await Task.yield()
    }
    await writer.value
    #expect(taken + ring.dropped == count)
    #expect(ring.drain { _ in } == 0)
  }

  @Test("a time is counted under the first bound that is not below it")
  func histogram() {
    #expect(LatencyHistogram.bounds.first == 16_384)
    #expect(LatencyHistogram.bounds.count == 21)
    for (bound, place) in zip(LatencyHistogram.bounds, 0...) {
      #expect(LatencyHistogram.bucket(bound) == place)
      #expect(LatencyHistogram.bucket(bound + 1) == place + 1)
    }
    #expect(LatencyHistogram.bucket(0) == 0)
    #expect(LatencyHistogram.bucket(.max) == 21)
  }

  @Test("peers are spelled as addresses, version 4 ones through version 6 sockets too")
  func peers() {
    #expect(PeerAddress(family: .version4, port: 80, high: 0, low: 0x7F00_0001).description == "127.0.0.1:80")
    #expect(PeerAddress(family: .version6, port: 80, high: 0, low: 1).description == "[::1]:80")
    #expect(
      PeerAddress(family: .version6, port: 1, high: 0x2001_0DB8_0000_0000, low: 0xFF).host == "2001:db8::ff")
    #expect(PeerAddress.unix.description == "unix")
  }

  @Test("what is open is never below zero, in whatever order the counters of a loop are seen")
  func ordersOfCounters() {
    let block = CounterBlock()
    block.add(Counter.closed)
    block.add(Counter.responsesEnded)
    var statistics = HTTPServerStatistics()
    statistics.add(block)
    #expect(statistics.openConnections == 0)
    #expect(statistics.activeResponses == 0)
  }
}
