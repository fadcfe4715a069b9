import CoreTypes
import HTTPClient
import PullboxTesting
import ServiceRuntime
import Testing

@testable import ObjectStore

@Suite(.timeLimit(.minutes(2)))
struct ReadingTests {
  private let key = ObjectKey("packages/ab/cdef")

  /// A 206 that brings `body` from `start` on, of an object of 20 bytes.
  private func part(_ body: String, at start: Int, promised: Int? = nil, tag: String = "\"1\"")
    -> ScriptedPeer.Step
  {
    let count = promised ?? body.utf8.count
    return answer(
      "206 Partial Content",
      fields: ["Content-Range: bytes \(start)-\(start + count - 1)/20", "ETag: \(tag)"], body: body,
      length: count)
  }

  private func get(
    _ store: ObjectStore, _ range: Range<Int64>, _ receiver: RecordingObjectReceiver
  ) async throws(ObjectStoreError) -> ObjectAttributes {
    try await store.get(key, range: range, within: .patience, to: receiver)
  }

  @Test("a range comes with its place in the object")
  func range() async throws {
    try await withStore([[.readRequest, part("klmno", at: 10)]]) { store, peer in
      let receiver = RecordingObjectReceiver()
      let attributes = try await get(store, 10..<15, receiver)
      #expect(attributes == ObjectAttributes(length: ByteCount(20), entityTag: "\"1\""))
      #expect(receiver.text == "klmno")
      #expect(receiver.parts == [ObjectPart(range: 10..<15, attributes: attributes)])
      #expect(field("Range", of: peer.requests[0]) == "bytes=10-14")
    }
  }

  @Test("an object comes whole, also an empty one, up to its bound and no further")
  func whole() async throws {
    try await withStore([
      [.readRequest, answer("200 OK", body: "abcde")], [.readRequest, answer("200 OK")],
      [.readRequest, answer("200 OK", body: "abcde")],
    ]) { store, peer in
      let whole = try await store.bytes(of: key, upTo: ByteCount(5), within: .patience)
      #expect(whole == Array("abcde".utf8))
      let empty = try await store.bytes(of: key, upTo: ByteCount(5), within: .patience)
      #expect(empty.isEmpty)
      let error = await failure { () async throws(ObjectStoreError) in
        try await store.bytes(of: key, upTo: ByteCount(4), within: .patience)
      }
      #expect(error?.code == .tooLarge)
      #expect(field("Range", of: peer.requests[0]) == nil)
    }
  }

  @Test("a try that breaks off is taken up where it ended, and every byte comes once")
  func resumed() async throws {
    let clocks = ManualClocks()
    try await withStore(
      [
        [.readRequest, part("klm", at: 10, promised: 10)], [.readRequest],
        [.readRequest, part("nopqrst", at: 13)],
      ], clocks: clocks
    ) { store, peer in
      let receiver = RecordingObjectReceiver()
      async let attributes = get(store, 10..<20, receiver)
      for _ in 0..<2 {
        await clocks.clock.waitForSleepers()
        clocks.clock.advance(by: .seconds(5))
      }
      let length = try await attributes.length
      #expect(length == ByteCount(20))
      #expect(receiver.text == "klmnopqrst")
      #expect(receiver.parts.count == 1)
      #expect(receiver.handles.count == 3)
      #expect(peer.requests.map { field("Range", of: $0) } == ["bytes=10-19", "bytes=13-19", "bytes=13-19"])
    }
  }

  @Test("a whole object is taken up as well")
  func resumedWhole() async throws {
    let clocks = ManualClocks()
    try await withStore(
      [
        [.readRequest, answer("200 OK", fields: ["ETag: \"1\""], body: "abcdefgh", length: 20)],
        [.readRequest, part("ijklmnopqrst", at: 8)],
      ], clocks: clocks
    ) { store, peer in
      async let whole = store.bytes(of: key, upTo: ByteCount(20), within: .patience)
      await clocks.clock.waitForSleepers()
      clocks.clock.advance(by: .seconds(5))
      let bytes = try await whole
      #expect(bytes == Array("abcdefghijklmnopqrst".utf8))
      #expect(peer.requests.map { field("Range", of: $0) } == [nil, "bytes=8-19"])
    }
  }

