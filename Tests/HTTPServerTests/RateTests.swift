import CLinux
import CoreTypes
import Glibc
import PullboxTesting
import SystemCalls
import Testing

@testable import HTTPServer

/// The rates that clients must keep.
@Suite(.timeLimit(.minutes(10)))
struct RateTests {
  /// Returns when the server's loop has seen everything that happened before, the clock included: a first
  /// answer may be of the same turn, before its deadlines; the second is of a later one.
  private func roundTrip(_ connection: RawConnection) async throws {
    for _ in 0..<2 {
      try await connection.send("GET /count HTTP/1.1\r\nHost: h\r\n\r\n")
      #expect(try await connection.receiveResponse().status == 200)
    }
  }

  @Test("a reader above the minimum rate is served on, one that falls below it is reset")
  func slowReader() async throws {
    let clock = ManualMonotonicClock()
    let meter = CountingMeter()
    try await withFile(
      meter, isInline: true, length: 64 << 20, clock: clock,
      configure: {
        $0.sendDeadline = .seconds(10)
        $0.minimumSendRate = 40_000
        $0.idleDeadline = .seconds(3600)
      }
    ) { server, length in
      let slow = try server.connect(receiveBuffer: 32_768)
      let other = try server.connect()
      try await slow.send("GET /file HTTP/1.1\r\nHost: h\r\n\r\n")
      // 100 kB a second: whenever a window of ten begins, the client takes far more than 400 kB in it.
      for _ in 0..<33 {
        _ = try await slow.receive(exactly: 100_000)
        try await roundTrip(other)
        clock.advance(by: .seconds(1))
        server.server.clockDidMove()
        try await roundTrip(other)
        #expect(server.server.statistics().deadlinesPassed[.send] == 0)
      }
      // A few bytes are not enough, with what the client's kernel takes on its own; a window may begin with
      // the first.
      while server.server.statistics().deadlinesPassed[.send] == 0 {
        _ = try await slow.receive(exactly: 100)
        clock.advance(by: .seconds(11))
        server.server.clockDidMove()
        try await roundTrip(other)
      }
      let error = await #expect(throws: SystemError.self) { try await slow.receiveToEnd() }
      #expect(error?.number == ECONNRESET)
      #expect(server.server.statistics().deadlinesPassed[.send] == 1)
      await meter.waitForEnds(1)
      try await roundTrip(other)
    }
  }

  @Test("a body above the minimum rate is read on, one that falls below it is cut off")
  func slowWriter() async throws {
    let clock = ManualMonotonicClock()
    let arrived = Tally()
    try await withServer(
      clock: clock,
      configure: {
        $0.bodyDeadline = .seconds(10)
        $0.minimumReceiveRate = 10
        $0.idleDeadline = .seconds(3600)
      },
      respond: { request in
        guard request.path == "/slow" else { return HTTPResponse(status: .ok) }
        var iterator = request.body.makeAsyncIterator()
        do throws(RequestBodyError) {
          while let bytes = try await iterator.next() { await arrived.add(bytes.count) }
          return HTTPResponse(status: .ok)
        } catch {
          return HTTPResponse(status: error.code == .timedOut ? .requestTimeout : .internalServerError)
        }
      }
    ) { server in
      let slow = try server.connect()
      let other = try server.connect()
      try await slow.send("POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: 10000\r\n\r\n")
      try await slow.send([1])
      await arrived.wait(for: 1)
      for round in 1...3 {
        try await slow.send([UInt8](repeating: 1, count: 100))
        await arrived.wait(for: 1 + round * 100)
        clock.advance(by: .seconds(10.1))
        server.server.clockDidMove()
        try await roundTrip(other)
        #expect(server.server.statistics().deadlinesPassed[.body] == 0)
      }
      try await slow.send([UInt8](repeating: 1, count: 99))
      await arrived.wait(for: 400)
      clock.advance(by: .seconds(10.1))
      server.server.clockDidMove()
      let response = try await slow.receiveResponse()
      #expect(response.status == 408)
      #expect(response["Connection"] == "close")
      #expect(server.server.statistics().deadlinesPassed[.body] == 1)
    }
  }

  @Test("a client that waits for its handler is not too slow, however long the handler takes")
  func slowHandler() async throws {
    let clock = ManualMonotonicClock()
    let begun = Gate()
    let goOn = Gate()
    try await withServer(
      clock: clock,
      configure: {
        $0.bodyBufferLength = 16_384
        $0.idleDeadline = .seconds(36_000)
      },
      respond: { request in
        guard request.path == "/slow" else { return HTTPResponse(status: .ok) }
        var iterator = request.body.makeAsyncIterator()
        var count = 0
        do throws(RequestBodyError) {
          while let bytes = try await iterator.next() {
            count += bytes.count
            await begun.open()
            await goOn.wait()
          }
        } catch {
          return HTTPResponse(status: .badRequest)
        }
        return HTTPResponse(status: .ok, body: .bytes(Array("\(count)".utf8)))
      }
    ) { server in
      let slow = try server.connect()
      let other = try server.connect()
      let length = 20 << 20
      try await slow.send("POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n")
      let sent = try await slow.sendWithoutWaiting([UInt8](repeating: 1, count: length))
      await begun.wait()
      for _ in 0..<5 {
        try await roundTrip(other)
        clock.advance(by: .seconds(60))
        server.server.clockDidMove()
      }
      try await roundTrip(other)
      #expect(server.server.statistics().deadlinesPassed[.body] == 0)
      await goOn.open()
      try await slow.send([UInt8](repeating: 1, count: length - sent))
      #expect(try await slow.receiveResponse().text == "\(length)")
    }
  }

  @Test("a response with a pace is not dropped for keeping it")
  func paced() async throws {
    let clock = ManualMonotonicClock()
    let meter = CountingMeter()
    // At 1 MiB/s half of it is due, whatever the configured minimum.
    try await withFile(
      meter, isInline: true, length: 2 << 20, clock: clock,
      configure: {
        $0.minimumSendRate = 1 << 30
        $0.sendDeadline = .seconds(1)
      }
    ) { server, length in
      let connection = try server.connect(receiveBuffer: 32_768)
      try await connection.send("GET /paced HTTP/1.1\r\nHost: h\r\n\r\n")
      _ = try await connection.receive(through: "\r\n\r\n")
      var received = 0
      while received < length {
        let count = try await connection.receive().count
        try #require(count > 0)
        received += count
        // The client takes three quarters of the pace.
        clock.advance(by: .nanoseconds(count * 1_000_000_000 / (768 << 10)))
        server.server.clockDidMove()
      }
      #expect(server.server.statistics().deadlinesPassed[.send] == 0)
    }
  }
}

/// A sum that tests wait for.
actor Tally {
  private var sum = 0
  private var waiting: [(sum: Int, continuation: CheckedContinuation<Void, Never>)] = []

  func add(_ count: Int) {
    sum += count
    for waiter in waiting where waiter.sum <= sum { waiter.continuation.resume() }
    waiting.removeAll { $0.sum <= sum }
  }

  func wait(for wanted: Int) async {
    if sum >= wanted { return }
    await withCheckedContinuation { waiting.append((wanted, $0)) }
  }
}
