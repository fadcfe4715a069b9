import CoreTypes
import Crypto
import HTTPClient
import PullboxTesting
import Testing

@testable import ObjectStore

@Suite(.timeLimit(.minutes(2)))
struct RetryTests {
  private let key = ObjectKey("a")

  private func head(_ store: ObjectStore, within limit: Duration = .patience) async -> ObjectStoreError? {
    await failure { () async throws(ObjectStoreError) in try await store.head(key, within: limit) }
  }

  private func put(_ store: ObjectStore, within limit: Duration = .patience) async -> ObjectStoreError? {
    await failure { () async throws(ObjectStoreError) in
      try await store.put(key, from: .bytes([1, 2]), digest: .of([1, 2]), within: limit)
    }
  }

  @Test(
    "a store that asks for patience is asked again, by a request that is signed anew",
    arguments: [
      refusal("503 Slow Down", "SlowDown"), refusal("500 Internal Server Error", "InternalError"),
      refusal("400 Bad Request", "RequestTimeout"), refusal("503 Service Unavailable", "ServiceUnavailable"),
      answer("500 Internal Server Error"), answer("502 Bad Gateway", body: "<html>"),
      answer("503 Service Unavailable"),
      answer("504 Gateway Timeout"), answer("429 Too Many Requests"),
      // A connection that ends without an answer.
      .send(""),
    ])
  func transient(step: ScriptedPeer.Step) async throws {
    let clocks = ManualClocks()
    try await withStore([[.readRequest, step], [.readRequest, answer("200 OK")]], clocks: clocks) {
      store, peer in
      async let error = put(store)
      await clocks.clock.waitForSleepers()
      clocks.wall.advance(by: .seconds(1))
      clocks.clock.advance(by: .seconds(5))
      #expect(await error == nil)
      #expect(
        peer.requests.map { field("x-amz-date", of: $0) } == ["20130524T000000Z", "20130524T000001Z"])
      #expect(field("Authorization", of: peer.requests[0]) != field("Authorization", of: peer.requests[1]))
      #expect(peer.requests[1].utf8.suffix(2).elementsEqual([1, 2]))
    }
  }

  @Test(
    "what would be refused again is not asked again",
    arguments: [
      (refusal("404 Not Found", "NoSuchBucket"), ObjectStoreError.Code.noSuchBucket),
      (refusal("403 Forbidden", "AccessDenied"), .denied),
      (refusal("403 Forbidden", "SignatureDoesNotMatch"), .denied),
      (refusal("400 Bad Request", "InvalidArgument"), .refused),
      (refusal("400 Bad Request", "BadDigest"), .digestMismatch),
      (refusal("412 Precondition Failed", "PreconditionFailed"), .refused),
      (refusal("501 Not Implemented", "NotImplemented"), .refused),
    ])
  func permanent(step: ScriptedPeer.Step, code: ObjectStoreError.Code) async throws {
    try await withStore([[.readRequest, step], [.readRequest, answer("200 OK")]]) { store, peer in
      #expect(await put(store)?.code == code)
      #expect(peer.connections == 1)
    }
  }

  @Test("an error shows no secret, nor a part of one, that a store's message repeats")
  func repeatedSecrets() async throws {
    let token = "session/token+of=a-test-0123456789"
    let keys = try #require(
      ObjectStoreCredentials(accessKey: "a", secretKey: "secret-key-of-a-test", sessionToken: token))
    let said =
      "<Message>x-amz-security-token: \(token) secret-key-of-a-test session%2Ftoken%2Bof%3Da-test-0123456789 session/tok token=session/tok</Message>"
    try await withStore([[.readRequest, refusal("403 Forbidden", "SignatureDoesNotMatch", rest: said)]]) {
      store, _ in
      store.replaceCredentials(with: keys)
      let error = try #require(await put(store))
      #expect(
        error.message.hasSuffix(
          "x-amz-security-token: (withheld) (withheld) (withheld) (withheld) token=(withheld)"),
        "\(error)")
    }
  }

  @Test("pauses are random, double from 100 ms on, and stay below 5 s")
  func pauses() async throws {
    let clocks = ManualClocks()
    let scripts = (0..<9).map { _ in [ScriptedPeer.Step.readRequest, answer("503 Service Unavailable")] }
    try await withStore(scripts + [[.readRequest, answer("200 OK")]], clocks: clocks) { store, _ in
      async let error = head(store)
      var pauses: [Duration] = []
      for _ in 0..<9 {
        await clocks.clock.waitForSleepers()
        let pause = try #require(clocks.clock.timeToNextSleeper)
        pauses.append(pause)
        clocks.clock.advance(by: pause)
      }
      #expect(await error == nil)
      for (index, pause) in pauses.enumerated() {
        let longest = min(.milliseconds(100 << index), Duration.seconds(5))
        #expect((longest / 2...longest).contains(pause), "pause \(index)")
      }
    }
  }

  @Test("a store that says how long it wants to be left alone is")
  func retryAfter() async throws {
    let clocks = ManualClocks()
    try await withStore(
      [
        [.readRequest, answer("503 Slow Down", fields: ["Retry-After: 30"])],
        [.readRequest, answer("200 OK")],
      ],
      clocks: clocks
    ) { store, _ in
      async let error = head(store)
      await clocks.clock.waitForSleepers()
      #expect(clocks.clock.timeToNextSleeper == .seconds(30))
      clocks.clock.advance(by: .seconds(30))
      #expect(await error == nil)
    }
  }

  @Test("a call ends with its last error as soon as another pause would go past its time")
  func deadline() async throws {
    let clocks = ManualClocks()
    let scripts = (0..<2).map { _ in [ScriptedPeer.Step.readRequest, refusal("503 Slow Down", "SlowDown")] }
    try await withStore(scripts, clocks: clocks) { store, peer in
      async let error = put(store, within: .seconds(1))
      await clocks.clock.waitForSleepers()
      // The second pause has 100 ms at least, and 50 are left.
      clocks.clock.advance(by: .milliseconds(950))
      let last = await error
      #expect(last?.code == .unavailable)
      #expect(last?.storeCode == "SlowDown")
      #expect(last?.status == 503)
      #expect(last?.isRetryable == true)
      #expect(last?.message == "the store cannot answer now (503 SlowDown), after 2 tries")
      #expect(peer.connections == 2)
    }
  }

  @Test("a call without time sends nothing")
  func noTime() async throws {
    try await withStore([]) { store, peer in
      #expect(await head(store, within: .zero)?.code == .timedOut)
      #expect(peer.connections == 0)
    }
  }

  @Test("a port where no process listens is tried again, too")
  func refusedConnection() async throws {
    let clocks = ManualClocks()
    let port = try ScriptedPeer([]).port
    let client = try HTTPClient()
    let store = try ObjectStore(
      address: ObjectStoreAddress(location: "s3://comics", endpoint: "http://127.0.0.1:\(port)"),
      credentials: testCredentials, client: client, clock: clocks.clock, wallClock: clocks.wall)
    async let error = head(store, within: .milliseconds(200))
    await clocks.clock.waitForSleepers()
    clocks.clock.advance(by: .milliseconds(150))
    let last = await error
    #expect(last?.code == .unavailable)
    #expect((last?.cause as? HTTPClientError)?.code == .connectionFailed)
    #expect(last?.temporaryFailure == .storage)
  }

  @Test("a canceled task ends the pause")
  func cancelledPause() async throws {
    let clocks = ManualClocks()
    try await withStore([[.readRequest, answer("503 Service Unavailable")]], clocks: clocks) { store, _ in
      let task = Task { await head(store) }
      await clocks.clock.waitForSleepers()
      task.cancel()
      #expect(await task.value?.code == .cancelled)
    }
  }
}

