import Commerce
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer

extension ControlInterface {
  /// Throws `request-malformed`.
  private static func page(of request: HTTPRequest) throws(Problem) -> Shop.PageQuestion {
    try request.requireQuery(only: ["locale", "after", "limit"])
    return Shop.PageQuestion(
      locale: request.queryValue("locale"), after: request.queryValue("after"),
      limit: try request.number("limit", in: 1...200, default: 50))
  }

  /// Throws `request-malformed`.
  private static func code(_ parameters: PathParameters) throws(Problem) -> GiftCode {
    guard let code = GiftCode(parameters["code"]) else {
      throw Problem(
        .requestMalformed, "a code is letters, digits and hyphens, \(GiftCode.maximumLength) at most")
    }
    return code
  }

  /// Adds the routes of offers, purchases, codes and subscriptions. A purchase without an `Idempotency-Key`
  /// gets a random one, so that the agent's own repetition buys once.
  func addShop(to routes: inout APIRoutes) {
    routes.on(.get, "/v1/products") { request, _ in
      try request.requireQuery(only: ["id", "locale"], repeatable: ["id"])
      return try .json(
        try await shop.products(request.queryValues("id"), locale: request.queryValue("locale")))
    }
    routes.on(.get, "/v1/publications") { request, _ in
      try .json(try await shop.publications(try Self.page(of: request)))
    }
    routes.on(.get, "/v1/publications/{id}") { request, parameters in
      guard let publication = ProductIdentifier(parameters["id"]) else { throw Problem(.publicationUnknown) }
      return try .json(try await shop.issues(of: publication, try Self.page(of: request)))
    }
    routes.on(.get, "/v1/singles") { request, _ in
      try .json(try await shop.issues(of: nil, try Self.page(of: request)))
    }
    routes.on(.post, "/v1/purchases") { request, _ in
      let purchase = try await request.decode(AgentPurchaseRequest.self, upTo: Self.maximumBody)
      return try .json(
        try await buy(purchase, key: try request.idempotencyKey(), by: request.credentials?.user),
        status: .created)
    }
    routes.on(.get, "/v1/codes/{code}") { request, parameters in
      try request.requireQuery(only: ["locale"])
      return try .json(
        try await shop.preview(of: try Self.code(parameters), locale: request.queryValue("locale")))
    }
    routes.on(.post, "/v1/codes/{code}") { request, parameters in
      let code = try Self.code(parameters)
      let wanted = try await request.decodeIfPresent(AgentRedeemRequest.self, upTo: Self.maximumBody)
      try Self.check(ignored: wanted?.ignore)
      let key = try request.idempotencyKey() ?? RandomBytes.token(bits: 128)
      let transaction = try await transactions.redeem(
        code, wanted ?? AgentRedeemRequest(), key: key, by: request.credentials?.user)
      await shop.forgetHoldings()
      return try .json(transaction, status: .created)
    }
    routes.on(.post, "/v1/transactions/{id}/refund-request") { request, parameters in
      guard let transaction = TransactionIdentifier(parameters["id"]) else {
        throw Problem(.transactionUnknown, "that is no transaction's identifier")
      }
      let asked = try await request.decodeIfPresent(RefundApplication.self, upTo: Self.maximumBody)
      try await shop.requestRefund(of: transaction, asked ?? RefundApplication())
      return HTTPResponse(status: .accepted)
    }
    routes.on(.get, "/v1/subscriptions") { _, _ in
      try .json(try await shop.subscriptions())
    }
    routes.on(.patch, "/v1/subscriptions/{originalId}") { request, parameters in
      guard let subscription = TransactionIdentifier(parameters["originalId"]) else {
        throw Problem(.subscriptionUnknown, "that is no transaction's identifier")
      }
      let change = try await request.decode(SubscriptionChange.self, upTo: Self.maximumBody)
      return try .json(try await shop.change(subscription, to: change))
    }
  }

  /// Buys a product. Throws the problem that stands in the way.
  ///
  /// - Parameter key: that of a request which may be repeated; nil for one that is made once.
  func buy(
    _ purchase: AgentPurchaseRequest, key: String? = nil, by user: UInt32?
  ) async throws -> AgentTransaction {
    try Self.check(ignored: purchase.ignore)
    if purchase.shown != nil { await shop.noteTitle(of: purchase.product) }
    let transaction = try await transactions.purchase(
      purchase, key: key ?? RandomBytes.token(bits: 128), by: user)
    await shop.forgetHoldings()
    return transaction
  }
}
