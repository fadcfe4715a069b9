package import Commerce
package import CoreTypes
package import HTTPClient
import PullboxAPI
import PullboxAPIClient
package import Receipts
import ServiceRuntime
import Synchronization

/// The settings of a store of the kind google, as its entry in the configuration says them.
package struct GoogleStoreAccess: Sendable {
  /// The caller that may post notifications.
  package struct Notifications: Sendable {
    /// The audience and the sender that a token must name.
    package var expected: IdentityToken.Expectation
    /// Where the keys are by which callers are known.
    package var keysAddress: String

    package init(expected: IdentityToken.Expectation, keysAddress: String) {
      self.expected = expected
      self.keysAddress = keysAddress
    }
  }

  package var name: StoreIdentifier
  /// The service account, with the key that Google knows this server by.
  package var account: GoogleServiceAccount
  /// The application.
  package var package: String
  /// Base URL of the Android Publisher API.
  package var address: String
  /// Those whose purchases count.
  package var environments: Set<StoreEnvironment>
  /// Nil where notifications are not taken.
  package var notifications: Notifications?

  package init(
    name: StoreIdentifier, account: GoogleServiceAccount, package: String, address: String,
    environments: Set<StoreEnvironment>, notifications: Notifications? = nil
  ) {
    self.name = name
    self.account = account
    self.package = package
    self.address = address
    self.environments = environments
    self.notifications = notifications
  }
}

/// The Android Publisher API, as far as purchases go (`androidpublisher` v3), with the access token that it needs: one token
/// for all calls until shortly before its end.
package final class GoogleInterfaceClient: Sendable {
  /// Why there is no answer.
  package struct Failure: Error, Sendable {
    /// The reason, as far as it decides what is done next.
    package enum Kind: Hashable, Sendable {
      /// The store's own word about what was asked, by its status.
      case refused(Int)
      /// The store does not know this server, or does not let it ask: nothing is said about the purchase.
      case forbidden
      /// Not reached, or not able to answer; `retryAfter` when it said for how long.
      case unavailable(retryAfter: Duration?)
      /// It answered, with something that cannot be read.
      case unreadable
      /// Ended at this side.
      case abandoned
    }

    package var kind: Kind
    /// A text for the log, which repeats nothing that the store was sent.
    package var detail: String
  }

  /// The longest that a question may take, which a reader waits for; calls of the outbox may take longer.
  static let timeout: Duration = .seconds(10)
  private static let longestAnswer = ByteCount(GoogleVoidedPage.maximumLength)

  package let access: GoogleStoreAccess
  private let client: HTTPClient
  private let clock: any WallClock
  private let token = Mutex<GoogleAccessToken?>(nil)
  private let questions = SharedQuestions<String, GoogleAccessToken>()

  /// Creates a client, which asks for its access token with the first question.
  package init(access: GoogleStoreAccess, client: HTTPClient, clock: any WallClock) {
    self.access = access
    self.client = client
    self.clock = clock
  }

  /// The one-time purchase with that token.
  package func product(_ token: GooglePurchaseToken) async throws(Failure) -> GoogleProductPurchase {
    let response = try await send("GET", "/purchases/productsv2/tokens/\(token.text)")
    return try read { try GoogleProductPurchase(response: response) }
  }

  /// The subscription with that token.
  package func subscription(_ token: GooglePurchaseToken) async throws(Failure) -> GoogleSubscriptionPurchase
  {
    let response = try await send("GET", "/purchases/subscriptionsv2/tokens/\(token.text)")
    return try read { try GoogleSubscriptionPurchase(response: response) }
  }

  /// The calls that tell the store of a delivery, once all that a purchase pays for was delivered.
  package enum Delivery: String, Sendable {
    /// For everything that is bought once or for a time.
    case acknowledge
    /// Also acknowledges, and lets it be bought again.
    case consume
  }

  /// Makes the call. Repeated, the store may refuse it as made before.
  package func tell(_ call: Delivery, of purchase: GooglePurchaseReference) async throws(Failure) {
    let path = purchase.kind == .product ? "products" : "subscriptions"
    _ = try await send(
      "POST", "/purchases/\(path)/\(purchase.product)/tokens/\(purchase.token.text):\(call.rawValue)",
      body: "{}", within: OutboxMachine.callTimeout)
  }

  /// A page of what was refunded in that time.
  package func voided(
    from start: Timestamp, to end: Timestamp, page: String?
  ) async throws(Failure) -> GoogleVoidedPage {
    let response = try await send(
      "GET", "/purchases/voidedpurchases",
      query: [
        ("startTime", "\(start.millisecondsSinceEpoch)"), ("endTime", "\(end.millisecondsSinceEpoch)"),
        ("maxResults", "1000"), ("type", "1"),
      ] + (page.map { [("token", $0)] } ?? []))
    return try read { try GoogleVoidedPage(response: response) }
  }

  /// Returns the records that the store has of these orders, which may be fewer than are asked for.
  package func orders(_ orders: [TransactionIdentifier]) async throws(Failure) -> [GoogleOrderRecord] {
    let response = try await send(
      "GET", "/orders:batchGet", query: orders.map { ("orderIds", $0.description) })
    return try read { try GoogleOrderRecord.all(response: response) }
  }

  /// The keys by which callers are known.
  package func identityKeys(_ address: String) async throws(Failure) -> IdentityKeys {
    var request = ClientRequest(method: "GET", url: address, headers: [("Accept", "application/json")])
    request.totalTimeout = Self.timeout
    request.maximumResponseLength = ByteCount(IdentityKeys.maximumLength)
    let response = try await perform(request)
    guard response.status == 200 else { throw failure(response) }
    return try read { try IdentityKeys(document: response.body) }
  }

  /// Reads an answer; one that cannot be read is ``Failure/Kind/unreadable``.
  private func read<Value>(_ body: () throws -> Value) throws(Failure) -> Value {
    do {
      return try body()
    } catch {
      throw Failure(kind: .unreadable, detail: "\(error)")
    }
  }
}

