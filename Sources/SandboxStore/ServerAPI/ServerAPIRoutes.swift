import Commerce
import CoreTypes
import Database
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import SandboxRecords
import ServiceRuntime

/// The App Store Server API: what servers ask under `/inApps`, with a bearer token of the store's key.
struct ServerAPIRoutes: Sendable {
  let store: PaymentStore
  /// Signs what the answers hold.
  let issuer: PayloadIssuer
  let authority: ServerAPIAuthority
  let limiter: ServerAPIRateLimiter
  /// Whether notifications are sent anywhere.
  let sendsNotifications: Bool
  /// Called when there is something to send, or to go on with.
  let wake: @Sendable () -> Void
  let log: Log

  /// A longer body is refused.
  static let longestBody = ByteCount.kibibytes(16)

  /// Adds all routes, each under the rate of its kind.
  func add(to routes: inout APIRoutes) {
    addTransactions(to: &routes, .reading)
    addLookups(to: &routes, .lookup)
    addChanges(to: &routes, .changing)
    addExtensionOfAll(to: &routes)
    addNotifications(to: &routes)
  }

  /// Puts before a responder what every request meets: the token, then the rate. Refusals are written as clients of the API
  /// read them; a request without a good token gets plain text.
  func answering(
    _ kind: ServerAPIRateLimits.Kind, _ respond: @escaping APIRoutes.Responder
  ) -> APIRoutes.Responder {
    { [authority, limiter, log] request, parameters in
      guard authority.accepts(request.bearerToken) else {
        return HTTPResponse(
          status: .unauthorized, headers: ["Content-Type": "text/plain", "Cache-Control": "no-store"],
          body: .bytes(Array("Unauthenticated\n\nRequest ID: \(request.id)\n".utf8)))
      }
      do {
        try limiter.admit(kind)
        return try await respond(request, parameters)
      } catch let error as ServerAPIError {
        return try error.response()
      } catch let problem as Problem where problem.status < 500 {
        return try ServerAPIError.badRequest.response()
      } catch is CancellationError {
        throw CancellationError()
      } catch {
        log.error("a request failed", ["path": "\(request.path)", "error": LogValue(error)])
        return try ServerAPIError.internalRetryable.response()
      }
    }
  }

  /// A page of transactions as JWSs. `revision` is on every page, also on the last one, from which a later
  /// request goes on.
  private struct History: Encodable {
    var revision: String
    var hasMore: Bool
    var bundleId: String
    var appAppleId: Int64?
    var environment: String
    var signedTransactions: [String]
  }

  /// The subscriptions by their groups.
  private struct Statuses: Encodable {
    struct Group: Encodable {
      var subscriptionGroupIdentifier: String
      var lastTransactions: [Last]
    }

    struct Last: Encodable {
      var status: Int
      var originalTransactionId: String
      var signedTransactionInfo: String
      var signedRenewalInfo: String
    }

    var environment: String
    var bundleId: String
    var appAppleId: Int64?
    var data: [Group]
  }

  /// Adds the routes about a customer's transactions, subscriptions and application, and those that take
  /// reports of consumption.
  private func addTransactions(to routes: inout APIRoutes, _ kind: ServerAPIRateLimits.Kind) {
    routes.on(
      .get, "/inApps/v1/transactions/{id}",
      use: answering(kind) { [store, issuer] _, parameters in
        let payload = try await store.payload(of: store.transaction(named: parameters["id"]))
        guard let payload else { throw ServerAPIError.transactionUnknown }
        return try .json(["signedTransactionInfo": issuer.sign(payload)])
      })
    for (name, version) in [("v1", TransactionHistoryFilter.Version.first), ("v2", .second)] {
      routes.on(
        .get, "/inApps/\(name)/history/{id}",
        use: answering(kind) { [store, issuer] request, parameters in
          let filter = try TransactionHistoryFilter(request, version: version)
          let account = try await store.account(ofAny: parameters["id"])
          let page = try await store.history(
            account: account, filter: filter, revision: request.queryValue("revision"))
          return try .json(
            History(
              revision: page.revision, hasMore: page.hasMore, bundleId: issuer.bundleIdentifier,
              appAppleId: issuer.appIdentifier, environment: issuer.environment.rawValue,
              signedTransactions: page.transactions.map { try issuer.sign($0) }))
        })
    }
    routes.on(.get, "/inApps/v1/subscriptions/{id}", use: answering(kind, statuses))
    routes.on(
      .get, "/inApps/v1/transactions/appTransactions/{id}",
      use: answering(kind) { [store, issuer] _, parameters in
        let account = try await store.account(ofAny: parameters["id"])
        let application = try await store.application(of: account)
        return try .json([
          "signedAppTransactionInfo": issuer.appTransaction(application, account: account)
        ])
      })
    for version in [1, 2] {
      routes.on(
        .put, "/inApps/v\(version)/transactions/consumption/{id}",
        use: answering(kind) { [store] request, parameters in
          let report = try ConsumptionReport(
            try await request.bytes(upTo: Self.longestBody), version: version)
          try await store.keep(report, of: store.transaction(named: parameters["id"]))
          return HTTPResponse(status: .accepted)
        })
    }
  }

