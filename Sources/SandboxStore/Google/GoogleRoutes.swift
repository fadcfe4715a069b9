import Commerce
import CoreTypes
import Crypto
import Database
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import Receipts
import SandboxRecords
import ServiceRuntime

/// The Google-like interface: a token endpoint, the calls of the Android Publisher API that are about purchases, and the keys by
/// which posted notifications are known.
struct GoogleRoutes: Sendable {
  let store: PaymentStore
  let authority: GoogleAuthority
  /// The application. Requests for another one are answered 404.
  let package: String
  let log: Log

  /// A longer body is refused.
  private static let longestBody = ByteCount.kibibytes(16)
  static let base = "/androidpublisher/v3/applications/{package}"

  private struct TokenAnswer: Encodable {
    var accessToken: String
    var expiresIn = GoogleAuthority.tokenLifetime.components.seconds
    var tokenType = "Bearer"

    private enum CodingKeys: String, CodingKey {
      case accessToken = "access_token"
      case expiresIn = "expires_in"
      case tokenType = "token_type"
    }
  }

  private struct TokenRefusal: Encodable {
    var error: String
    var errorDescription: String

    private enum CodingKeys: String, CodingKey {
      case error
      case errorDescription = "error_description"
    }
  }

  /// Adds all routes but the controls. The token endpoint and the keys need no access token; the others stand
  /// behind ``answering(_:)``.
  func add(to routes: inout APIRoutes) {
    routes.on(.post, "/token") { [authority] request, _ in
      let form = FormFields(try await request.bytes(upTo: Self.longestBody))
      let token: String
      do throws(GoogleAuthority.Refusal) {
        guard form["grant_type"] == GoogleTokenGrant.name, let assertion = form["assertion"] else {
          throw GoogleAuthority.Refusal(
            error: "unsupported_grant_type", description: "Invalid grant_type: \(form["grant_type"] ?? "")")
        }
        token = try authority.exchange(assertion)
      } catch {
        return try Self.answer(
          TokenRefusal(error: error.error, errorDescription: error.description), status: 400)
      }
      return try Self.answer(TokenAnswer(accessToken: token))
    }
    routes.on(.get, "/oauth2/v3/certs") { [authority] _, _ in
      HTTPResponse(
        status: .ok, headers: ["Content-Type": "application/json", "Cache-Control": "public, max-age=3600"],
        body: .bytes(
          try IdentityKeys.document(
            publishing: authority.identityKey.publicKey, named: authority.identityKeyName)))
    }
    addProducts(to: &routes)
    addSubscriptions(to: &routes)
    addOrders(to: &routes)
  }

  /// Adds the routes by which tests control the interface.
  func addControls(to routes: inout APIRoutes) {
    routes.on(.get, "/sandbox/v1/google/key-file") { [authority] _, _ in
      try .json(authority.keyFile)
    }
    routes.on(.post, "/sandbox/v1/google/withdraw-tokens") { [authority] _, _ in
      authority.withdrawTokens()
      return HTTPResponse(status: .noContent)
    }
    routes.on(.post, "/sandbox/v1/google/test-notification") { [store] _, _ in
      try await store.database.write(locking: [.everything]) { [clock = store.clock] connection in
        try GoogleMessageTable.insertTest(at: clock.now(), in: connection)
      }
      return HTTPResponse(status: .noContent)
    }
  }

  // MARK: What is asked

  /// Adds the routes of one-time purchases. To acknowledge or consume one that is not purchased is
  /// `notOwned`.
  private func addProducts(to routes: inout APIRoutes) {
    routes.on(
      .get, "\(Self.base)/purchases/productsv2/tokens/{token}",
      use: answering { [store] _, parameters in
        try Self.answer(try await store.purchase(withToken: parameters["token"]).productPurchase())
      })
    routes.on(
      .get, "\(Self.base)/purchases/products/{product}/tokens/{token}",
      use: answering { [store] _, parameters in
        let purchase = try await store.purchase(withToken: parameters["token"])
        try Self.require(parameters["product"], of: purchase)
        return try Self.answer(purchase.firstProductPurchase())
      })
    for (call, consumes) in [("acknowledge", false), ("consume", true)] {
      routes.on(
        .post, "\(Self.base)/purchases/products/{product}/tokens/{token}:\(call)",
        use: answering { [store] _, parameters in
          let purchase = try await store.purchase(withToken: parameters["token"])
          try Self.require(parameters["product"], of: purchase)
          guard try purchase.productPurchase().purchaseStateContext.purchaseState == "PURCHASED" else {
            throw GoogleError.notOwned
          }
          try await store.acknowledge(purchase, consumes: consumes)
          return HTTPResponse(status: .noContent)
        })
    }
  }

