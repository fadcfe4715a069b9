/// A test control as `--help` lists it; docs/sandbox-store.md says more of each.
struct StoreControl: Sendable {
  /// Method and path.
  let route: String
  /// The members of its body, as help shows them; nil without a body.
  let members: String?
  /// A few words without a full stop, which follow the route in the help.
  let summary: String

  private init(_ route: String, _ members: String? = nil, _ summary: String) {
    self.route = route
    self.members = members
    self.summary = summary
  }

  /// A line of the help.
  var line: String { "\(route)\(members.map { " {\($0)}" } ?? ""): \(summary)" }

  /// In the order of the document's table.
  static let all = [
    StoreControl("POST /sandbox/v1/accounts", "territory, name", "opens an account"),
    StoreControl(
      "PATCH /sandbox/v1/accounts/{account}",
      "canMakePayments?, askToBuy?, originalApplicationVersion?, originalPurchaseDate?, downloadId?",
      "how it pays, and when it bought the application"),
    StoreControl(
      "POST /sandbox/v1/purchases/fail-next", "error", "an account's next purchase fails, or is interrupted"),
    StoreControl(
      "POST /sandbox/v1/transactions/{id}/decide", "approve", "sells or refuses one that waits"),
    StoreControl(
      "POST /sandbox/v1/transactions/{id}/refund", "percentage?, reason?", "refunds it, whole or in part"),
    StoreControl(
      "POST /sandbox/v1/transactions/{id}/request-refund", "reason?", "the customer asks for a refund"),
    StoreControl(
      "POST /sandbox/v1/transactions/{id}/decline-refund", nil, "the customer gets none"),
    StoreControl(
      "GET /sandbox/v1/transactions/{id}/consumption", nil, "what the server said of its use"),
    StoreControl("POST /sandbox/v1/transactions/{id}/reverse", nil, "takes the refund back"),
    StoreControl("POST /sandbox/v1/transactions/{id}/revoke", nil, "ends family sharing of it"),
    StoreControl(
      "POST /sandbox/v1/subscriptions/{originalId}/fail-renewals", nil, "payments of renewals fail"),
    StoreControl(
      "POST /sandbox/v1/subscriptions/{originalId}/recover", nil, "payments succeed again"),
    StoreControl(
      "POST /sandbox/v1/subscriptions/{originalId}/pause", nil,
      "one with a purchase token pauses after its period"),
    StoreControl(
      "POST /sandbox/v1/subscriptions/{originalId}/resume", nil, "it goes on at once, or does not pause"),
    StoreControl(
      "POST /sandbox/v1/subscriptions/{originalId}/raise-price", "prices, needsConsent",
      "a price that counts from the next renewal on"),
    StoreControl("POST /sandbox/v1/subscriptions/{originalId}/expire", nil, "ends it now"),
    StoreControl(
      "PUT /sandbox/v1/time", "month, renewals", "how long a month lasts, and how often is renewed"),
    StoreControl(
      "POST /sandbox/v1/certificates/revoke", nil, "the certificate of signed data is revoked"),
    StoreControl("POST /sandbox/v1/certificates/renew", nil, "makes another one"),
    StoreControl(
      "PUT /sandbox/v1/offers/{product}", "introductory?, bonus?", "what new subscribers are offered"),
    StoreControl(
      "POST /sandbox/v1/codes", "product, offer?, uses", "makes a gift code or a promotional one"),
    StoreControl("POST /sandbox/v1/licences", "product, seats", "makes a volume license"),
    StoreControl("POST /sandbox/v1/licences/{licence}/assign", "account", "gives a seat to an account"),
    StoreControl("POST /sandbox/v1/licences/{licence}/revoke", "account", "takes the seat back"),
    StoreControl("POST /sandbox/v1/families", "organizer, members", "sets who shares purchases"),
    StoreControl(
      "GET /sandbox/v1/google/key-file", nil, "the key file of the Google-like interface's account"),
    StoreControl("POST /sandbox/v1/google/withdraw-tokens", nil, "access tokens count no more"),
    StoreControl("POST /sandbox/v1/google/test-notification", nil, "posts a test notification"),
    StoreControl(
      "PUT /sandbox/v1/faults",
      "latency?, status?, outage?, wrongSignature?, skew?, collapse21003?", "what goes wrong from now on"),
  ]

  /// The paragraph of `--help`.
  static var paragraph: String {
    "Test controls, with the field Control-Key where there is a key:\n"
      + all.map(\.line).joined(separator: "\n")
  }
}
