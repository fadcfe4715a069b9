import PullboxTesting
import Testing

@testable import HTTPServer

@Suite(.timeLimit(.minutes(10)))
struct StreamTests {
  @Test("what a stream writes arrives while it goes on")
  func events() async throws {
    let gate = Gate()
    try await withServer(respond: { _ in
      HTTPResponse(
        status: .ok, headers: ["Content-Type": "text/event-stream"],
        body: .stream { writer in
          try await writer.write("data: 1\n\n")
          await gate.wait()
          try await writer.write("data: 2\n\n")
        })
    }) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let head = try await connection.receive(through: "\r\n\r\n")
      #expect(head.contains("Transfer-Encoding: chunked\r\n"))
      #expect(try await connection.receive(through: "1\n\n\r\n") == "9\r\ndata: 1\n\n\r\n")
      await gate.open()
      #expect(try await connection.receive(through: "0\r\n\r\n") == "9\r\ndata: 2\n\n\r\n0\r\n\r\n")
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().text == "data: 1\n\ndata: 2\n\n")
    }
  }

  @Test(
    "a stream of known length is not chunked; one that ends short ends the connection", arguments: [10, 12])
  func knownLength(_ announced: Int64) async throws {
    try await withServer(respond: { _ in
      HTTPResponse(
        status: .ok,
        body: .stream(contentLength: announced) { writer in
          try await writer.write("01234")
          try await writer.write("56789")
        })
    }) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let head = try await connection.receive(through: "\r\n\r\n")
      #expect(head.contains("Content-Length: \(announced)\r\n"))
      #expect(try await connection.receive(exactly: 10) == Array("0123456789".utf8))
      if announced > 10 { #expect(try await connection.receiveToEnd() == []) }
    }
  }

  @Test("more bytes than announced are refused to the writer")
  func tooManyBytes() async throws {
    let code = Locked<ResponseWriterError.Code?>(nil)
    try await withServer(respond: { _ in
      HTTPResponse(
        status: .ok,
        body: .stream(contentLength: 5) { writer in
          try await writer.write("01234")
          do throws(ResponseWriterError) {
            try await writer.write("5")
          } catch {
            code.withLock { $0 = error.code }
          }
        })
    }) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().text == "01234")
    }
    #expect(code.current == .tooManyBytes)
  }

  @Test("a stream that fails ends the connection without its last chunk")
  func failure() async throws {
    struct Failure: Error {}
    try await withServer(respond: { _ in
      HTTPResponse(
        status: .ok,
        body: .stream { writer in
          try await writer.write("begun")
          throw Failure()
        })
    }) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      let all = String(decoding: try await connection.receiveToEnd(), as: UTF8.self)
      #expect(all.hasSuffix("\r\n\r\n5\r\nbegun\r\n") || all.hasSuffix("\r\n\r\n"))
    }
  }

  @Test("to a client of HTTP/1.0 a stream ends with the connection")
  func oldClient() async throws {
    try await withServer(respond: { _ in
      HTTPResponse(status: .ok, body: .stream { try await $0.write("old") })
    }) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
      let all = String(decoding: try await connection.receiveToEnd(), as: UTF8.self)
      #expect(all.contains("Connection: close\r\n"))
      #expect(!all.contains("chunked"))
      #expect(all.hasSuffix("\r\n\r\nold"))
    }
  }

  @Test("HEAD does not run the stream")
  func head() async throws {
    try await withServer(respond: { _ in
      HTTPResponse(status: .ok, body: .stream { _ in Issue.record("the stream ran") })
    }) { server in
      let connection = try server.connect()
      try await connection.send("HEAD / HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse(toHead: true).status == 200)
    }
  }

  @Test("a writer waits for a slow reader instead of filling memory")
  func backPressure() async throws {
    let written = Locked(0)
    let block = [UInt8](repeating: 7, count: 65_536)
    try await withServer(
      configure: { $0.streamBufferLength = 65_536 },
      respond: { _ in
        HTTPResponse(
          status: .ok,
          body: .stream(contentLength: 32 << 20) { writer in
            for _ in 0..<512 {
              try await writer.write(block)
              written.withLock { $0 += block.count }
            }
          })
      }
    ) { server in
      let connection = try server.connect(receiveBuffer: 65_536)
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await connection.receive(through: "\r\n\r\n")
      var received = 0
      var greatestLead = 0
      while received < 32 << 20 {
        received += try await connection.receive().count
        greatestLead = max(greatestLead, written.current - received)
      }
      #expect(received == 32 << 20)
      // The lead is bounded by the kernel's buffers and the server's own, not by the whole.
      #expect(greatestLead < 16 << 20)
    }
  }

  @Test(
    "a stream goes on for a client that has closed its sending half, until it has nothing to send for two seconds"
  )
  func halfClosed() async throws {
    let clock = ManualMonotonicClock()
    let steps = AsyncStream.makeStream(of: Void.self)
    try await withServer(
      clock: clock,
      respond: { _ in
        HTTPResponse(
          status: .ok,
          body: .stream { writer in
            try await writer.write(Array("0".utf8))
            var number = 0
            for await _ in steps.stream {
              number += 1
              try await writer.write(Array("\(number)".utf8))
            }
            try Task.checkCancellation()
          })
      }
    ) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await connection.receive(through: "\r\n\r\n1\r\n0\r\n")
      connection.endSending()
      for number in 1...5 {
        await server.server.ping()
        clock.advance(by: .milliseconds(1500))
        server.server.clockDidMove()
        await server.server.ping()
        steps.continuation.yield()
        #expect(try await connection.receive(through: "1\r\n\(number)\r\n").utf8.count == 6)
      }
      await server.server.ping()
      clock.advance(by: .milliseconds(2100))
      server.server.clockDidMove()
      // Its end is missing: it was cut off.
      #expect(try await connection.receiveToEnd() == [])
    }
  }

  enum Departure: CaseIterable {
    case closes
    case resets
  }

  @Test(
    "a peer that goes cancels its handler, which has nothing for it", arguments: Departure.allCases,
    [false, true])
  func departure(departure: Departure, streams: Bool) async throws {
    let begun = Gate()
    let cancelled = Gate()
    let waitForever: @Sendable () async -> Void = {
      await begun.open()
      let stream = AsyncStream<Never> { _ in }
      for await _ in stream {}
      if Task.isCancelled { await cancelled.open() }
    }
    try await withServer(
      configure: { $0.lingerDeadline = departure == .closes ? .milliseconds(1) : .seconds(3600) },
      respond: { _ in
        if streams { return HTTPResponse(status: .ok, body: .stream { _ in await waitForever() }) }
        await waitForever()
        return HTTPResponse(status: .ok)
      }
    ) { server in
      let connection = try server.connect()
      try await connection.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
      await begun.wait()
      switch departure {
      case .closes: connection.endSending()
      case .resets: connection.reset()
      }
      await cancelled.wait()
    }
  }
}
