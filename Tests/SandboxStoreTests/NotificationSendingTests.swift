import Commerce
import CoreTypes
import Crypto
import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxTesting
import SandboxRecords
import ServiceAPI
import ServiceRuntime
import Synchronization
import Testing

@testable import SandboxStore

/// A server that takes notifications, or answers what a test says.
private final class Receiver: AsyncHandler {
  private struct Body: Decodable {
    var signedPayload: String
  }

  let answers = Mutex<[HTTPStatus]>([])
  let received = Mutex<[String]>([])

  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let bytes = (try? await request.body.collect(upTo: .mebibytes(1))) ?? []
    if let body = try? APIJSON.decode(Body.self, from: bytes) {
      received.withLock { $0.append(body.signedPayload) }
    }
    return HTTPResponse(status: answers.withLock { $0.isEmpty ? .ok : $0.removeFirst() })
  }
}

/// The notifications that are posted, again and again until they are taken, and the history's word on them.
@Suite("Sending notifications")
struct NotificationSendingTests {
  let api: ServerAPIHarness
  let client: HTTPClient
  private let receiver = Receiver()

  init() throws {
    api = try ServerAPIHarness()
    client = try HTTPClient()
  }

  private var store: StoreHarness { api.store }

  /// Runs `body` with a sender that posts to the receiver.
  private func sending(_ body: (NotificationSender) async throws -> Void) async throws {
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 1
    let server = HTTPServer(configuration: configuration, handler: receiver)
    try server.start()
    let address = try #require(server.boundAddresses.first)
    let sender = NotificationSender(
      store: store.store, issuer: api.payloads, address: "http://\(address)/hook", client: client,
      log: Log(output: { _ in }))
    do {
      try await body(sender)
    } catch {
      await server.drain()
      throw error
    }
    await server.drain()
  }

  /// Passes until nothing is left to do now.
  private func exhaust(_ sender: NotificationSender) async throws -> Worker.Next {
    while true {
      let next = try await sender.pass()
      if next != .again { return next }
    }
  }

  private func history(_ members: String = "") async throws -> NotificationPage {
    let now = store.clock.now().millisecondsSinceEpoch
    let body = "{\"startDate\":\(now - 86_400_000),\"endDate\":\(now + 1_000)\(members)}"
    return try await api.call(.post, "/v1/notifications/history", body: body)
  }

  private struct NotificationPage: Decodable {
    struct Record: Decodable {
      var signedPayload: String
      var sendAttempts: [NotificationAttempt]
    }

    var paginationToken: String?
    var hasMore: Bool
    var notificationHistory: [Record]
  }

