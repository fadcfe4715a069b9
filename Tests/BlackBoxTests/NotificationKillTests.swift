import Commerce
import CoreTypes
import Crypto
import HTTPClient
import HTTPServer
import PullboxAPI
import PullboxTesting
import ServiceAPI
import Synchronization
import Testing

@Suite("Notifications of a sandbox store that is killed", .serialized, .timeLimit(.minutes(5)))
struct NotificationKillTests {
  /// A catalog with one subscription, and the server that notifications go to.
  private final class Counterpart: AsyncHandler {
    static let magazine = "com.example.magazine.monthly"
    private let received = Mutex<[String: JSONValue]>([:])

    /// The notifications that were told, each once, by the order of the dates.
    var told: [JSONValue] {
      received.withLock { Array($0.values) }.sorted {
        ($0["signedDate"].number ?? 0) < ($1["signedDate"].number ?? 0)
      }
    }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      guard request.method == .post else {
        let listing = """
          {"id":"\(Self.magazine)","type":"auto-renewable-subscription","title":"A title","description":"A text",\
          "period":"P1M","price":{"amount":"2.99","currency":"EUR","formatted":"2,99 €"}}
          """
        let body = "{\"products\":[\(listing)],\"invalidProductIdentifiers\":[]}"
        return HTTPResponse(
          status: .ok, headers: ["Content-Type": "application/json"], body: .bytes(Array(body.utf8)))
      }
      guard let bytes = try? await request.body.collect(upTo: .mebibytes(1)),
        let body = try? APIJSON.decode(JSONValue.self, from: bytes), let signed = body["signedPayload"].text,
        let payload = Self.payload(of: signed), let uuid = payload["notificationUUID"].text
      else { return HTTPResponse(status: .badRequest) }
      received.withLock { $0[uuid] = payload }
      return HTTPResponse(status: .ok)
    }

    static func payload(of signed: String) -> JSONValue? {
      let parts = signed.split(separator: ".")
      guard parts.count == 3, let bytes = Base64.decode(parts[1], .url) else { return nil }
      return try? APIJSON.decode(JSONValue.self, from: bytes)
    }
  }

  @Test("killed at each renewal, it tells each of seven periods once, without a gap, and the end")
  func killedAtEachRenewal() async throws {
    let directory = try TemporaryDirectory()
    let counterpart = Counterpart()
    var configuration = HTTPServerConfiguration(addresses: [.tcp(host: "127.0.0.1", port: 0)])
    configuration.loops = 1
    let server = HTTPServer(configuration: configuration, handler: counterpart)
    try server.start()
    let base = "http://\(try #require(server.boundAddresses.first))"
    let client = try HTTPClient()
    func start() async throws -> Daemon {
      try await Daemon.start(
        "pullbox-sandbox",
        [
          "--listen", "127.0.0.1:0", "--state", directory.path("store"), "--catalog", base,
          "--notification-url", "\(base)/hook",
        ], name: "store", in: directory)
    }
    var daemon = try await start()
    let store = Web(base: "http://127.0.0.1:\(try #require(daemon.port))", client: client)
    let time = try APIJSON.encode(StoreTime(month: "2s", renewals: 6))
    #expect(try await store.send("PUT", "/sandbox/v1/time", body: time).status == 200)
    let account = try await store.post(
      "/sandbox/v1/accounts", AccountRequest(territory: "FRA", name: "Ada")
    ).decoded(AccountResponse.self)
    let body = Array("{\"product\":\"\(Counterpart.magazine)\"}".utf8)
    let bought = try await store.send(
      "POST", "/store/v1/purchases", headers: [("Authorization", "Bearer \(account.token)")], body: body)
    #expect(bought.status == 201)
    for count in 1...7 {
      try await eventually { counterpart.told.count >= count }
      await daemon.process.killAndWait()
      daemon = try await start()
    }
    try await eventually { counterpart.told.contains { $0["notificationType"].text == "EXPIRED" } }
    await daemon.process.killAndWait()
    let told = counterpart.told
    #expect(
      told.map { $0["notificationType"].text } == ["SUBSCRIBED"] + Array(repeating: "DID_RENEW", count: 6) + [
        "EXPIRED"
      ])
    let periods = told.prefix(7).compactMap { notification in
      notification["data"]["signedTransactionInfo"].text.flatMap(Counterpart.payload)
    }
    #expect(Set(periods.map { $0["transactionId"].text }).count == 7)
    #expect(
      zip(periods, periods.dropFirst()).allSatisfy { $0["expiresDate"].number == $1["purchaseDate"].number })
    await server.drain()
    client.shutDown()
  }
}
