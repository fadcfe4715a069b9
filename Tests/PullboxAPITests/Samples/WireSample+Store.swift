import PullboxAPI
import ServiceAPI

/// docs/sandbox-store.md, and problem documents (RFC 9457).
extension WireSample {
  static let accountOffer = """
    {
      "eligible": true,
      "kind": "introductory",
      "payment": "pay-as-you-go",
      "payments": 3,
      "period": "P1M",
      "price": {"amount": "0.99", "currency": "EUR"}
    }
    """

  static let codeTerms = """
    {
      "payment": "pay-as-you-go",
      "payments": 3,
      "period": "P1M",
      "price": {"amount": "0.99", "currency": "EUR"}
    }
    """
  static let codePreview = """
    {
      "kind": "offer",
      "product": "com.example.heroes.monthly",
      "start": "2026-12-21T08:30:00.000Z",
      "terms": \(codeTerms)
    }
    """

  static let bonus = #"{"eligible": true, "period": "P1M"}"#

  static let storeTransaction = """
    {
      "applicationUsername": "reader-7",
      "currency": "EUR",
      "device": "2b1f0c1e-7d3a-4c53-9b52-0a53f3f4b7aa",
      "environment": "Sandbox",
      "error": "payment-declined",
      "expiresDate": "2026-12-21T08:30:00.000Z",
      "finishedDate": "2026-11-21T08:31:00.000Z",
      "id": "2000000000000002",
      "originalId": "2000000000000001",
      "price": "2.99",
      "product": "com.example.heroes.monthly",
      "purchaseDate": "2026-11-21T08:30:00.000Z",
      "quantity": 1,
      "revocationDate": "2026-11-22T08:30:00.000Z",
      "state": "failed",
      "storefront": "FRA"
    }
    """
  static let queued = """
    {
      "id": "2000000000000001",
      "originalId": "2000000000000001",
      "product": "com.example.coins",
      "purchaseDate": "2026-11-21T08:30:00.000Z",
      "quantity": 10,
      "state": "purchased"
    }
    """
  static let pendingPrice =
    #"{"accepted": false, "needsConsent": true, "price": {"amount": "5.99", "currency": "EUR"}}"#
  static let subscription = """
    {
      "autoRenew": true,
      "expirationIntent": 2,
      "expiresDate": "2026-12-21T08:30:00.000Z",
      "gracePeriodExpiresDate": "2027-01-06T08:30:00.000Z",
      "newPrice": \(pendingPrice),
      "originalId": "2000000000000001",
      "product": "com.example.heroes.monthly",
      "purchaseDate": "2026-11-21T08:30:00.000Z",
      "renewalProduct": "com.example.heroes.yearly",
      "resumeDate": "2027-01-21T08:30:00.000Z",
      "revocationDate": "2026-12-01T08:30:00.000Z",
      "state": "billing-retry"
    }
    """
  static let running = """
    {
      "autoRenew": false,
      "expiresDate": "2026-12-21T08:30:00.000Z",
      "originalId": "2000000000000001",
      "product": "com.example.heroes.monthly",
      "purchaseDate": "2026-11-21T08:30:00.000Z",
      "state": "active"
    }
    """
  static let offer = """
    {
      "name": "summer",
      "payment": "pay-as-you-go",
      "payments": 3,
      "period": "P1M",
      "prices": {"FRA": {"amount": "0.99", "currency": "EUR"}}
    }
    """
  static let fault = #"{"code": "title", "detail": "1 to 500 bytes", "path": "localizations.fr-FR.title"}"#