  /// The groups and their subscriptions are in the order of the first transactions. A status that is no
  /// number of one is 4000031.
  private func statuses(_ request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse {
    let wanted = try request.queryValues("status").map { text in
      guard let status = Int(text).flatMap(SubscriptionStatus.init) else {
        throw ServerAPIError.invalidStatus
      }
      return status
    }
    let account = try await store.account(ofAny: parameters["id"])
    var groups: [Statuses.Group] = []
    for course in try await store.courses(account: account)
    where wanted.isEmpty || wanted.contains(course.status) {
      let last = Statuses.Last(
        status: course.status.rawValue, originalTransactionId: String(course.originalID),
        signedTransactionInfo: try issuer.sign(course.transaction),
        signedRenewalInfo: try issuer.sign(course.renewal))
      if let index = groups.firstIndex(where: {
        $0.subscriptionGroupIdentifier == course.group.description
      }) {
        groups[index].lastTransactions.append(last)
      } else {
        groups.append(
          Statuses.Group(
            subscriptionGroupIdentifier: course.group.description, lastTransactions: [last]))
      }
    }
    return try .json(
      Statuses(
        environment: issuer.environment.rawValue, bundleId: issuer.bundleIdentifier,
        appAppleId: issuer.appIdentifier, data: groups))
  }

  private struct Order: Encodable {
    /// 0 a valid order, 1 none.
    var status: Int
    var signedTransactions: [String]
  }

  private struct Refunds: Encodable {
    var signedTransactions: [String]
    var revision: String
    var hasMore: Bool
  }

  /// Adds the routes of orders and refunds. An order that is none is no error, but an answer with the status
  /// 1.
  private func addLookups(to routes: inout APIRoutes, _ kind: ServerAPIRateLimits.Kind) {
    routes.on(
      .get, "/inApps/v1/lookup/{order}",
      use: answering(kind) { [store, issuer] _, parameters in
        guard let id = OrderIdentifier.transaction(parameters["order"]),
          let found = try await store.database.read({ try TransactionTable.find(in: $0, id: id) }),
          let payload = try await store.payload(of: found)
        else { return try .json(Order(status: 1, signedTransactions: [])) }
        return try .json(Order(status: 0, signedTransactions: [issuer.sign(payload)]))
      })
    routes.on(
      .get, "/inApps/v2/refund/lookup/{id}",
      use: answering(kind) { [store, issuer] request, parameters in
        let account = try await store.account(ofAny: parameters["id"])
        let page = try await store.refunds(account: account, revision: request.queryValue("revision"))
        return try .json(
          Refunds(
            signedTransactions: page.transactions.map { try issuer.sign($0) }, revision: page.revision,
            hasMore: page.hasMore))
      })
  }

  private struct AccountToken: Codable {
    var appAccountToken: String?
  }

  /// `webOrderLineItemId` is the latest transaction of the subscription.
  private struct Extension: Encodable {
    var originalTransactionId: String
    var webOrderLineItemId: String?
    var success = true
    /// Milliseconds since the epoch.
    var effectiveDate: Int64
  }

  /// Adds the routes that set an account token, finish a transaction, and extend one subscription.
  private func addChanges(to routes: inout APIRoutes, _ kind: ServerAPIRateLimits.Kind) {
    routes.on(
      .put, "/inApps/v1/transactions/{id}/appAccountToken",
      use: answering(kind) { [store] request, parameters in
        let body = try await request.decode(AccountToken.self, upTo: Self.longestBody)
        try await store.setAccountToken(body.appAccountToken, original: parameters["id"])
        return HTTPResponse(status: .ok)
      })
    routes.on(
      .post, "/inApps/v1/transactions/{id}/finish",
      use: answering(kind) { [store] _, parameters in
        let transaction = try await store.transaction(named: parameters["id"])
        _ = try await store.finish(String(transaction.id))
        return HTTPResponse(status: .ok)
      })
    routes.on(
      .put, "/inApps/v1/subscriptions/extend/{id}",
      use: answering(kind) { [store, wake] request, parameters in
        let bytes = try await request.bytes(upTo: Self.longestBody)
        guard let members = try? APIJSON.decode([String: JSONScalar].self, from: bytes) else {
          throw ServerAPIError.badRequest
        }
        guard let id = PaymentStore.number(parameters["id"]) else {
          throw ServerAPIError.invalidOriginalTransaction
        }
        let date = try await store.extend(originalID: id, by: RenewalExtension(members))
        wake()
        let last = try await store.database.read { connection in
          try SubscriptionTable.find(in: connection, originalID: id).flatMap {
            try TransactionTable.last(in: connection, account: $0.account, originalID: id)
          }
        }
        return try .json(
          Extension(
            originalTransactionId: String(id), webOrderLineItemId: last.map { String($0.id) },
            effectiveDate: date.millisecondsSinceEpoch))
      })
  }
}
