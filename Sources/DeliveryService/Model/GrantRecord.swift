import Commerce
import CoreTypes
import Crypto
import PullboxAPI

/// A grant as the database holds it.
struct GrantRecord: Sendable {
  var id: GrantIdentifier
  var store: StoreIdentifier
  var transaction: TransactionIdentifier
  var product: ProductIdentifier
  var version: ContentVersion
  var device: DeviceIdentifier
  var publicKey: VerificationKey?
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