/// A clock of this machine that is wrong.
@Suite(.timeLimit(.minutes(2)))
struct SkewTests {
  private let key = ObjectKey("a")
  private let hourAhead = exampleDate + .seconds(3600)

  @Test(
    "a request that is refused for its time is tried once more by the store's clock, and later ones begin with it"
  )
  func tooSkewed() async throws {
    let ok: [ScriptedPeer.Step] = [.readRequest, answer("200 OK", date: hourAhead)]
    try await withStore(
      [[.readRequest, refusal("403 Forbidden", "RequestTimeTooSkewed", date: hourAhead)], ok, ok]
    ) { store, peer in
      for _ in 0..<2 { try await store.put(key, from: .bytes([]), digest: .of([]), within: .patience) }
      #expect(
        peer.requests.map { field("x-amz-date", of: $0) } == [
          "20130524T000000Z", "20130524T010000Z", "20130524T010000Z",
        ])
      #expect(store.clockOffset == .seconds(3600))
      #expect(store.presignedAddress(of: key, seconds: 60).contains("X-Amz-Date=20130524T010000Z"))
    }
  }

  @Test(
    "a 403 without a word is taken for the clock's if the store's Date is more than a minute off",
    arguments: [61, -61])
  func headWithoutWord(seconds: Int) async throws {
    let date = exampleDate + .seconds(seconds)
    try await withStore(
      [[.readRequest, answer("403 Forbidden", date: date)], [.readRequest, answer("200 OK", date: date)]]
    ) { store, peer in
      let attributes = try await store.head(key, within: .patience)
      #expect(attributes != nil)
      #expect(peer.connections == 2)
      #expect(store.clockOffset == .seconds(seconds))
    }
  }

  @Test("a refusal by a store with the same time is one", arguments: [0, 60, -60])
  func sameTime(seconds: Int) async throws {
    try await withStore(
      [[.readRequest, refusal("403 Forbidden", "AccessDenied", date: exampleDate + .seconds(seconds))]]
    ) { store, peer in
      let error = await failure { () async throws(ObjectStoreError) in
        try await store.delete(key, within: .patience)
      }
      #expect(error?.code == .denied)
      #expect(peer.connections == 1)
      #expect(store.clockOffset == .zero)
    }
  }

  @Test("a store that goes on to refuse the time is not asked a third time")
  func stillSkewed() async throws {
    let script: [ScriptedPeer.Step] = [
      .readRequest, refusal("403 Forbidden", "RequestTimeTooSkewed", date: hourAhead),
    ]
    try await withStore([script, script, script]) { store, peer in
      let error = await failure { () async throws(ObjectStoreError) in
        try await store.delete(key, within: .patience)
      }
      #expect(error?.code == .clockSkewed)
      #expect(peer.connections == 2)
    }
  }

  @Test("a refusal without a Date changes nothing")
  func withoutDate() async throws {
    try await withStore(
      [[.readRequest, refusal("403 Forbidden", "RequestTimeTooSkewed", date: nil)]]
    ) { store, peer in
      let error = await failure { () async throws(ObjectStoreError) in
        try await store.delete(key, within: .patience)
      }
      #expect(error?.code == .clockSkewed)
      #expect(peer.connections == 1)
      #expect(store.clockOffset == .zero)
    }
  }

  @Test("a clock that was set right again is taken on as well")
  func repairedClock() async throws {
    let wall = ManualWallClock(exampleDate)
    try await withStore(
      [
        [.readRequest, refusal("403 Forbidden", "RequestTimeTooSkewed", date: hourAhead)],
        [.readRequest, answer("200 OK", date: hourAhead)],
        [.readRequest, refusal("403 Forbidden", "RequestTimeTooSkewed", date: hourAhead)],
        [.readRequest, answer("200 OK", date: hourAhead)],
      ], wall: wall
    ) { store, peer in
      for _ in 0..<2 {
        let attributes = try await store.head(key, within: .patience)
        #expect(attributes != nil)
        // From now on this machine has the store's time itself.
        wall.set(hourAhead)
      }
      #expect(peer.connections == 4)
      #expect(store.clockOffset == .zero)
    }
  }
}
