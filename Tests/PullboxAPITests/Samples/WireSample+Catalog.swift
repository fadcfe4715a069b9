import PullboxAPI
import ServiceAPI

/// The documents of what is for sale, as everybody reads them.
extension WireSample {
  static let listing = """
    {
      "availableUntil": "2027-09-01T00:00:00.000Z",
      "contentLength": 250003657,
      "contentVersion": "1.10",
      "cover": "images/cover.jpg",
      "coverURL": "/v1/products/com.example.heroes.issue42/cover?version=1.10",
      "description": "The one with the lighthouse",
      "id": "com.example.heroes.issue42",
      "period": "P1M",
      "price": {"amount": "2.99", "currency": "EUR", "formatted": "2,99 €", "locale": "fr-FR"},
      "privacyURL": "https://comics.example/privacy",
      "publication": "com.example.heroes",
      "publicationDate": "2026-09-01T00:00:00.000Z",
      "terms": "Renews every month at that price, until it is ended.",
      "title": "Héros nº 42",
      "type": "non-consumable"
    }
    """
  static let freeListing =
    #"{"description": "", "id": "a", "title": "A", "type": "auto-renewable-subscription"}"#

  static let publicationListing = """
    {
      "coverURL": "/v1/products/com.example.heroes.issue42/cover?version=1.10",
      "description": "Every month",
      "id": "com.example.heroes",
      "latestIssue": \(listing),
      "subscriptions": [\(freeListing)],
      "title": "Heroes"
    }
    """
  static let barePublication =
    #"{"description": "", "id": "com.example.heroes", "subscriptions": [], "title": "com.example.heroes"}"#

  static let catalog = [
    WireSample(PublicationListing.self, publicationListing, minimal: barePublication),
    WireSample(
      PublicationsResponse.self,
      #"{"next": "com.example.heroes", "publications": [\#(publicationListing)]}"#,
      minimal: #"{"publications": []}"#),
    WireSample(
      PublicationResponse.self,
      #"{"issues": [\#(listing)], "next": "com.example.heroes.issue42", "publication": \#(barePublication)}"#,
      minimal: #"{"issues": []}"#),
    WireSample(
      ProductsForSale.Item.self,
      """
      {
        "changed": "2026-09-01T00:00:00.000Z",
        "id": "com.example.heroes.issue42",
        "publication": "com.example.heroes",
        "type": "non-consumable"
      }
      """,
      minimal: #"{"changed": "2026-09-01T00:00:00.000Z", "id": "a", "type": "consumable"}"#),
    WireSample(
      ProductsForSale.self,
      #"{"products": [{"changed": "2026-09-01T00:00:00.000Z", "id": "a", "type": "consumable"}]}"#,
      minimal: #"{"products": []}"#),
    WireSample(ProductListing.self, listing, minimal: freeListing),
    WireSample(
      ProductListing.ListedPrice.self,
      #"{"amount": "300", "currency": "JPY", "formatted": "¥300", "locale": "ja-JP"}"#,
      minimal: #"{"amount": "300", "currency": "JPY", "formatted": "¥300"}"#),
    WireSample(
      ProductsResponse.self,
      """
      {
        "invalidProductIdentifiers": ["com.example.unknown", "no identifier at all: é/?"],
        "nearest": {"com.example.unknown": "com.example.unknown1"},
        "products": [\(listing), \(freeListing)]
      }
      """,
      minimal: #"{"invalidProductIdentifiers": [], "products": []}"#),
  ]
}
