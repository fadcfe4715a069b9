import PullboxAPI

/// docs/sandbox-store.md, and problem documents (RFC 9457).
extension WireSample {
  static let storeTransaction = """
    {
      "applicationUsername": "reader-7",
      "device": "2b1f0c1e-7d3a-4c53-9b52-0a53f3f4b7aa",
      "error": "payment-declined",
      "expiresDate": "2026-12-21T08:30:00.000Z",
      "finishedDate": "2026-11-21T08:31:00.000Z",
      "id": "2000000000000002",
      "originalId": "2000000000000001",
      "product": "com.example.heroes.monthly",
      "purchaseDate": "2026-11-21T08:30:00.000Z",
      "quantity": 1,
      "state": "failed"
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
  static let fault = #"{"code": "title", "detail": "1 to 500 bytes", "path": "localizations.fr-FR.title"}"#

  static let store = [
    WireSample(AccountRequest.self, #"{"name": "Ada", "territory": "FRA"}"#),
    WireSample(AccountResponse.self, #"{"account": "17", "token": "kept-by-the-reader-alone"}"#),
    WireSample(
      PurchaseRequest.self,
      """
      {
        "applicationUsername": "reader-7",
        "askToBuy": false,
        "device": "2b1f0c1e-7d3a-4c53-9b52-0a53f3f4b7aa",
        "product": "com.example.coins",
        "quantity": 10
      }
      """,
      minimal: #"{"product": "com.example.coins"}"#),
    WireSample(ReceiptResponse.self, #"{"receipt": "MIIB+/8="}"#),
    WireSample(StoreTransaction.self, storeTransaction, minimal: queued),
    WireSample(TransactionResponse.self, #"{"transaction": \#(storeTransaction)}"#),
    WireSample(TransactionsResponse.self, #"{"transactions": [\#(queued), \#(storeTransaction)]}"#),
  ]

  static let problems = [
    WireSample(
      Problem.self,
      """
      {
        "detail": "1 fault",
        "expectedOffset": 9007199254740993,
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
