package import Commerce
package import Crypto
package import Database

/// The locks on the rows that the service's decisions rest on. A write names those of everything that its
/// decision reads; ``DatabaseLock/everything`` stands for all of them.
extension DatabaseLock {
  /// The grants, debts and store calls of a transaction.
  package static func transaction(_ key: TransactionKey) -> DatabaseLock {
    DatabaseLock(kind: "transaction", name: "\(key.store) \(key.environment.rawValue) \(key.id)")
  }

  /// The row that remembers a proof.
  package static func proof(_ digest: SHA256Digest) -> DatabaseLock {
    DatabaseLock(kind: "proof", name: digest.hexadecimal)
  }

  /// A product and its versions.
  package static func product(_ id: ProductIdentifier) -> DatabaseLock {
    DatabaseLock(kind: "product", name: id.description)
  }

  /// The publications that operators describe.
  package static let publications = DatabaseLock(kind: "publications", name: "")

  /// Prices that products share.
  package static let priceTiers = DatabaseLock(kind: "price-tiers", name: "")

  /// A package, and whether anything needs it.
  package static func content(_ digest: SHA256Digest) -> DatabaseLock {
    DatabaseLock(kind: "content", name: digest.hexadecimal)
  }

  /// A device's feed.
  package static func feed(of device: DeviceIdentifier, at store: StoreIdentifier) -> DatabaseLock {
    DatabaseLock(kind: "feed", name: "\(store) \(device)")
  }

  /// An upload.
  package static func upload(_ id: String) -> DatabaseLock {
    DatabaseLock(kind: "upload", name: id)
  }

  /// Which process does some work.
  package static func lease(_ name: String) -> DatabaseLock {
    DatabaseLock(kind: "lease", name: name)
  }
}