  @Test("an object that was replaced between two tries ends the call")
  func replaced() async throws {
    let clocks = ManualClocks()
    try await withStore(
      [
        [.readRequest, part("klm", at: 10, promised: 10)],
        [.readRequest, part("nopqrst", at: 13, tag: "\"2\"")],
      ],
      clocks: clocks
    ) { store, _ in
      let receiver = RecordingObjectReceiver()
      async let error = failure { () async throws(ObjectStoreError) in try await get(store, 10..<20, receiver)
      }
      await clocks.clock.waitForSleepers()
      clocks.clock.advance(by: .seconds(5))
      #expect(await error?.code == .objectChanged)
      #expect(receiver.text == "klm")
    }
  }

  @Test("a receiver that pauses gets the same bytes after it resumes")
  func paused() async throws {
    try await withStore([[.readRequest, part("klmno", at: 10)]]) { store, _ in
      let receiver = RecordingObjectReceiver { $0 == 1 ? .pause : .consumed }
      async let attributes = get(store, 10..<15, receiver)
      await receiver.paused.wait()
      receiver.handles.last?.resume()
      _ = try await attributes
      #expect(receiver.text == "klmno")
    }
  }

  @Test("a receiver that wants no more ends the call")
  func stopped() async throws {
    try await withStore([[.readRequest, part("klmno", at: 10)]]) { store, _ in
      let receiver = RecordingObjectReceiver { _ in .stop }
      let error = await failure { () async throws(ObjectStoreError) in try await get(store, 10..<15, receiver)
      }
      #expect(error?.code == .stopped)
    }
  }

  @Test(
    "a canceled task, and a canceled handle, end the call in the middle of a body", arguments: [true, false])
  func cancelled(byTask: Bool) async throws {
    try await withStore([[.readRequest, part("klm", at: 10, promised: 10), .untilClosed]]) { store, peer in
      let receiver = RecordingObjectReceiver()
      let task = Task {
        await failure { () async throws(ObjectStoreError) in try await get(store, 10..<20, receiver) }
      }
      await receiver.firstByte.wait()
      if byTask { task.cancel() } else { receiver.handles.last?.cancel() }
      #expect(await task.value?.code == .cancelled)
      #expect(peer.connections == 1)
    }
  }

  @Test("an object that ends before the range is told apart, however the store tells it")
  func outOfRange() async throws {
    try await withStore([
      [.readRequest, refusal("416 Range Not Satisfiable", "InvalidRange")],
      [.readRequest, answer("416 Range Not Satisfiable")],
      // RFC 9110 section 14.1.2: the rest of the object, where it ends within the range.
      [.readRequest, part("abcde", at: 15)],
    ]) { store, _ in
      for _ in 0..<3 {
        let receiver = RecordingObjectReceiver()
        let error = await failure { () async throws(ObjectStoreError) in
          try await get(store, 15..<21, receiver)
        }
        #expect(error?.code == .outOfRange)
        #expect(receiver.text == "")
      }
    }
  }

  @Test(
    "a range that is empty, or begins before the object, is not asked for", arguments: [Int64(5)..<5, -1..<1])
  func invalidRange(range: Range<Int64>) async throws {
    try await withStore([]) { store, peer in
      let error = await failure { () async throws(ObjectStoreError) in
        try await get(store, range, RecordingObjectReceiver())
      }
      #expect(error?.code == .invalidRequest)
      #expect(peer.connections == 0)
    }
  }

  @Test("what is not there is not found")
  func missing() async throws {
    try await withStore([[.readRequest, refusal("404 Not Found", "NoSuchKey")]]) { store, _ in
      let error = await failure { () async throws(ObjectStoreError) in
        try await store.bytes(of: key, range: 0..<1, within: .patience)
      }
      #expect(error?.code == .notFound)
      #expect(error?.storeCode == "NoSuchKey")
    }
  }
}