  @Test(
    "a notification is posted with its parts signed, and the history has what was posted and that it was taken"
  )
  func delivered() async throws {
    let token = try await store.openAccount()
    let bought = try await store.buy(StoreHarness.magazine, token: token)
    try await sending { sender in
      _ = try await exhaust(sender)
      let posted = receiver.received.withLock { $0 }
      #expect(posted.count == 1)
      let payload: NotificationPayload = try PlainSigner.payload(of: try #require(posted.first))
      #expect(payload.notificationType == "SUBSCRIBED" && payload.subtype == "INITIAL_BUY")
      #expect(payload.version == "2.0" && payload.summary == nil)
      let data = try #require(payload.data)
      #expect(data.bundleId == "com.example.pullbox" && data.environment == "Sandbox")
      #expect(data.status == 1 && data.appAppleId == nil)
      let transaction: TransactionPayload = try PlainSigner.payload(
        of: try #require(data.signedTransactionInfo))
      #expect(transaction.transactionId == bought.id.description)
      let renewal: RenewalPayload = try PlainSigner.payload(of: try #require(data.signedRenewalInfo))
      #expect(renewal.originalTransactionId == bought.id.description)
      let page = try await history()
      let record = try #require(page.notificationHistory.first)
      let told: NotificationPayload = try PlainSigner.payload(of: record.signedPayload)
      #expect(told.notificationUUID == payload.notificationUUID && told.signedDate == payload.signedDate)
      #expect(record.sendAttempts.map(\.sendAttemptResult) == [.success] && !page.hasMore)
      #expect(try await history(",\"onlyFailures\":true").notificationHistory.isEmpty)
    }
  }

  @Test(
    "what is not taken is sent six times, 1, 12, 24, 48 and 72 hours of a month of five minutes apart, and then no more"
  )
  func attempts() async throws {
    receiver.answers.withLock { $0 = Array(repeating: .serviceUnavailable, count: 20) }
    _ = try await store.buy(StoreHarness.coins, token: try await store.openAccount())
    try await sending { sender in
      _ = try await exhaust(sender)
      // 720 hours are 300 seconds.
      for (index, milliseconds) in [416, 5_000, 10_000, 20_000, 30_000].enumerated() {
        store.clock.advance(by: .milliseconds(milliseconds - 1))
        _ = try await exhaust(sender)
        #expect(receiver.received.withLock { $0.count } == index + 1)
        store.clock.advance(by: .milliseconds(1))
        _ = try await exhaust(sender)
        #expect(receiver.received.withLock { $0.count } == index + 2)
      }
      store.clock.advance(by: .seconds(3600))
      _ = try await exhaust(sender)
      #expect(receiver.received.withLock { $0.count } == 6)
      #expect(
        Set(
          try receiver.received.withLock { $0 }.map {
            try PlainSigner.payload(of: $0, as: NotificationPayload.self).notificationUUID
          }
        ).count == 1)
      let failed = try await history(",\"onlyFailures\":true").notificationHistory
      #expect(
        failed.first?.sendAttempts.map(\.sendAttemptResult)
          == Array(repeating: .unsuccessfulStatus, count: 6))
    }
  }

  @Test("what is sent again, and what the history has, is signed with its first date, in its parts as well")
  func dates() async throws {
    receiver.answers.withLock { $0 = [.serviceUnavailable] }
    _ = try await store.buy(StoreHarness.magazine, token: try await store.openAccount())
    try await sending { sender in
      _ = try await exhaust(sender)
      store.clock.advance(by: .milliseconds(416))
      _ = try await exhaust(sender)
      let posted = receiver.received.withLock { $0 }
      let listed = try await history().notificationHistory.map(\.signedPayload)
      #expect(posted.count == 2 && listed.count == 1)
      var dates: Set<Int64?> = []
      for text in posted + listed {
        let payload: NotificationPayload = try PlainSigner.payload(of: text)
        let transaction: TransactionPayload = try PlainSigner.payload(
          of: try #require(payload.data?.signedTransactionInfo))
        let renewal: RenewalPayload = try PlainSigner.payload(
          of: try #require(payload.data?.signedRenewalInfo))
        dates.formUnion([payload.signedDate, transaction.signedDate, renewal.signedDate])
      }
      #expect(dates.count == 1, "\(dates)")
      #expect(dates.first != store.clock.now().millisecondsSinceEpoch)
    }
  }

  @Test("a receiver that comes back gets what waited for it, and one that is away is a fault of the socket")
  func away() async throws {
    _ = try await store.buy(StoreHarness.coins, token: try await store.openAccount())
    let closed = NotificationSender(
      store: store.store, issuer: api.payloads, address: "http://127.0.0.1:1/hook", client: client,
      log: Log(output: { _ in }))
    _ = try await exhaust(closed)
    store.clock.advance(by: .milliseconds(500))
    try await sending { sender in
      _ = try await exhaust(sender)
      #expect(receiver.received.withLock { $0.count } == 1)
      let record = try #require(try await history().notificationHistory.first)
      #expect(record.sendAttempts.map(\.sendAttemptResult) == [.socketIssue, .success])
    }
  }

  @Test("without an address what an earlier process was to send is left, and the sender rests")
  func noAddress() async throws {
    _ = try await store.buy(StoreHarness.coins, token: try await store.openAccount())
    // Dated to be sent.
    #expect(try await api.notifications() == ["ONE_TIME_CHARGE"])
    let sender = NotificationSender(
      store: store.store, issuer: api.payloads, address: nil, client: client, log: Log(output: { _ in }))
    #expect(try await sender.pass() == .pause(atMost: .seconds(60)))
  }

  @Test("a test notification is posted, and its token tells what became of it")
  func testNotification() async throws {
    let answer: [String: String] = try await api.call(.post, "/v1/notifications/test")
    let token = try #require(answer["testNotificationToken"])
    #expect(try await api.refusal(.get, "/v1/notifications/test/\(token)") == 4_040_008)
    #expect(try await api.refusal(.get, "/v1/notifications/test/x") == 4_000_020)
    try await sending { sender in
      _ = try await exhaust(sender)
      let record: NotificationPage.Record = try await api.call(.get, "/v1/notifications/test/\(token)")
      let payload: NotificationPayload = try PlainSigner.payload(of: record.signedPayload)
      #expect(payload.notificationType == "TEST" && payload.data?.signedTransactionInfo == nil)
      #expect(record.sendAttempts.map(\.sendAttemptResult) == [.success])
    }
    let silent = try ServerAPIHarness(sendsNotifications: false)
    #expect(try await silent.refusal(.post, "/v1/notifications/test") == 4_040_007)
  }

  @Test("the history has pages of 20, and is filtered by type, subtype and customer")
  func pages() async throws {
    let token = try await store.openAccount()
    for _ in 0..<23 { _ = try await store.buy(StoreHarness.coins, token: token) }
    let other = try await store.buy(StoreHarness.magazine, token: try await store.openAccount())
    let first = try await history()
    #expect(first.notificationHistory.count == 20 && first.hasMore)
    let now = store.clock.now().millisecondsSinceEpoch
    let body = "{\"startDate\":\(now - 86_400_000),\"endDate\":\(now + 1_000)}"
    let next = try #require(first.paginationToken)
    let second: NotificationPage = try await api.call(
      .post, "/v1/notifications/history?paginationToken=\(next)", body: body)
    #expect(second.notificationHistory.count == 4 && !second.hasMore && second.paginationToken == nil)
    #expect(try await history(",\"notificationType\":\"SUBSCRIBED\"").notificationHistory.count == 1)
    let subtype = ",\"notificationType\":\"SUBSCRIBED\",\"notificationSubtype\":\"RESUBSCRIBE\""
    #expect(try await history(subtype).notificationHistory.isEmpty)
    #expect(try await history(",\"notificationType\":\"METADATA_UPDATE\"").notificationHistory.isEmpty)
    #expect(try await history(",\"transactionId\":\"\(other.id)\"").notificationHistory.count == 1)
  }

  @Test(
    "a request for the history that cannot be is refused by the code of its own",
    arguments: [
      ("\"startDate\":\"x\"", 4_000_015), ("\"endDate\":null", 4_000_016), ("\"endDate\":0", 4_000_013),
      ("\"startDate\":0", 4_000_012), ("\"notificationType\":\"NONE\"", 4_000_018),
      ("\"notificationSubtype\":\"PENDING\"", 4_000_018),
      ("\"notificationType\":\"TEST\",\"transactionId\":\"1\"", 4_000_019),
      ("\"transactionId\":\"1\"", 4_040_010), ("\"transactionId\":\"x\"", 4_000_006),
    ])
  func errors(member: String, code: Int) async throws {
    let now = store.clock.now().millisecondsSinceEpoch
    var members = ["startDate": "\"startDate\":\(now - 1000)", "endDate": "\"endDate\":\(now)"]
    members[String(member.split(separator: "\"")[0])] = member
    let body = "{\(members.values.joined(separator: ","))}"
    #expect(try await api.refusal(.post, "/v1/notifications/history", body: body) == code)
  }

  @Test("a pagination token of another list is refused")
  func tokens() async throws {
    let now = store.clock.now().millisecondsSinceEpoch
    let body = "{\"startDate\":\(now - 1000),\"endDate\":\(now)}"
    let token = PageToken(list: "refunds", account: 0, position: 1).text
    let path = "/v1/notifications/history?paginationToken=\(token)"
    #expect(try await api.refusal(.post, path, body: body) == 4_000_014)
  }
}