  static let store = [
    WireSample(
      AccountChange.self,
      """
      {
        "askToBuy": true,
        "canMakePayments": false,
        "downloadId": 7,
        "originalApplicationVersion": "1.4",
        "originalPurchaseDate": "2024-03-01T00:00:00.000Z",
        "territory": "FRA"
      }
      """, minimal: "{}"),
    WireSample(AccountRequest.self, #"{"name": "Ada", "territory": "FRA"}"#),
    WireSample(AccountResponse.self, #"{"account": "17", "token": "kept-by-the-reader-alone"}"#),
    WireSample(
      CodeRequest.self, #"{"offer": \#(offer), "product": "com.example.heroes.monthly", "uses": 100}"#,
      minimal: #"{"product": "com.example.issue1", "uses": 1}"#),
    WireSample(LicenseRequest.self, #"{"product": "com.example.issue1", "seats": 30}"#),
    WireSample(LicenseSeatRequest.self, #"{"account": "a1b2c3d4e5f60718"}"#),
    WireSample(
      ConsumptionReports.self,
      #"{"reports": [{"document": "{}", "received": "2026-11-21T05:26:07.100Z", "version": 2}]}"#,
      minimal: #"{"reports": []}"#),
    WireSample(
      ConsumptionReports.Report.self,
      #"{"document": "{}", "received": "2026-11-21T05:26:07.100Z", "version": 2}"#),
    WireSample(
      PriceIncreaseRequest.self,
      #"{"needsConsent": true, "prices": {"FRA": {"amount": "3.49", "currency": "EUR"}}}"#),
    WireSample(PurchaseDecision.self, #"{"approve": true}"#),
    WireSample(PurchaseFailureRequest.self, #"{"error": "payment-cancelled"}"#, minimal: "{}"),
    WireSample(
      PurchaseRequest.self,
      """
      {
        "applicationUsername": "reader-7",
        "askToBuy": false,
        "device": "2b1f0c1e-7d3a-4c53-9b52-0a53f3f4b7aa",
        "optIn": true,
        "product": "com.example.coins",
        "quantity": 10,
        "shown": "0.99 EUR"
      }
      """,
      minimal: #"{"product": "com.example.coins"}"#),
    WireSample(
      AccountOffer.self, accountOffer,
      minimal: #"{"kind": "introductory", "payment": "free-trial", "payments": 1, "period": "P1W"}"#),
    WireSample(
      AccountOffersResponse.self,
      #"{"products": [{"offers": [\#(accountOffer)], "product": "com.example.heroes.monthly"}]}"#,
      minimal: #"{"products": []}"#),
    WireSample(
      ProductAccountOffers.self,
      #"{"bonus": \#(bonus), "offers": [\#(accountOffer)], "product": "com.example.heroes.monthly"}"#,
      minimal: #"{"offers": [], "product": "com.example.heroes.monthly"}"#),
    WireSample(AccountBonus.self, bonus, minimal: #"{"period": "P1M"}"#),
    WireSample(
      CodePreview.self, codePreview, minimal: #"{"kind": "gift", "product": "com.example.issue1"}"#),
    WireSample(
      CodeTerms.self, codeTerms,
      minimal: #"{"payment": "free-trial", "payments": 1, "period": "P1M"}"#),
    WireSample(GiftCode.self, #""0A1B2C3D4E5F6071""#),
    WireSample(ProductOffers.self, #"{"bonus": "P3M", "introductory": \#(offer)}"#, minimal: "{}"),
    WireSample(
      PurchaseTokenResponse.self,
      #"{"product": "com.example.issue1", "purchaseToken": "abc.AO-J1Ox"}"#),
    WireSample(ReceiptResponse.self, #"{"receipt": "MIIB+/8="}"#),
    WireSample(RefundRequest.self, #"{"percentage": 50, "reason": 1}"#, minimal: "{}"),
    WireSample(RestorePurchasesRequest.self, #"{"device": "2b1f0c1e-7d3a-4c53-9b52-0a53f3f4b7aa"}"#),
    WireSample(
      StoreAccount.self,
      #"{"application": "com.example.pullbox", "canMakePayments": true, "currency": "EUR", "#
        + #""environment": "Sandbox", "territory": "FRA"}"#,
      minimal: #"{"canMakePayments": false, "environment": "Production", "territory": "XKX"}"#),
    WireSample(
      StoreCode.self, #"{"code": "0A1B2C3D4E5F6071", "product": "com.example.heroes.monthly", "uses": 100}"#),
    WireSample(StoreFamily.self, #"{"members": ["b1"], "organizer": "a1"}"#),
    WireSample(
      StoreFaults.self,
      """
      {"collapse21003": true, "latency": 250, "outage": false, "skew": -3600, "status": 503, "wrongSignature": true}
      """, minimal: "{}"),
    WireSample(
      StoreLicense.self, #"{"accounts": ["a1"], "license": 1, "product": "com.example.issue1", "seats": 30}"#),
    WireSample(StoreOffer.self, offer, minimal: #"{"payment": "free-trial", "period": "P1W"}"#),
    WireSample(PendingPrice.self, pendingPrice),
    WireSample(StoreSubscription.self, subscription, minimal: running),
    WireSample(StoreTime.self, #"{"month": "5m", "renewals": 6}"#),
    WireSample(
      SubscriptionChange.self,
      #"{"acceptPrice": true, "autoRenew": false, "product": "com.example.heroes.yearly"}"#,
      minimal: "{}"),
    WireSample(SubscriptionsResponse.self, #"{"subscriptions": [\#(running), \#(subscription)]}"#),
    WireSample(RefundApplication.self, #"{"reason": "LEGAL"}"#, minimal: "{}"),
    WireSample(StoreTransaction.self, storeTransaction, minimal: queued),
    WireSample(TransactionResponse.self, #"{"transaction": \#(storeTransaction)}"#),
    WireSample(
      TransactionsResponse.self,
      #"{"revision": 7, "tag": "5e6f", "transactions": [\#(queued), \#(storeTransaction)]}"#,
      minimal: #"{"transactions": []}"#),
  ]

  static let problems = [
    WireSample(
      Problem.self,
      """
      {
        "after": 2,
        "approval": 17,
        "detail": "1 fault",
        "expectedOffset": 9007199254740993,
        "expiresDate": "2026-12-21T08:30:00.000Z",
        "faults": [\(fault)],
        "instance": "urn:pullbox:request:7s",
        "missingStep": "delivery",
        "retryAfterSeconds": 30,
        "serverTime": "2026-11-21T08:30:00.120Z",
        "status": 422,
        "title": "The product description has faults",
        "type": "urn:pullbox:problem:product-invalid"
      }
      """,
      minimal: """
        {
          "status": 404,
          "title": "There is nothing at this address",
          "type": "urn:pullbox:problem:not-found"
        }
        """),
    WireSample(Problem.Fault.self, fault, minimal: #"{"code": "title", "detail": "1 to 500 bytes"}"#),
  ]
}
