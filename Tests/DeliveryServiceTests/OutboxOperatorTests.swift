import Commerce
import CoreTypes
import Database
import DeliveryModel
import DeliveryTesting
import HTTPClient
import PullboxAPI
import PullboxAPIClient
import PullboxTesting
import ServiceAPI
import Synchronization
import Testing

@testable import ContentGrants
@testable import ContentPublishing
@testable import DeliveryRecords
@testable import DeliveryService

@Suite("The outbox in operators' hands", .timeLimit(.minutes(1)))
struct OutboxOperatorTests {
  private static let path = "/v1/operator/outbox"
  private let package = (0..<10_000).map { UInt8(truncatingIfNeeded: $0 &* 29 >> 3) }

  /// Runs `body` with a server whose store refused the end of a transaction once, which parked it.
  private func withParkedCall(
    _ body: (ServerHarness, GrantResponse, OutboxCall) async throws -> Void
  ) async throws {
    try await ServerHarness.run(options: ["--store-refusals", "1"]) { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant)
      server.store.state.withLock { $0.refuses = true }
      #expect(try await server.complete(grant).value.state == .completed)
      let call = try #require(try await list(server, [("state", "parked")]).first)
      try await body(server, grant, call)
    }
  }

  private func list(_ server: ServerHarness, _ query: [(String, String)] = []) async throws -> [OutboxCall] {
    try await server.operatorAPI.get(Self.path, query: query, as: Page<OutboxCall>.self).items
  }

  private func decide(
    _ step: String, _ id: Int64, _ server: ServerHarness, reason: String? = nil, key: String? = nil
  ) async throws -> OutboxCall {
    try await server.operatorAPI.call(
      "POST", "\(Self.path)/\(id)/\(step)", body: ReasonBody(reason: reason),
      headers: key.map { [("Idempotency-Key", $0)] } ?? [], as: OutboxCall.self
    ).value
  }

  @Test("a parked call is shown with what the store said, and counted")
  func shown() async throws {
    try await withParkedCall { server, _, call async throws in
      #expect(call.store == "sandbox")
      #expect(call.kind == "finish")
      #expect(call.transaction == "2000000000000001")
      #expect(call.attempts == 1)
      #expect(call.refusals == 1)
      #expect(call.nextAttempt == nil)
      #expect(call.parked == server.clock.now())
      #expect(call.created == server.clock.now())
      let error = try #require(call.lastError)
      #expect(error.contains("business"))
      #expect(!error.unicodeScalars.contains("\u{1B}"))
      #expect(try await server.outboxDepth() == 0)
      #expect(try await server.outboxDepth("parked") == 1)
      #expect(try await list(server, [("state", "waiting")]).isEmpty)
      #expect(try await list(server, [("store", "apple")]).isEmpty)
      #expect(try await list(server, [("kind", "refund")]).isEmpty)
      #expect(try await list(server, [("store", "sandbox"), ("kind", "finish")]).count == 1)
    }
  }

  @Test("a device that reports again does not have a parked call made")
  func reportedAgain() async throws {
    try await withParkedCall { server, grant, call async throws in
      server.store.state.withLock { $0.refuses = false }
      #expect(try await server.complete(grant).value.state == .completed)
      #expect(server.store.state.withLock { $0.finished }.isEmpty)
      #expect(try await list(server).map(\.id) == [call.id])
    }
  }

  @Test("a retry has it made at once; again it changes nothing, and the audit log has the one that did")
  func retry() async throws {
    try await withParkedCall { server, grant, call async throws in
      server.store.state.withLock { $0.refuses = false }
      #expect(try await decide("retry", call.id, server).state == .waiting)
      await server.store.waitForFinished()
      // Not by the interface, which bounds how often it is asked.
      let accepted = OutboxTable.Filter(state: .done)
      while try await server.server.outbox.page(after: nil, matching: accepted, limit: 1).items.isEmpty {
        await Task.yield()
      }
      #expect(try await server.status(grant).state == .finished)
      let done = try await decide("retry", call.id, server)
      #expect(done.state == .done)
      #expect(done.lastError == nil)
      #expect(done.attempts == 2)
      #expect(try await decide("drop", call.id, server, reason: "too late").state == .done)
      #expect(server.store.state.withLock { $0.finished } == ["2000000000000001"])
      let audit = try await server.audit([("action", "outbox.retry")])
      #expect(audit.map(\.subject) == ["\(call.id) sandbox finish 2000000000000001"])
      #expect(try await server.audit([("action", "outbox.drop")]).isEmpty)
    }
  }

  @Test(
    "a dropped call is not made, by no report and no sweep; its grant stays complete; a retry takes it back")
  func drop() async throws {
    try await withParkedCall { server, grant, call async throws in
      server.store.state.withLock { $0.refuses = false }
      for _ in 0..<2 {
        let dropped = try await decide("drop", call.id, server, reason: "refunded by hand")
        #expect(dropped.state == .dropped)
        #expect(dropped.done == server.clock.now())
      }
      #expect(try await server.audit([("action", "outbox.drop")]).map(\.detail) == ["refunded by hand"])
      #expect(try await server.complete(grant).value.state == .completed)
      var position: ObligationTable.SweepPosition?
      repeat {
        let (next, hasSettled) = try await server.server.outbox.grantStore.settleLeftovers(
          after: position, limit: 100)
        #expect(!hasSettled)
        position = next
      } while position != nil
      #expect(try await server.status(grant).state == .completed)
      #expect(try await list(server).map(\.state) == [.dropped])
      #expect(try await list(server, [("state", "dropped")]).count == 1)
      #expect(try await list(server, [("state", "done")]).isEmpty)
      #expect(server.store.state.withLock { $0.finished }.isEmpty)
      #expect(try await decide("retry", call.id, server).state == .waiting)
      await server.store.waitForFinished()
    }
  }

  @Test(
    "a retry that comes again after a colleague's drop wakes nothing, nor does a drop after a retry end it")
  func repeated() async throws {
    try await withParkedCall { server, _, call async throws in
      #expect(try await decide("retry", call.id, server, key: "a").state == .waiting)
      while try await server.outboxDepth("parked") != 1 { await Task.yield() }
      #expect(try await decide("drop", call.id, server, reason: "refunded", key: "b").state == .dropped)
      #expect(try await decide("retry", call.id, server, key: "a").state == .waiting)
      #expect(try await list(server).map(\.state) == [.dropped])
      #expect(try await server.audit([("action", "outbox.retry")]).count == 1)
      server.store.state.withLock { $0.isDown = true }
      #expect(try await decide("retry", call.id, server, key: "c").state == .waiting)
      #expect(try await decide("drop", call.id, server, reason: "refunded", key: "b").state == .dropped)
      #expect(try await list(server).map(\.state) == [.waiting])
    }
  }

  @Test("a call is found by its store, its kind and its state, in pages, among many of others")
  func filters() async throws {
    try await ServerHarness.run { server in
      let now = server.clock.now()
      let store = try #require(StoreIdentifier("other"))
      let database = server.server.collector.database
      try await database.write(locking: [.everything]) { connection in
        for number in 1...60 {
          let kind = number % 3 == 0 ? OutboxEntry.Kind.consume : .finish
          _ = try OutboxTable.add(
            kind, of: TransactionKey.numbered(number, at: store), payload: "p", at: now, in: connection)
        }
        try connection.execute("UPDATE outbox SET parked = 1 WHERE id % 4 = 1")
        try connection.execute("UPDATE outbox SET done = 1 WHERE id % 4 = 2")
        try connection.execute("UPDATE outbox SET done = 1, dropped = 1 WHERE id % 20 = 3")
      }
      func state(_ id: Int64) -> OutboxCall.State {
        if id % 20 == 3 { return .dropped }
        return id % 4 == 1 ? .parked : id % 4 == 2 ? .done : .waiting
      }
      func kind(_ id: Int64) -> String { id % 3 == 0 ? "consume" : "finish" }
      func found(_ filter: [(String, String)]) async throws -> [Int64] {
        var found: [Int64] = []
        var after: [(String, String)] = []
        while true {
          let query: [(String, String)] = [("limit", "7")] + filter + after
          let page = try await server.operatorAPI.get(Self.path, query: query, as: Page<OutboxCall>.self)
          found += page.items.map(\.id)
          guard let next = page.next else { return found }
          after = [("after", next)]
        }
      }
      let states: [OutboxCall.State?] = OutboxCall.State.allCases.map { $0 } + [nil]
      for wanted in states {
        for named in ["finish", "consume", nil] as [String?] {
          var filter: [(String, String)] = []
          if let wanted { filter.append(("state", wanted.rawValue)) }
          if let named { filter.append(("kind", named)) }
          let expected: [Int64] = (1...60).reversed().filter { id in
            let hasState = wanted == nil || wanted == state(id)
            return hasState && (named == nil || named == kind(id))
          }
          #expect(try await found(filter) == expected, "\(filter)")
          #expect(try await found(filter + [("store", "other")]) == expected, "\(filter) other")
        }
      }
      #expect(try await list(server, [("store", "none")]).isEmpty)
      #expect(try await list(server, [("kind", "none")]).isEmpty)
    }
  }

  @Test("the age of the oldest parked call is shown beside that of the one that has waited longest")
  func ages() async throws {
    try await ServerHarness.run { server in
      server.store.state.withLock { $0.isDown = true }
      let start = server.clock.now()
      try await server.server.collector.database.write(locking: [.everything]) { connection in
        for number in 1...3 {
          _ = try OutboxTable.add(
            .finish, of: TransactionKey.numbered(number), at: start + .seconds(number * 10), in: connection)
        }
        try connection.execute("UPDATE outbox SET parked = 1 WHERE id < 3")
        // Younger ones with lower numbers, as calls are whose payload was renewed.
        for number in 4...5 {
          _ = try OutboxTable.add(
            .finish, of: TransactionKey.numbered(number), at: start + .seconds(number), in: connection)
        }
        try connection.execute("UPDATE outbox SET parked = 1 WHERE id = 4")
      }
      server.clock.advance(by: .seconds(100))
      let page = try await server.client.send(ClientRequest(method: "GET", url: server.api.url("/metrics")))
      let samples = try PrometheusPage(String(decoding: page.body, as: UTF8.self)).samples
      #expect(samples["pullbox_outbox_oldest_parked_seconds"] == 96)
      #expect(samples["pullbox_outbox_oldest_seconds"] == 95)
    }
  }

  @Test("a call that waits is dropped for a reason only")
  func dropWaiting() async throws {
    try await ServerHarness.run { server in
      try await server.publish(package)
      let grant = try await server.grantForPurchase()
      _ = try await server.fetch(grant)
      server.store.state.withLock { $0.isDown = true }
      _ = try await server.complete(grant)
      let call = try #require(try await list(server).first)
      for reason in [nil, ""] {
        let problem = try await server.problem {
          _ = try await decide("drop", call.id, server, reason: reason)
        }
        #expect(problem.code == .requestMalformed)
      }
      #expect(try await list(server).map(\.state) == [.waiting])
      #expect(try await decide("drop", call.id, server, reason: "a test").state == .dropped)
    }
  }

  @Test("calls are listed in pages, newest first")
  func pages() async throws {
    try await ServerHarness.run { server in
      server.store.state.withLock { $0.isDown = true }
      let now = server.clock.now()
      try await server.server.collector.database.write(locking: [.everything]) { connection in
        for number in 1...7 {
          _ = try OutboxTable.add(
            .finish, of: TransactionKey.numbered(number), at: now, in: connection)
        }
      }
      var shown: [[String]] = []
      var after: String?
      repeat {
        let page = try await server.operatorAPI.get(
          Self.path, query: [("limit", "3")] + (after.map { [("after", $0)] } ?? []),
          as: Page<OutboxCall>.self)
        shown.append(page.items.map(\.transaction))
        after = page.next
      } while after != nil
      #expect(shown == [["t7", "t6", "t5"], ["t4", "t3", "t2"], ["t1"]])
    }
  }

  @Test(
    "what the list does not know is refused, not ignored",
    arguments: [
      "state=lost", "after=x", "after=4711", "limit=0", "limit=201", "transaction=1", "states=waiting",
    ])
  func refused(query: String) async throws {
    try await ServerHarness.run { server in
      let problem = try await server.problem {
        _ = try await server.operatorAPI.get("\(Self.path)?\(query)", as: Page<OutboxCall>.self)
      }
      #expect(problem.code == .requestMalformed)
    }
  }

  @Test("there is no call of another number", arguments: ["99", "0", "x", "-1"])
  func unknown(id: String) async throws {
    try await ServerHarness.run { server in
      for step in ["retry", "drop"] {
        let problem = try await server.problem {
          _ = try await server.operatorAPI.exchange("POST", "\(Self.path)/\(id)/\(step)")
        }
        #expect(problem.code == .callUnknown)
      }
    }
  }
}
