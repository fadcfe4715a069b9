package import Commerce
package import CoreTypes
package import Crypto
import PullboxAPI
package import ServiceAPI

/// A grant as the database holds it.
package struct GrantRecord: Sendable {
  /// Counts up with every grant; zero until the grant is in the database.
  package var number: Int64 = 0
  /// The name by which the device asks for the grant. It is no secret.
  package var id: GrantIdentifier
  /// Names the grant in tickets and in the counts of bytes. Its first 8 bytes are the short name for operators.
  package var handle: DeliveryHandle
  /// The store that sold it.
  package var store: StoreIdentifier
  /// The store's environment that the purchase was made in.
  package var environment: StoreEnvironment
  /// The transaction that pays, by its number at the store.
  package var transaction: TransactionIdentifier
  /// The product that is delivered.
  package var product: ProductIdentifier
  /// The version as its product spells it.
  package var version: ContentVersion
  /// The device that the grant is for.
  package var device: DeviceIdentifier
  /// The key of the device's signatures; nil where the device gave no key.
  package var publicKey: VerificationKey?
  /// The SHA-256 of what a device without a key renews with; nil also for such a grant of a version that handed none out.
  package var renewalDigest: SHA256Digest?
  /// The same of the one before, which renews as well: the answer with the later one may not have arrived.
  package var previousRenewalDigest: SHA256Digest?
  /// The SHA-256 of the package.
  package var digest: SHA256Digest
  /// Bytes of the package.
  package var length: ByteCount
  /// The SHA-256 of the manifest's exact bytes.
  package var manifestDigest: SHA256Digest
  /// The grant's state.
  package var machine: GrantMachine
  /// When the grant was made, by this server's clock.
  package var created: Timestamp
  /// The last decision of an operator about the grant; nil without a decision.
  package var operatorWord: TransactionStanding.OperatorWord?

  /// Creates a grant, with the number 0 one that the database has not seen yet. `digest` and `length` are those of the package,
  /// `manifestDigest` is that of the manifest alone.
  package init(
    number: Int64 = 0, id: GrantIdentifier, handle: DeliveryHandle, store: StoreIdentifier,
    environment: StoreEnvironment, transaction: TransactionIdentifier, product: ProductIdentifier,
    version: ContentVersion, device: DeviceIdentifier, publicKey: VerificationKey? = nil,
    renewalDigest: SHA256Digest? = nil, previousRenewalDigest: SHA256Digest? = nil, digest: SHA256Digest,
    length: ByteCount, manifestDigest: SHA256Digest, machine: GrantMachine, created: Timestamp,
    operatorWord: TransactionStanding.OperatorWord? = nil
  ) {
    self.number = number
    self.id = id
    self.handle = handle
    self.store = store
    self.environment = environment
    self.transaction = transaction
    self.product = product
    self.version = version
    self.device = device
    self.publicKey = publicKey
    self.renewalDigest = renewalDigest
    self.previousRenewalDigest = previousRenewalDigest
    self.digest = digest
    self.length = length
    self.manifestDigest = manifestDigest
    self.machine = machine
    self.created = created
    self.operatorWord = operatorWord
  }
}

/// The party that revoked a grant.
package enum RevocationSource: String, Sendable {
  /// An operator's decision, whatever the store says.
  case `operator`
  /// The store's refund or withdrawal.
  case store
}

extension GrantRecord {
  /// The transaction that pays for the grant.
  package var transactionKey: TransactionKey {
    TransactionKey(store: store, environment: environment, id: transaction)
  }
}

extension GrantStatus {
  /// Creates the document that devices get. `history` is in the order of its events.
  package init(_ grant: GrantRecord, delivered: ByteCount, history: [GrantStatus.Event]) {
    self.init(
      grant: grant.id, state: grant.machine.name, store: grant.store.description,
      transaction: grant.transaction,
      product: grant.product, version: grant.version, device: grant.device, digest: grant.digest,
      length: grant.length, bytesDelivered: delivered, history: history,
      environment: grant.environment.rawValue)
  }
}

extension OperatorGrant {
  /// Creates the document that operators get, which has the short name in place of the grant's.
  package init(_ grant: GrantRecord, delivered: ByteCount, history: [GrantStatus.Event]) {
    self.init(
      grant: grant.handle.shortName, state: grant.machine.name, store: grant.store.description,
      transaction: grant.transaction, product: grant.product, version: grant.version, device: grant.device,
      digest: grant.digest, length: grant.length, bytesDelivered: delivered, history: history,
      environment: grant.environment.rawValue)
  }
}
