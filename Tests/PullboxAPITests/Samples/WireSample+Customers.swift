import PullboxAPI
import ServiceAPI

extension WireSample {
  /// The delivery server's documents about customers, their devices and their readers' keys.
  static let customers: [WireSample] = [
    WireSample(OperatorCustomers.self, #"{"customers": [\#(customer)]}"#, minimal: #"{"customers": []}"#),
    WireSample(
      OperatorCustomer.self, customer, minimal: #"{"customer": "a", "devices": [], "readers": []}"#),
    WireSample(OperatorCustomer.Device.self, customerDevice),
    WireSample(
      CustomerEntitlement.self,
      """
      {
        "environment": "Sandbox",
        "product": "com.example.heroes.issue42",
        "purchased": "2026-11-21T05:26:07.100Z",
        "rule": "published-during-subscription",
        "store": "sandbox",
        "transaction": "2000000000000001",
        "until": "2026-12-21T05:26:07.100Z"
      }
      """,
      minimal: """
        {
          "environment": "Sandbox",
          "product": "com.example.heroes.issue42",
          "purchased": "2026-11-21T05:26:07.100Z",
          "rule": "purchased",
          "store": "sandbox",
          "transaction": "2000000000000001"
        }
        """),
    WireSample(
      OperatorReaderKey.self, reader,
      minimal: """
        {
          "created": "2026-11-21T05:26:07.100Z",
          "device": "reader-tablet1",
          "name": "tablet1",
          "title": "Tablet"
        }
        """),
  ]

  /// The delivery server's documents about steps that want a second operator.
  static let approvals: [WireSample] = [
    WireSample(
      Approval.self,
      """
      {
        "action": "version.withdraw",
        "affected": 412,
        "asked": "2026-11-21T05:26:07.100Z",
        "askedBy": "ada",
        "decided": "2026-11-21T06:26:07.100Z",
        "decidedBy": "bob",
        "expires": "2026-11-24T05:26:07.100Z",
        "id": 17,
        "outcome": "the other version was meant",
        "reason": "a page is missing",
        "request": "POST /v1/operator/products/com.example.heroes.issue42/versions/1.0/withdraw",
        "scope": "publish",
        "state": "declined",
        "subject": "com.example.heroes.issue42 1.0"
      }
      """,
      minimal: """
        {
          "action": "grant.revoke",
          "asked": "2026-11-21T05:26:07.100Z",
          "askedBy": "ada",
          "expires": "2026-11-24T05:26:07.100Z",
          "id": 17,
          "request": "POST /v1/operator/revocations",
          "scope": "admin",
          "state": "waiting",
          "subject": "shelf-7"
        }
        """),
    WireSample(OperatorConfiguration.self, #"{"settings": [\#(setting)]}"#, minimal: #"{"settings": []}"#),
    WireSample(
      OperatorConfiguration.Setting.self, setting,
      minimal: #"{"isSecret": true, "key": "store.credential", "waitsForRestart": false}"#),
    WireSample(
      CatalogImportPlan.self,
      """
      {
        "changes": [\(change)],
        "hasMore": false,
        "report": {"changed": 1, "created": 0, "unchanged": 2}
      }
      """,
      minimal: """
        {"changes": [], "hasMore": false, "report": {"changed": 0, "created": 0, "unchanged": 0}}
        """),
    WireSample(
      CatalogImportChange.self, change,
      minimal: #"{"id": "3", "isNew": true, "kind": "price-tier", "members": []}"#),
    WireSample(
      CatalogImportChange.Member.self,
      #"{"member": "prices.FRA.amount", "new": "5.99", "old": "4.99"}"#,
      minimal: #"{"member": "type"}"#),
    WireSample(RevocationPlan.self, #"{"begun": 2, "devices": 3, "grants": 120, "hasMore": false}"#),
    WireSample(
      RevocationRequest.self,
      #"{"device": "shelf-7", "reason": "lost", "transaction": "2000000000000001"}"#, minimal: "{}"),
    WireSample(RevocationReport.self, #"{"hasMore": true, "revoked": 1000}"#),
  ]

  private static let change = """
    {
      "id": "com.example.heroes.issue42",
      "isNew": false,
      "kind": "product",
      "members": [{"member": "prices.FRA.amount", "new": "5.99", "old": "4.99"}]
    }
    """

  private static let setting = """
    {
      "isSecret": false,
      "key": "storeCalls",
      "origin": "file",
      "place": "/etc/pullbox/server.json5:3:7",
      "value": "4",
      "waitsForRestart": true
    }
    """

  private static let customerDevice = """
    {
      "device": "shelf-7",
      "firstSeen": "2026-11-21T05:26:07.100Z",
      "lastSeen": "2026-11-22T05:26:07.100Z"
    }
    """

  private static let reader = """
    {
      "created": "2026-11-21T05:26:07.100Z",
      "device": "reader-tablet1",
      "name": "tablet1",
      "title": "Tablet",
      "used": "2026-11-22T05:26:07.100Z"
    }
    """

  private static let customer = """
    {
      "customer": "3f9a6c2e815d4b70a1c4e8d2b6f09357",
      "devices": [\(customerDevice)],
      "readers": [\(reader)]
    }
    """
}
