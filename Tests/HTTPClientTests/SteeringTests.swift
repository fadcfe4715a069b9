import CoreTypes
import HTTPClient
import PullboxTesting
import ServiceRuntime
import Testing

struct SteeringTests {
  private static let body = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
  private static let script: [ScriptedPeer.Step] = [
    .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"), .sendBytes(body),
  ]

  @Test("pausing loses nothing, and a resume that overtakes the pause is not lost")
  func pauseAndResumeAtOnce() async throws {
    let receiver = RecordingReceiver { $0.isMultiple(of: 7) ? .pause : .consumed }
    receiver.pausing = { [unowned receiver] in receiver.handle?.resume() }
    try await withPeer([Self.script]) { peer, client in
      let summary = try await client.stream(.test(method: "GET", url: peer.url), to: receiver)
      #expect(summary.bytesReceived == ByteCount(1_000_000))
      #expect(receiver.bytes == Self.body)
      #expect(receiver.pauses > 5)
    }
  }

  @Test("pausing loses nothing when another thread resumes later")
  func pauseAndResumeLater() async throws {
    let (pauses, continuation) = AsyncStream.makeStream(of: Void.self)
    let receiver = RecordingReceiver { $0.isMultiple(of: 11) ? .pause : .consumed }
    receiver.pausing = { continuation.yield() }
    try await withPeer([Self.script]) { peer, client in
      async let resuming: Void = {
        for await _ in pauses {
          await Task.yield()
          receiver.handle?.resume()
        }
      }()
      _ = try await client.stream(.test(method: "GET", url: peer.url), to: receiver)
      continuation.finish()
      await resuming
      #expect(receiver.bytes == Self.body)
    }
  }

  @Test("a transfer paused from outside goes on after a resume")
  func pausedFromOutside() async throws {
    let gate = Gate()
    let receiver = RecordingReceiver()
    try await withPeer([
      [
        .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nabc"), .pass(gate), .send("def"),
      ]
    ]) { peer, client in
      async let summary = client.stream(.test(method: "GET", url: peer.url), to: receiver)
      await receiver.firstByte.wait()
      receiver.handle?.pause()
      gate.open()
      receiver.handle?.resume()
      _ = try await summary
      #expect(receiver.text == "abcdef")
    }
  }

  @Test("cancelling the task ends the transfer and closes its connection")
  func taskCancellation() async throws {
    let receiver = RecordingReceiver()
    try await withPeer([
      [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .untilClosed]
    ]) { peer, client in
      let url = peer.url
      let error = await withTaskGroup(of: HTTPClientError?.self) { group in
        group.addTask { await client.failure(.test(method: "GET", url: url), to: receiver) }
        await receiver.firstByte.wait()
        group.cancelAll()
        return await group.next() ?? nil
      }
      #expect(error?.code == .cancelled)
      #expect(error?.bytesReceived == ByteCount(3))
    }
  }

  @Test("a handle cancels from any thread, and does nothing afterwards")
  func handleCancellation() async throws {
    let receiver = RecordingReceiver()
    try await withPeer([
      [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .untilClosed]
    ]) { peer, client in
      async let failure = client.failure(.test(method: "GET", url: peer.url), to: receiver)
      await receiver.firstByte.wait()
      receiver.handle?.cancel()
      let error = await failure
      #expect(error?.code == .cancelled)
      receiver.handle?.cancel()
      receiver.handle?.resume()
      receiver.handle?.pause()
    }
  }

  @Test("a task that is cancelled already sends nothing")
  func cancelledBefore() async throws {
    try await withPeer([]) { peer, client in
      let url = peer.url
      let error = await withTaskGroup(of: HTTPClientError?.self) { group in
        group.cancelAll()
        group.addTask { await client.failure(.test(method: "GET", url: url), to: RecordingReceiver()) }
        return await group.next() ?? nil
      }
      #expect(error?.code == .cancelled)
      #expect(peer.connections == 0)
    }
  }

  @Test("shutting the client down ends what runs and refuses what comes")
  func shutDown() async throws {
    let receiver = RecordingReceiver()
    try await withPeer([
      [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .untilClosed]
    ]) { peer, client in
      async let failure = client.failure(.test(method: "GET", url: peer.url), to: receiver)
      await receiver.firstByte.wait()
      client.shutDown()
      let error = await failure
      #expect(error?.code == .shutDown)
      #expect(error?.bytesReceived == ByteCount(3))
      let late = await client.failure(.test(method: "GET", url: peer.url), to: RecordingReceiver())
      #expect(late?.code == .shutDown)
    }
  }

  @Test("closing all connections ends what runs, and what comes makes connections of its own")
  func disconnect() async throws {
    let receiver = RecordingReceiver()
    let whole: [ScriptedPeer.Step] = [
      .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
    ]
    try await withPeer([
      whole + [.untilClosed],
      [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"), .untilClosed], whole,
    ]) { peer, client in
      let first = try await client.send(.test(method: "GET", url: peer.url))
      #expect(first.status == 200)
      await client.disconnect()
      #expect(peer.connections == 1)
      async let failure = client.failure(.test(method: "GET", url: peer.url), to: receiver)
      await receiver.firstByte.wait()
      #expect(peer.connections == 2, "the kept one is gone")
      await client.disconnect()
      let error = await failure
      #expect(error?.code == .connectionLost && error?.isRetryable == true)
      #expect(error?.bytesReceived == ByteCount(3))
      let last = try await client.send(.test(method: "GET", url: peer.url))
      #expect(last.status == 200)
      #expect(peer.connections == 3)
    }
  }

  @Test("a cap on the speed slows a transfer down")
  func speedCap() async throws {
    try await withPeer([
      [
        .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n"),
        .sendBytes([UInt8](repeating: 7, count: 8_000_000)),
      ]
    ]) { peer, client in
      var request = ClientRequest.test(method: "GET", url: peer.url)
      request.maximumReceiveSpeed = ByteCount(4_000_000)
      request.receiveBufferLength = .kibibytes(64)
      let receiver = RecordingReceiver()
      let summary = try await client.stream(request, to: receiver)
      #expect(summary.bytesReceived == ByteCount(8_000_000))
      #expect(summary.duration > .milliseconds(500))
    }
  }
}
