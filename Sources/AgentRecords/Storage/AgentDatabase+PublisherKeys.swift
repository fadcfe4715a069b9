package import Commerce
package import ContentPackage
import Database
import PullboxAPI
package import ServiceAPI

extension AgentDatabase {
  /// Returns the signature policy for content of these terms on this device.
  package func trust(
    in terms: DownloadTerms, trusting trusted: Set<PublisherKeyIdentifier>
  ) throws -> SignaturePolicy {
    SignaturePolicy(
      named: Set(terms.publisherKeys ?? []), pinned: try pinnedKeys(of: terms.product), trusted: trusted)
  }

  /// The keys that signed what was accepted of the product.
  func pinnedKeys(of product: ProductIdentifier) throws -> Set<PublisherKeyIdentifier> {
    try database.readBlocking { connection in
      var keys: Set<PublisherKeyIdentifier> = []
      try connection.forEach(
        "SELECT key_id FROM publisher_keys WHERE product = ?", [.text(product.description)]
      ) {
        row in
        keys.insert(try Self.require(PublisherKeyIdentifier(try row.text("key_id")), "publisher_keys.key_id"))
      }
      return keys
    }
  }

  /// Remembers them for good.
  package func pin(_ keys: Set<PublisherKeyIdentifier>, to product: ProductIdentifier) throws {
    guard !keys.isEmpty else { return }
    try database.writeBlocking(locking: [.everything]) { connection in
      for key in keys {
        try connection.execute(
          "INSERT INTO publisher_keys (product, key_id) VALUES (?, ?) ON CONFLICT DO NOTHING",
          [.text(product.description), .text(key.description)])
      }
    }
  }
}
