import CoreTypes
import HTTPServer
import PullboxAPI
import PullboxAPIServer
import ServiceAPI
import ServiceRuntime

/// Test controls, under `/sandbox/v1`.
extension StoreRoutes {
  /// The field that bears the control key: `Authorization` has the account's token.
  static let controlKeyField = "Control-Key"

  /// Every control, as ``StoreControl`` lists them.
  var controls: APIRoutes {
    var controls = APIRoutes()
    addAccountControls(to: &controls)
    addTransactionControls(to: &controls)
    addSubscriptionControls(to: &controls)
    addRefundRequests(to: &controls)
    certificates?.addControls(to: &controls)
    google?.addControls(to: &controls)
    addSharingControls(to: &controls)
    return controls
  }

  /// Adds the controls. Where the store has a control key, the check of the key stands before each of them,
  /// and a request with another key or none is 403 `forbidden`.
  func addControls(to routes: inout APIRoutes) {
    var controls = self.controls
    controls.wrap { [controlKey] _, _ in
      guard let controlKey else { return nil }
      return { request, _, respond in
        guard controlKey.matches(try request.onlyValue(of: Self.controlKeyField)) else {
          throw Problem(.forbidden, "\(Self.controlKeyField) is not this store's control key")
        }
        return try await respond(request)
      }
    }
    routes.add(controls)
  }

  /// Adds the controls of accounts, of faults and of time.
  private func addAccountControls(to routes: inout APIRoutes) {
    routes.on(.post, "/sandbox/v1/accounts") { [store, log] request, _ in
      let response = try await store.openAccount(request.decode(AccountRequest.self, upTo: .kibibytes(16)))
      log.info("account opened", ["account": "\(response.account)"])
      return try .json(response, status: .created)
    }
    routes.on(.patch, "/sandbox/v1/accounts/{account}") { [store] request, parameters in
      let change = try await request.decode(AccountChange.self, upTo: .kibibytes(16))
      return try await .json(store.change(account: parameters["account"], to: change))
    }
    routes.on(.post, "/sandbox/v1/purchases/fail-next") { [store] request, _ in
      let account = try await store.account(token: request.bearerToken)
      let failure = try await request.decodeIfPresent(PurchaseFailureRequest.self, upTo: .kibibytes(16))
      try await store.failNextPurchase(of: account, with: failure)
      return HTTPResponse(status: .noContent)
    }
    routes.on(.put, "/sandbox/v1/faults") { [store] request, _ in
      try await .json(store.setFaults(request.decode(StoreFaults.self, upTo: .kibibytes(16))))
    }
    routes.on(.put, "/sandbox/v1/time") { [store] request, _ in
      try await .json(store.setTime(request.decode(StoreTime.self, upTo: .kibibytes(16))))
    }
  }

  /// Adds the controls of offers, codes, licenses and families.
  private func addSharingControls(to routes: inout APIRoutes) {
    routes.on(.put, "/sandbox/v1/offers/{product}") { [store] request, parameters in
      let offers = try await request.decode(ProductOffers.self, upTo: .kibibytes(64))
      return try await .json(store.setOffers(offers, of: parameters["product"]))
    }
    routes.on(.post, "/sandbox/v1/codes") { [store] request, _ in
      let wanted = try await request.decode(CodeRequest.self, upTo: .kibibytes(64))
      return try await .json(store.makeCode(wanted), status: .created)
    }
    routes.on(.post, "/sandbox/v1/licences") { [store] request, _ in
      let wanted = try await request.decode(LicenseRequest.self, upTo: .kibibytes(16))
      return try await .json(store.makeLicense(wanted), status: .created)
    }
    routes.on(.post, "/sandbox/v1/licences/{licence}/assign") { [store] request, parameters in
      let seat = try await request.decode(LicenseSeatRequest.self, upTo: .kibibytes(16))
      return try await .json(store.assign(parameters["licence"], seat))
    }
    routes.on(.post, "/sandbox/v1/licences/{licence}/revoke") { [store] request, parameters in
      let seat = try await request.decode(LicenseSeatRequest.self, upTo: .kibibytes(16))
      return try await .json(store.revokeSeat(parameters["licence"], seat))
    }
    routes.on(.post, "/sandbox/v1/families") { [store] request, _ in
      try await .json(store.setFamily(request.decode(StoreFamily.self, upTo: .kibibytes(16))))
    }
  }

  private func addTransactionControls(to routes: inout APIRoutes) {
    routes.on(.post, "/sandbox/v1/transactions/{id}/decide") { [store] request, parameters in
      let decision = try await request.decode(PurchaseDecision.self, upTo: .kibibytes(16))
      return try await .json(TransactionResponse(transaction: store.decide(parameters["id"], decision)))
    }
    routes.on(.post, "/sandbox/v1/transactions/{id}/refund") { [store] request, parameters in
      let refund = try await request.decodeIfPresent(RefundRequest.self, upTo: .kibibytes(16))
      return try await .json(TransactionResponse(transaction: store.refund(parameters["id"], refund)))
    }
    routes.on(.post, "/sandbox/v1/transactions/{id}/reverse") { [store] _, parameters in
      try await .json(TransactionResponse(transaction: store.reverse(parameters["id"])))
    }
    routes.on(.post, "/sandbox/v1/transactions/{id}/revoke") { [store] _, parameters in
      try await .json(TransactionResponse(transaction: store.revoke(parameters["id"])))
    }
  }

  private func addSubscriptionControls(to routes: inout APIRoutes) {
    routes.on(.post, "/sandbox/v1/subscriptions/{originalId}/fail-renewals") { [store] _, parameters in
      try await .json(store.failRenewals(of: parameters["originalId"]))
    }
    routes.on(.post, "/sandbox/v1/subscriptions/{originalId}/recover") { [store] _, parameters in
      try await .json(store.recover(parameters["originalId"]))
    }
    routes.on(.post, "/sandbox/v1/subscriptions/{originalId}/pause") { [store] _, parameters in
      try await .json(store.pause(parameters["originalId"]))
    }
    routes.on(.post, "/sandbox/v1/subscriptions/{originalId}/resume") { [store] _, parameters in
      try await .json(store.resume(parameters["originalId"]))
    }
    routes.on(.post, "/sandbox/v1/subscriptions/{originalId}/raise-price") { [store] request, parameters in
      let increase = try await request.decode(PriceIncreaseRequest.self, upTo: .kibibytes(64))
      return try await .json(store.raisePrice(of: parameters["originalId"], increase))
    }
    routes.on(.post, "/sandbox/v1/subscriptions/{originalId}/expire") { [store] _, parameters in
      try await .json(store.expire(parameters["originalId"]))
    }
  }
}