  /// Adds the routes of subscriptions.
  private func addSubscriptions(to routes: inout APIRoutes) {
    routes.on(
      .get, "\(Self.base)/purchases/subscriptionsv2/tokens/{token}",
      use: answering { [store] _, parameters in
        let purchase = try await store.purchase(withToken: parameters["token"])
        return try Self.answer(purchase.subscriptionPurchase(at: store.clock.now()))
      })
    routes.on(
      .post, "\(Self.base)/purchases/subscriptions/{product}/tokens/{token}:acknowledge",
      use: answering { [store] _, parameters in
        let purchase = try await store.purchase(withToken: parameters["token"])
        let current = try purchase.subscriptionPurchase(at: store.clock.now())
        try Self.require(parameters["product"], of: purchase)
        guard current.startTime != nil,
          current.subscriptionState != "SUBSCRIPTION_STATE_EXPIRED" || purchase.token.acknowledged != nil
        else { throw GoogleError.notOwned }
        try await store.acknowledge(purchase, consumes: false)
        return HTTPResponse(status: .noContent)
      })
    routes.on(
      .post, "\(Self.base)/purchases/subscriptions/{product}/tokens/{token}:defer",
      use: answering { [self] request, parameters in try await deferRenewal(request, parameters) })
    routes.on(
      .post, "\(Self.base)/purchases/subscriptionsv2/tokens/{token}:cancel",
      use: answering { [store] _, parameters in
        let purchase = try await store.purchase(withToken: parameters["token"])
        _ = try purchase.subscriptionPurchase(at: store.clock.now())
        _ = try await store.update(String(purchase.token.chain)) { subscription, calendar, _, _ in
          subscription.life.setAutoRenews(false, renewals: calendar.renewals)
        }
        return try Self.answer(GoogleDocuments.Empty())
      })
    routes.on(
      .post, "\(Self.base)/purchases/subscriptionsv2/tokens/{token}:revoke",
      use: answering { [store] _, parameters in
        let purchase = try await store.purchase(withToken: parameters["token"])
        _ = try purchase.subscriptionPurchase(at: store.clock.now())
        try await store.giveBack(purchase.token, reason: 0)
        return try Self.answer(GoogleDocuments.Empty())
      })
  }

  /// Puts the renewal of a subscription off, for nothing. The check and the change are one database
  /// transaction, which also writes down the notification. Throws ``GoogleError``.
  private func deferRenewal(
    _ request: HTTPRequest, _ parameters: PathParameters
  ) async throws -> HTTPResponse {
    let purchase = try await store.purchase(withToken: parameters["token"])
    try Self.require(parameters["product"], of: purchase)
    let info = try await request.decode(GoogleDocuments.Deferral.self, upTo: Self.longestBody).deferralInfo
    func date(_ text: String, _ name: String) throws -> Timestamp {
      guard let milliseconds = Int64(text), (0...253_402_300_799_999).contains(milliseconds) else {
        throw GoogleError.invalid(name)
      }
      return Timestamp(millisecondsSinceEpoch: milliseconds)
    }
    let expected = try date(info.expectedExpiryTimeMillis, "expectedExpiryTimeMillis")
    let desired = try date(info.desiredExpiryTimeMillis, "desiredExpiryTimeMillis")
    _ = try await store.update(String(purchase.token.chain)) { subscription, _, now, connection in
      let current = try PaymentStore.purchase(purchase.token, in: connection)
      guard current.successor == nil else { throw GoogleError.notOwned }
      try current.checkDeferral(from: expected, to: desired, at: now)
      subscription.life.extend(by: desired - expected)
      try TransactionTable.endLastPeriod(of: subscription, in: connection)
      try GoogleMessageTable.insert(
        .subscription(.deferred), of: current.token, subscription.life.plan.product, at: now, in: connection)
    }
    return try Self.answer(
      GoogleDocuments.Deferred(newExpiryTimeMillis: String(desired.millisecondsSinceEpoch)))
  }

  // MARK: How it is answered

  /// Puts before a responder what every request meets: the token and the package. Refusals are written as clients of the
  /// interface read them. A `Problem` below 500 becomes `invalid`. Any other error is logged and becomes 500,
  /// but for the end of the task, which is thrown.
  func answering(_ respond: @escaping APIRoutes.Responder) -> APIRoutes.Responder {
    { [authority, package, log] request, parameters in
      do {
        guard authority.accepts(request.bearerToken) else { throw GoogleError.unauthenticated }
        guard parameters["package"] == package else { throw GoogleError.packageUnknown }
        return try await respond(request, parameters)
      } catch let error as GoogleError {
        return try Self.answer(error.body, status: error.status)
      } catch let problem as Problem where problem.status < 500 {
        return try Self.answer(GoogleError.invalid("the request").body, status: 400)
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        log.error("a request failed", ["path": "\(request.path.prefix(60))", "error": LogValue(error)])
        return try Self.answer(GoogleError.internalError.body, status: 500)
      }
    }
  }

  /// Throws `tokenMismatch` unless the purchase is of that product.
  private static func require(_ product: String, of purchase: GooglePurchase) throws {
    guard purchase.product?.description == product else { throw GoogleError.tokenMismatch }
  }

  /// JSON that no cache keeps.
  static func answer(_ value: some Encodable, status: Int = 200) throws -> HTTPResponse {
    HTTPResponse(
      status: HTTPStatus(rawValue: status),
      headers: ["Content-Type": "application/json; charset=UTF-8", "Cache-Control": "no-store"],
      body: .bytes(try APIJSON.encode(value)))
  }
}