// MARK: How it is asked

extension GoogleInterfaceClient {
  /// The body of an answer of success. A token that counts no more is exchanged once.
  private func send(
    _ method: String, _ path: String, query: [(String, String)] = [], body: String? = nil,
    within timeout: Duration = GoogleInterfaceClient.timeout
  ) async throws(Failure) -> [UInt8] {
    var isRepeated = false
    while true {
      let token = try await accessToken()
      let base = "/androidpublisher/v3/applications/\(access.package)"
      let url = APIClient(baseURL: access.address, client: client).url(base + path, query: query)
      var request = ClientRequest(
        method: method, url: url,
        headers: [("Authorization", "Bearer \(token.value)"), ("Accept", "application/json")])
      if let body {
        request.headers.append(("Content-Type", "application/json"))
        request.body = .bytes(Array(body.utf8))
      }
      request.totalTimeout = timeout
      request.maximumResponseLength = Self.longestAnswer
      let response = try await perform(request)
      if (200..<300).contains(response.status) { return response.body }
      if response.status == 401, !isRepeated {
        isRepeated = true
        self.token.locked { if $0?.value == token.value { $0 = nil } }
        continue
      }
      throw failure(response)
    }
  }

  /// Returns the token that is known, or asks for one; questions at one time share it.
  private func accessToken() async throws(Failure) -> GoogleAccessToken {
    let now = clock.now()
    if let token = token.locked({ $0 }), now < token.end { return token }
    do {
      let (token, _) = try await questions.answer(to: "token") { [self] in try await askForToken() }
      return token
    } catch let failure as Failure {
      throw failure
    } catch is CancellationError {
      throw Failure(kind: .abandoned, detail: "the question was given up")
    } catch {
      throw Failure(kind: .unavailable(retryAfter: nil), detail: "\(error)")
    }
  }

  /// Exchanges a statement signed with the account's key for an access token (RFC 7523).
  private func askForToken() async throws -> GoogleAccessToken {
    let now = clock.now()
    var request = ClientRequest(
      method: "POST", url: access.account.tokenAddress,
      headers: [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")],
      body: .bytes(Array(try access.account.tokenRequest(at: now).utf8)))
    request.totalTimeout = Self.timeout
    request.maximumResponseLength = ByteCount(GoogleAccessToken.maximumLength)
    let response = try await perform(request)
    guard response.status == 200 else {
      var failure = failure(response)
      // A key that was withdrawn says nothing of a purchase.
      if case .refused = failure.kind { failure.kind = .forbidden }
      throw failure
    }
    let made = try GoogleAccessToken(response: response.body, askedAt: now)
    token.locked { $0 = made }
    return made
  }

  /// Sends one request; throws only where there is no answer at all.
  private func perform(_ request: ClientRequest) async throws(Failure) -> ClientResponse {
    do {
      return try await client.send(request)
    } catch {
      let isOwn = error.code == .cancelled || error.code == .shutDown
      throw Failure(kind: isOwn ? .abandoned : .unavailable(retryAfter: nil), detail: error.message)
    }
  }

  /// The body of a refusal may repeat what was sent: the status alone is told.
  private func failure(_ response: ClientResponse) -> Failure {
    let detail = "the store answers with status \(response.status)"
    let wait = StoreWait.duration(response.headers["Retry-After"], at: clock.now())
    switch response.status {
    case 401, 403: return Failure(kind: .forbidden, detail: detail)
    case 408, 429: return Failure(kind: .unavailable(retryAfter: wait), detail: detail)
    // The others say that this server asks wrongly, and nothing of the purchase.
    case 400, 404, 410: return Failure(kind: .refused(response.status), detail: detail)
    case 400..<500: return Failure(kind: .forbidden, detail: detail)
    default: return Failure(kind: .unavailable(retryAfter: wait), detail: detail)
    }
  }
}

extension GoogleInterfaceClient.Failure {
  /// The refusal of the proof that this failure kept from being verified.
  package var refusal: StoreRefusal {
    switch kind {
    case .refused:
      .final(.receiptNotAuthentic, "the store does not know the purchase token", onStoresWord: true)
    case .forbidden:
      .undetermined(retryAfter: .seconds(60), cause: detail, outcome: .failed(retryAfter: nil))
    case .unavailable(let retryAfter):
      .undetermined(
        retryAfter: retryAfter ?? .seconds(30), cause: detail, outcome: .failed(retryAfter: retryAfter))
    case .unreadable: .undetermined(retryAfter: .seconds(30), cause: detail, outcome: .answered)
    case .abandoned: .abandoned
    }
  }

  /// The answer that this failure is to a call of the outbox. A key or a permission can be put right within the three days
  /// that a purchase has for its acknowledgement, so the outbox does not give the acknowledgement up for it.
  package var answer: OutboxMachine.Answer {
    switch kind {
    case .refused: .refused
    case .forbidden: .unavailable(retryAfter: .seconds(60))
    case .unreadable: .unavailable(retryAfter: nil)
    case .unavailable(let retryAfter): .unavailable(retryAfter: retryAfter)
    case .abandoned: .abandoned
    }
  }
}
