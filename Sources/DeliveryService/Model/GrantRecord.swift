import Commerce
import CoreTypes
import Crypto
import PullboxAPI

/// A grant as the database holds it.
struct GrantRecord: Sendable {
  /// Counts up with every grant; zero until the grant is in the database.
  var number: Int64 = 0
  var id: GrantIdentifier
  var handle: DeliveryHandle
  var store: StoreIdentifier
  var environment: StoreEnvironment
  var transaction: TransactionIdentifier
  var product: ProductIdentifier
  var version: ContentVersion
  var device: DeviceIdentifier
  /// What the device signs with; nil where it gave no key.
  var publicKey: VerificationKey?
  /// The SHA-256 of what a device without a key renews with; nil also for such a grant of a version that handed none out.
  var renewalDigest: SHA256Digest?
  /// The same of the one before, which renews as well: the answer with the later one may not have arrived.
  var previousRenewalDigest: SHA256Digest?
  var digest: SHA256Digest
  var length: ByteCount
  var manifestDigest: SHA256Digest
  var machine: GrantMachine
  var created: Timestamp
  /// What an operator last decided about it; nil without a decision.
  var operatorWord: TransactionStanding.OperatorWord?
}

/// Whose word revokes a grant.
enum RevocationSource: String, Sendable {
  case `operator`
  case store
}
