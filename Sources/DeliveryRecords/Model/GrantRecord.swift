package import Commerce
package import CoreTypes
package import Crypto
package import PullboxAPI

/// A grant as the database holds it.
package struct GrantRecord: Sendable {
  /// Counts up with every grant; zero until the grant is in the database.
  package var number: Int64 = 0
  package var id: GrantIdentifier
  package var handle: DeliveryHandle
  package var store: StoreIdentifier
  package var environment: StoreEnvironment
  package var transaction: TransactionIdentifier
  package var product: ProductIdentifier
  package var version: ContentVersion
  package var device: DeviceIdentifier
  /// The key of the device's signatures; nil where the device gave no key.
  package var publicKey: VerificationKey?
  /// The SHA-256 of what a device without a key renews with; nil also for such a grant of a version that handed none out.
  package var renewalDigest: SHA256Digest?
  /// The same of the one before, which renews as well: the answer with the later one may not have arrived.
  package var previousRenewalDigest: SHA256Digest?
  package var digest: SHA256Digest
  package var length: ByteCount
  package var manifestDigest: SHA256Digest
  package var machine: GrantMachine
  package var created: Timestamp
  /// The last decision of an operator about the grant; nil without a decision.
  package var operatorWord: TransactionStanding.OperatorWord?

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
  case `operator`
  case store
}

extension GrantRecord {
  /// The transaction that pays for the grant.
  package var transactionKey: TransactionKey {
    TransactionKey(store: store, environment: environment, id: transaction)
  }
}

extension GrantStatus {
  init(_ grant: GrantRecord, delivered: ByteCount, history: [GrantStatus.Event]) {
    self.init(
      grant: grant.id, state: grant.machine.name, store: grant.store.description,
      transaction: grant.transaction,
      product: grant.product, version: grant.version, device: grant.device, digest: grant.digest,
      length: grant.length, bytesDelivered: delivered, history: history,
      environment: grant.environment.rawValue)
  }
}

extension OperatorGrant {
  init(_ grant: GrantRecord, delivered: ByteCount, history: [GrantStatus.Event]) {
    self.init(
      grant: grant.handle.shortName, state: grant.machine.name, store: grant.store.description,
      transaction: grant.transaction, product: grant.product, version: grant.version, device: grant.device,
      digest: grant.digest, length: grant.length, bytesDelivered: delivered, history: history,
      environment: grant.environment.rawValue)
  }
}
