import CLinux
import CoreTypes
import Glibc
import HTTPServer
import PullboxTesting
import SystemCalls
import Testing

/// Interim responses, meters, pace and the end of bodies before their end.
@Suite(.timeLimit(.minutes(10)))
struct BodyControlTests {
  // MARK: Interim responses

  @Test("an interim response is sent at once, with its fields, and the final one follows")
  func interim() async throws {
    let gate = Gate()
    try await withServer(respond: { request in
      await request.sendInterim(
        .uploadResumptionSupported, headers: ["Upload-Offset": "7", "Content-Length": "3"])
      await gate.wait()
      return HTTPResponse(status: .created)
    }) { server in
      let connection = try server.connect()
      try await connection.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n")
      let interim = try await connection.receive(through: "\r\n\r\n")
      #expect(interim == "HTTP/1.1 104 Upload Resumption Supported\r\nUpload-Offset: 7\r\n\r\n")
      await gate.open()
      #expect(try await connection.receiveResponse().status == 201)
    }
  }

  @Test("several interim responses and 100 Continue come in the order they were asked for")
  func interimAndContinue() async throws {
    try await withServer(respond: { request in
      await request.sendInterim(.earlyHints, headers: ["Link": "</a>; rel=preload"])
      guard let body = try? await request.body.collect(upTo: ByteCount(10)) else {
        return HTTPResponse(status: .badRequest)
      }
      await request.sendInterim(.earlyHints)
      return HTTPResponse(status: .ok, body: .bytes(body))
    }) { server in
      let connection = try server.connect()
      try await connection.send(
        "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
      #expect(
        try await connection.receive(through: "\r\n\r\n")
          == "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n")
      #expect(try await connection.receive(through: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
      try await connection.send("ok")
      #expect(try await connection.receive(through: "\r\n\r\n") == "HTTP/1.1 103 Early Hints\r\n\r\n")
      #expect(try await connection.receiveResponse().text == "ok")
    }
  }

  @Test("an HTTP/1.0 client gets no interim response, and no client one after the final response")
  func noInterim() async throws {
    let requests = Locked<[HTTPRequest]>([])
    try await withServer(respond: { request in
      if request.path == "/after" {
        let earlier = requests.current
        for request in earlier { await request.sendInterim(.earlyHints) }
      }
      requests.withLock { $0.append(request) }
      if request.path == "/old" { await request.sendInterim(.earlyHints) }
      return HTTPResponse(status: .ok, body: .bytes(Array(request.path.utf8)))
    }) { server in
      let connection = try server.connect()
      try await connection.send("GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      #expect(try await connection.receiveResponse().text == "/old")
      for path in ["/new", "/after"] {
        try await connection.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
        let response = try await connection.receiveResponse()
        #expect(response.status == 200)
        #expect(response.text == path)
      }
    }
  }

  // MARK: Meters

  @Test("a meter sees each body begin and end once, with its bytes between", arguments: [false, true])
  func wholeBodies(isInline: Bool) async throws {
    let meter = CountingMeter()
    try await withFile(meter, isInline: isInline) { server, length in
      let connection = try server.connect()
      for count in 1...3 {
        try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await connection.receiveResponse().body.count == length)
        await meter.waitForEnds(count)
        #expect(meter.counts == CountingMeter.Counts(begun: count, sent: length * count, ended: count))
      }
    }
  }

