import PullboxAPI

extension WireSample {
  /// The delivery server's documents about customers, their devices and their readers' keys.
  static let customers: [WireSample] = [
    WireSample(OperatorCustomers.self, #"{"customers": [\#(customer)]}"#, minimal: #"{"customers": []}"#),
    WireSample(
      OperatorCustomer.self, customer, minimal: #"{"customer": "a", "devices": [], "readers": []}"#),
    WireSample(OperatorCustomer.Device.self, device),
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

  private static let device = """
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
      "devices": [\(device)],
      "readers": [\(reader)]
    }
    """
}
