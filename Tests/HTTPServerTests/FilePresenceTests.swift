import CoreTypes
import Glibc
import HTTPParsing
import PullboxTesting
import SystemCalls
import Testing

@testable import HTTPServer

/// Responses from files of which only parts are there.
@Suite("Files that come while they are sent", .timeLimit(.minutes(10)))
struct FilePresenceTests {
  /// How a request is answered, and over what.
  enum Way: CaseIterable {
    case inline
    case async
    case secure
  }

  /// Answers off the loops as ``FileHandler`` does on them.
  private static func answer(_ request: HTTPRequest, from file: SharedDescriptor) -> HTTPResponse {
    let length = file.length.rawValue
    var response = HTTPResponse(status: .partialContent)
    switch RangeSet.requested(request, length: length) {
    case .ignore:
      response.status = .ok
      response.body = .file(file, 0..<length)
    case .single(let range):
      response.body = .file(file, range)
    case .several(let ranges):
      let multipart = MultipartRanges(ranges, of: file, partType: "text/plain", boundary: "edge")
      response.headers["Content-Type"] = multipart.contentType
      response.body = .parts(multipart.parts)
    case .unsatisfiable: return HTTPResponse(status: .rangeNotSatisfiable)
    }
    return response
  }

  private func withServer(
    _ presence: ScriptedPresence, _ way: Way, clock: any MonotonicClock = SystemMonotonicClock(),
    configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    _ body: (HTTPServer, _ connect: (Int32?) async throws -> any TestConnection) async throws -> Void
  ) async throws {
    let file = try presence.makeFile()
    let inline = way == .async ? nil : FileHandler(file: file)
    let respond: @Sendable (HTTPRequest) async -> HTTPResponse = { Self.answer($0, from: file) }
    func configured(_ configuration: inout HTTPServerConfiguration) {
      configuration.sliceLength = 65_536
      configure(&configuration)
    }
    if way == .secure {
      try await withSecureServer(inline: inline, clock: clock, configure: configured, respond: respond) {
        server in
        try await body(server.server) { try await server.connect(receiveBuffer: $0) }
      }
    } else {
      try await HTTPServerTests.withServer(
        inline: inline, clock: clock, configure: configured, respond: respond
      ) { server in
        try await body(server.server) { try server.connect(receiveBuffer: $0) }
      }
    }
    #expect(presence.heldCount == 0)
    #expect(presence.waitCount == 0)
  }

  private func get(_ path: String = "/file", range: String? = nil, method: String = "GET") -> String {
    "\(method) \(path) HTTP/1.1\r\nHost: h\r\n\(range.map { "Range: bytes=\($0)\r\n" } ?? "")\r\n"
  }

  @Test(
    "a body waits where a part is not there, and goes on with it, wherever that is", arguments: Way.allCases)
  func absent(way: Way) async throws {
    let presence = try ScriptedPresence(length: 500_000)
    // The first, one in the middle, and the last one are not there.
    presence.provide(1, 2, 4, 5, 6)
    try await withServer(presence, way) { _, connect in
      let connection = try await connect(nil)
      try await connection.send(get())
      for piece in [0, 3, 7] {
        await presence.waitForWaits()
        #expect(presence.brings.last == Int64(piece * 65_536)..<500_000)
        presence.provide(piece)
      }
      let response = try await connection.receiveResponse()
      #expect(response.status == 200)
      #expect(response.body == presence.content)
      #expect(presence.brings.count == 3)
      // What is there needs nothing.
      try await connection.send(get())
      #expect(try await connection.receiveResponse().body == presence.content)
      #expect(presence.brings.count == 3)
    }
  }