  @Test("a meter sees nothing of HEAD, of empty bodies and of bodies that carry no meter")
  func noBodies() async throws {
    let meter = CountingMeter()
    try await withFile(meter, isInline: true) { server, length in
      let connection = try server.connect()
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await connection.receiveResponse()
      await meter.waitForEnds(1)
      try await connection.send("HEAD /file HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await connection.receiveResponse(toHead: true)
      for path in ["/count", "/unmodified", "/async"] {
        try await connection.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
        _ = try await connection.receiveResponse()
      }
      #expect(meter.counts == CountingMeter.Counts(begun: 1, sent: length, ended: 1))
    }
  }

  @Test("a meter sees the end of a body whose client goes away", arguments: [false, true])
  func brokenBody(isInline: Bool) async throws {
    let meter = CountingMeter()
    try await withFile(meter, isInline: isInline, length: 64 << 20) { server, length in
      let connection = try server.connect(receiveBuffer: 4096)
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await connection.receive(exactly: 100)
      #expect(meter.counts.begun == 1)
      connection.reset()
      await meter.waitForEnds(1)
      #expect(meter.counts.begun == 1)
      #expect(meter.counts.sent < length)
    }
  }

  // MARK: Abort

  @Test(
    "aborting by a meter resets its running bodies on every loop, and no others", arguments: [false, true])
  func abort(isInline: Bool) async throws {
    let meter = CountingMeter()
    let other = CountingMeter()
    try await withFile(meter, isInline: isInline, other: other, length: 64 << 20, loops: 3) {
      server, length in
      let doomed = try (0..<6).map { _ in try server.connect(receiveBuffer: 4096) }
      let spared = try server.connect(receiveBuffer: 4096)
      for connection in doomed { try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n") }
      try await spared.send("GET /other HTTP/1.1\r\nHost: h\r\n\r\n")
      for connection in doomed + [spared] { _ = try await connection.receive(exactly: 100) }
      server.server.abortBodies(meteredBy: [meter])
      for connection in doomed {
        let error = await #expect(throws: SystemError.self) { try await connection.receiveToEnd() }
        #expect(error?.number == ECONNRESET)
      }
      await meter.waitForEnds(6)
      #expect(meter.counts.begun == 6)
      // A reset would have come at once, and dropped what waits here.
      _ = try await spared.receive(exactly: 1 << 20)
      #expect(other.counts == CountingMeter.Counts(begun: 1, sent: other.counts.sent, ended: 0))
    }
  }

  @Test("an aborted body drops what the kernel had queued")
  func abortDropsQueue() async throws {
    let meter = CountingMeter()
    try await withFile(meter, isInline: true, length: 262_144) { server, length in
      // The client takes so little that the body, small enough for the kernel, stays there.
      let connection = try server.connect(receiveBuffer: 4096)
      try await connection.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await connection.receive(exactly: 100)
      server.server.abortBodies(meteredBy: [meter])
      // The loop carries the abort out: until then a client that reads would be served on.
      await meter.waitForEnds(1)
      var received = 100
      let error = await #expect(throws: SystemError.self) {
        while true { received += try await connection.receive().count }
      }
      #expect(error?.number == ECONNRESET)
      #expect(received < length - 65_536)
    }
  }

  // MARK: Pace

  @Test("a paced body takes the share that its meter has for it when its next part leaves")
  func renewedPace() async throws {
    let meter = CountingMeter()
    try await withFile(meter, isInline: true, length: 8 << 20) { server, length in
      let connection = try server.connect()
      let clock = ContinuousClock()
      let begin = clock.now
      // 8 MiB at 1 MiB/s, of which the kernel takes the first.
      try await connection.send("GET /paced HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await connection.receive(exactly: 1000)
      meter.setPace(1 << 30)
      _ = try await connection.receive(exactly: length - 1000)
      #expect(clock.now - begin < .seconds(5))
    }
  }

  @Test(
    "a paced response leaves no faster than asked, and the next one is free again", arguments: [false, true])
  func pace(isInline: Bool) async throws {
    let meter = CountingMeter()
    try await withFile(meter, isInline: isInline, length: 1 << 20) { server, length in
      let connection = try server.connect()
      func time(_ path: String) async throws -> Duration {
        let clock = ContinuousClock()
        let begin = clock.now
        try await connection.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
        #expect(try await connection.receiveResponse().body.count == length)
        return clock.now - begin
      }
      // 1 MiB at 1 MiB/s; the kernel lets the first few segments go at once.
      let paced = try await time("/paced")
      #expect(paced > .milliseconds(600))
      // A busy machine may be slow at times; one that is still paced is so each time.
      var isFree = false
      for _ in 0..<20 where !isFree { isFree = try await time("/file") < .milliseconds(500) }
      #expect(isFree)
    }
  }
}
