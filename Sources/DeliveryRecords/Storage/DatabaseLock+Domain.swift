package import Commerce
package import Crypto
package import Database
package import DeliveryModel

/// The locks on the rows that the service's decisions rest on. A write names those of everything that its
/// decision reads and that another write could change beside it: shared where it leaves them as they are.
/// docs/locks.md has every write with its locks.
extension DatabaseLock {
  /// The row of a transaction in the ledger, and its grants, debts and store calls. Of the first transaction of a purchase
  /// also which transactions the purchase has, whose they are, and the accounts that have claimed it.
  package static func transaction(_ key: TransactionKey) -> DatabaseLock {
    DatabaseLock(kind: "transaction", name: "\(key.store) \(key.environment.rawValue) \(key.id)")
  }

  /// The rows that remember a proof: that it was good, and which grants rest on it unconfirmed.
  package static func proof(_ digest: SHA256Digest) -> DatabaseLock {
    DatabaseLock(kind: "proof", name: digest.hexadecimal)
  }

  /// A product with its review and its screenshot, its versions and how far each is released, and the failures that
  /// devices have reported of them. Also that nothing was bought or granted of it so far: who buys or grants holds it shared.
  package static func product(_ id: ProductIdentifier) -> DatabaseLock {
    DatabaseLock(kind: "product", name: id.description)
  }

  /// The publications that operators describe, with the rules of their subscriptions.
  package static let publications = DatabaseLock(kind: "publications", name: "")

  /// Prices that products share, and which of them products name.
  package static let priceTiers = DatabaseLock(kind: "price-tiers", name: "")

  /// The rows about a package: which versions and uploads need it, whether it is blocked, whole, or on its way out.
  package static func content(_ digest: SHA256Digest) -> DatabaseLock {
    DatabaseLock(kind: "content", name: digest.hexadecimal)
  }

  /// A device's feeds at a store, with what each has told.
  package static func feed(of device: DeviceIdentifier, at store: StoreIdentifier) -> DatabaseLock {
    DatabaseLock(kind: "feed", name: "\(store) \(device)")
  }

  /// The row of an upload.
  package static func upload(_ id: String) -> DatabaseLock {
    DatabaseLock(kind: "upload", name: id)
  }

  /// The bytes that all uploads have reserved of the quota of several nodes.
  package static let uploadRoom = DatabaseLock(kind: "upload-room", name: "")

  /// A claim by which one request or process does some work, with what it leaves to the next one.
  package static func lease(_ name: String) -> DatabaseLock {
    DatabaseLock(kind: "lease", name: name)
  }

  /// The store accounts that buy for an application account in one environment, and those for whose purchases requests
  /// name it; where a store's rules join such purchases, also whose they are. The lock has a digest in place of the
  /// account, whose name may be a secret.
  package static func account(
    _ account: ApplicationAccount, in environment: StoreEnvironment
  ) -> DatabaseLock {
    let digest = SHA256Digest.of(Array(account.canonical.description.utf8))
    return DatabaseLock(kind: "account", name: "\(environment.rawValue) \(digest.hexadecimal)")
  }

  /// A customer: which transactions are the customer's, and the devices that have a place. It is found on the way, in the rows of
  /// transactions, and taken by ``CustomerTable/lock(_:in:)``.
  package static func customer(_ customer: CustomerIdentifier) -> DatabaseLock {
    DatabaseLock(kind: "customer", name: customer.hexadecimal, isFoundOnTheWay: true)
  }

  /// Returns the locks of a write that takes what stores say of these transactions into the ledger, or grants something for them.
  /// With `joinsAccounts`, purchases that name the same application account are one customer's.
  package static func statements(
    on transactions: some Sequence<VerifiedTransaction>, joiningAccounts joinsAccounts: Bool
  ) -> [DatabaseLock] {
    var locks: [DatabaseLock] = []
    for transaction in transactions {
      locks += [.transaction(transaction.key), .transaction(transaction.originalKey)]
      locks.append(.product(transaction.product).shared)
      guard joinsAccounts, let account = transaction.account else { continue }
      locks.append(.account(account, in: transaction.environment))
    }
    return locks
  }
}