  @Test("what is there is sent before the body waits for what is not", arguments: Way.allCases)
  func early(way: Way) async throws {
    let presence = try ScriptedPresence(length: 500_000)
    presence.provide(0, 1)
    try await withServer(presence, way) { _, connect in
      let connection = try await connect(nil)
      try await connection.send(get(range: "1000-200000"))
      #expect(try await connection.receive(through: "\r\n\r\n").hasPrefix("HTTP/1.1 206 "))
      #expect(
        try await connection.receive(exactly: 131_072 - 1000) == Array(presence.content[1000..<131_072]))
      await presence.waitForWaits()
      // What the range does not reach is not asked for.
      #expect(presence.brings == [131_072..<200_001])
      presence.provide(2)
      await presence.waitForWaits()
      presence.provide(3)
      #expect(
        try await connection.receive(exactly: 200_001 - 131_072)
          == Array(presence.content[131_072..<200_001]))
    }
  }

  @Test("each of several ranges waits for its own parts", arguments: Way.allCases)
  func ranges(way: Way) async throws {
    let presence = try ScriptedPresence(length: 500_000)
    presence.provide(2)
    try await withServer(presence, way) { _, connect in
      let connection = try await connect(nil)
      try await connection.send(get(range: "5-9,131070-131075,450000-499999"))
      for piece in [0, 1, 6, 7] {
        await presence.waitForWaits()
        presence.provide(piece)
      }
      let response = try await connection.receiveResponse()
      let multipart = try Multipart(response.body, boundary: "edge")
      #expect(
        multipart.parts.map(\.range) == [
          "bytes 5-9/500000", "bytes 131070-131075/500000", "bytes 450000-499999/500000",
        ])
      #expect(
        multipart.parts.map(\.body) == [
          Array(presence.content[5...9]), Array(presence.content[131_070...131_075]),
          Array(presence.content[450_000...]),
        ])
      #expect(presence.brings.map(\.lowerBound) == [5, 131_070, 450_000, 458_752])
    }
  }

  @Test("a range so short that it is copied behind its head waits as well", arguments: Way.allCases)
  func short(way: Way) async throws {
    let presence = try ScriptedPresence(length: 500_000)
    try await withServer(presence, way) { _, connect in
      let connection = try await connect(nil)
      try await connection.send(get(range: "65530-65545"))
      for piece in [0, 1] {
        await presence.waitForWaits()
        presence.provide(piece)
      }
      #expect(try await connection.receiveResponse().body == Array(presence.content[65_530...65_545]))
      for bytes in [65_530...65_545, 7...7, 65_000...65_999] {
        try await connection.send(get(range: "\(bytes.lowerBound)-\(bytes.upperBound)"))
        #expect(try await connection.receiveResponse().body == Array(presence.content[bytes]))
      }
      #expect(presence.brings.count == 2)
    }
  }

  @Test("HEAD waits for nothing", arguments: Way.allCases)
  func head(way: Way) async throws {
    let presence = try ScriptedPresence(length: 500_000)
    try await withServer(presence, way) { _, connect in
      let connection = try await connect(nil)
      for range in [nil, "0-9", "0-9,70000-70001"] {
        try await connection.send(get(range: range, method: "HEAD"))
        // RFC 9110 §14.2: a range is for GET alone.
        #expect(try await connection.receiveResponse(toHead: true).status == 200)
      }
      #expect(presence.brings.isEmpty)
    }
  }

  @Test("requests that come meanwhile are answered after the body that waits, each right")
  func pipelined() async throws {
    let presence = try ScriptedPresence(length: 200_000)
    try await withServer(presence, .inline) { _, connect in
      let connection = try await connect(nil)
      try await connection.send(get(range: "0-99999") + get("/count") + get(range: "150000-150009"))
      for piece in [0, 1, 2] {
        await presence.waitForWaits()
        presence.provide(piece)
      }
      #expect(try await connection.receiveResponse().body == Array(presence.content[..<100_000]))
      #expect(try await connection.receiveResponse().text == "request 2")
      #expect(try await connection.receiveResponse().body == Array(presence.content[150_000..<150_010]))
    }
  }

  @Test(
    "a hundred bodies wait without a thread: others are served meanwhile, and all go on with what they wait for"
  )
  func hundred() async throws {
    let presence = try ScriptedPresence(length: 200_000)
    presence.provide(1, 2, 3)
    try await withServer(presence, .inline) { server, connect in
      var connections: [any TestConnection] = []
      for _ in 0..<100 {
        let connection = try await connect(nil)
        try await connection.send(get())
        connections.append(connection)
      }
      await presence.waitForWaits(100)
      let other = try await connect(nil)
      try await other.send(get("/count"))
      #expect(try await other.receiveResponse().text == "request 1")
      #expect(server.waitingPageJobs == 0)
      presence.provide(0)
      for connection in connections {
        #expect(try await connection.receiveResponse().body == presence.content)
      }
      #expect(presence.brings.count == 100)
    }
  }

  // MARK: Ends

  @Test("a client that goes away while its body waits ends the wait", arguments: Way.allCases)
  func gone(way: Way) async throws {
    let presence = try ScriptedPresence(length: 500_000)
    presence.provide(0)
    try await withServer(presence, way) { server, connect in
      for count in 1...3 {
        let connection = try await connect(nil)
        try await connection.send(get())
        await presence.waitForWaits()
        connection.reset()
        while presence.waitCount > 0 { await server.ping() }
        #expect(presence.givenUpCount == count)
      }
      // What comes afterwards reaches no other connection.
      let other = try await connect(nil)
      try await other.send(get())
      await presence.waitForWaits()
      presence.provideAll()
      #expect(try await other.receiveResponse().body == presence.content)
    }
  }

  @Test(
    "a body whose part does not come ends short, after what was right and without another byte",
    arguments: Way.allCases)
  func failure(way: Way) async throws {
    let presence = try ScriptedPresence(length: 500_000)
    presence.provide(0, 1, 4)
    try await withServer(presence, way) { server, connect in
      let connection = try await connect(nil)
      try await connection.send(get())
      _ = try await connection.receive(through: "\r\n\r\n")
      #expect(try await connection.receive(exactly: 131_072) == Array(presence.content[..<131_072]))
      await presence.waitForWaits()
      presence.fail()
      await #expect(throws: (any Error).self) { try await connection.receive(exactly: 1) }
      while server.statistics().openConnections > 0 { await server.ping() }
      #expect(server.statistics().bytesSent == 131_072)
    }
  }

  @Test("a body that is ended by its meter while it waits waits no longer")
  func aborted() async throws {
    let presence = try ScriptedPresence(length: 500_000)
    let file = try presence.makeFile()
    let meter = CountingMeter()
    let handler = MeteredFile(file: file, meter: meter, other: CountingMeter(), isInline: true)
    try await HTTPServerTests.withServer(inline: handler) { server in
      let connection = try server.connect()
      try await connection.send(get())
      await presence.waitForWaits()
      server.server.abortBodies(meteredBy: [meter])
      await meter.waitForEnds(1)
      await server.server.ping()
      #expect(presence.givenUpCount == 1)
      #expect(meter.counts == .init(begun: 1, sent: 0, ended: 1))
      let error = await #expect(throws: SystemError.self) { try await connection.receiveToEnd() }
      #expect(error?.number == ECONNRESET)
    }
  }

  @Test("a body waits until the storage deadline, also where what comes is gone before it can be sent")
  func deadline() async throws {
    let presence = try ScriptedPresence(length: 500_000)
    let clock = ManualMonotonicClock()
    try await withServer(
      presence, .inline, clock: clock,
      configure: {
        $0.storageDeadline = .seconds(20)
        $0.idleDeadline = .seconds(3600)
      }
    ) { server, connect in
      let connection = try await connect(nil)
      try await connection.send(get())
      await presence.waitForWaits()
      for _ in 0..<3 {
        clock.advance(by: .seconds(6))
        server.clockDidMove()
        await server.ping()
        presence.lie()
        await presence.waitForWaits()
      }
      #expect(server.statistics().deadlinesPassed[.storage] == 0)
      clock.advance(by: .seconds(3))
      server.clockDidMove()
      _ = try? await connection.receiveToEnd()
      #expect(server.statistics().deadlinesPassed[.storage] == 1)
      #expect(presence.brings.count == 4)
    }
  }

  @Test("a server that ends lets a body that waits have its part, within the drain's deadline")
  func drain() async throws {
    let presence = try ScriptedPresence(length: 200_000)
    let file = try presence.makeFile()
    let server = try TestServer(inline: FileHandler(file: file))
    let connection = try server.connect()
    try await connection.send(get())
    await presence.waitForWaits()
    async let drained: Void = server.server.drain()
    presence.provideAll()
    #expect(try await connection.receiveResponse().body == presence.content)
    connection.reset()
    await drained
    #expect(presence.heldCount == 0)
  }

  // MARK: What goes while it is sent

  @Test("whatever goes while it is sent, a slow client gets right bytes", arguments: Way.allCases)
  func evictions(way: Way) async throws {
    let presence = try ScriptedPresence(length: 1_500_000, pieceLength: 32_768)
    presence.provideAtOnce()
    try await withServer(presence, way, configure: { $0.notSentLowWater = 16_384 }) { server, connect in
      let isOver = Locked(false)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          var random = SplitMix(seed: 9)
          while !isOver.current {
            for _ in 0..<8 { presence.remove(Int(random.next() % UInt64(presence.pieceCount))) }
            await server.ping()
          }
        }
        for number in 0..<4 {
          let connection = try await connect(8192)
          try await connection.send(get(range: "\(number * 1000)-"))
          let response = try await connection.receiveResponse()
          #expect(response.body.hasSameBytes(as: Array(presence.content[(number * 1000)...])))
        }
        isOver.withLock { $0 = true }
        try await group.waitForAll()
      }
    }
  }
}
