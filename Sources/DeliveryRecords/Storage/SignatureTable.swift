package import Commerce
package import ContentPackage
import Crypto
package import Database

/// The signatures of versions' manifests, each checked before it was written here.
package enum SignatureTable {
  /// Adds the signatures of a new version; one key signs once.
  package static func insert(
    _ signatures: [PublisherSignature], of product: ProductIdentifier, _ version: ContentVersion,
    in connection: borrowing Connection
  ) throws {
    for signature in signatures {
      try connection.execute(
        """
        INSERT INTO version_signatures (product, version, key_id, public_key, value) VALUES (?, ?, ?, ?, ?)
        ON CONFLICT (product, version, key_id) DO NOTHING
        """,
        [
          .identifier(product), .identifier(version), .identifier(signature.keyId),
          .publicKey(signature.publicKey), .text(signature.value),
        ])
    }
  }

  /// By key, those of `keys` only where it names any: a key that the product no longer names counts for
  /// nothing.
  package static func all(
    of product: ProductIdentifier, _ version: ContentVersion, by keys: [PublisherKeyIdentifier]?,
    in connection: borrowing Connection
  ) throws -> [PublisherSignature] {
    let signatures = try connection.query(
      """
      SELECT key_id, public_key, value FROM version_signatures WHERE product = ? AND version = ? ORDER BY key_id
      """, [.identifier(product), .identifier(version)]
    ).map { row in
      PublisherSignature(
        keyId: try row.identifier("key_id"), publicKey: try row.publicKey("public_key"),
        value: try row.text("value"))
    }
    guard let keys else { return signatures }
    return signatures.filter { keys.contains($0.keyId) }
  }
}
