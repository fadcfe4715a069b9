import Commerce
import CoreTypes
import Crypto
import PullboxAPI

/// A grant as the database holds it.
struct GrantRecord: Sendable {
  var id: GrantIdentifier
  var handle: DeliveryHandle
  var store: StoreIdentifier
  var transaction: TransactionIdentifier
  var product: ProductIdentifier
  var version: ContentVersion
  var device: DeviceIdentifier
  /// What the device signs with; nil where it gave no key.
  var publicKey: VerificationKey?
  /// The SHA-256 of what a device without a key renews with; nil also for such a grant of a version that handed none out.
  var renewalDigest: SHA256Digest?
  var digest: SHA256Digest
  var length: ByteCount
  var manifestDigest: SHA256Digest
  var machine: GrantMachine
  /// Body bytes sent for this grant, as last written down.
  var delivered: ByteCount
  /// The server died while this grant was live, so that bytes may have been sent and not counted.
  var deliveryCountHasHole: Bool
  var created: Timestamp
}

/// What revoked a grant. A later check of the receipt reverses only what a check found.
enum RevocationSource: String, Sendable {
  case `operator`
  case store
}
