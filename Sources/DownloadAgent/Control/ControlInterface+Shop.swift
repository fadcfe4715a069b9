import Commerce
import CoreTypes
import Crypto
import HTTPServer
import PullboxAPI
import PullboxAPIServer

extension ControlInterface {
  func addShop(to routes: inout APIRoutes) {
    routes.on(.get, "/v1/products") { request, _ in
      try request.requireQuery(only: ["id", "locale"])
      return try .json(
        try await shop.products(request.queryValues("id"), locale: request.queryValue("locale")))
    }
    routes.on(.post, "/v1/purchases") { request, _ in
      let purchase = try await request.decode(AgentPurchaseRequest.self, upTo: Self.maximumBody)
      let key = try request.idempotencyKey() ?? RandomBytes.token(bits: 128)
      try await shop.check(purchase)
      let transaction = try await transactions.purchase(purchase, key: key)
      await shop.forgetHoldings()
      return try .json(transaction, status: .created)
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
}
