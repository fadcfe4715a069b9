package import Commerce
package import CoreTypes
package import HTTPClient
import PullboxAPI
package import Receipts

/// The checks that signed data must pass before it counts as a store's word. It is signed under a configured root, at a
/// plausible date, by certificates that count, for an application and an environment of this store. Data from customers,
/// from the store's interface and from its notifications pass the same checks.
package struct SignedDataGate: Sendable {
  /// The settings of the checks, from the configuration.
  package struct Access: Sendable {
    /// The roots under one of which everything must be signed.
    package var roots: [Certificate]
    /// Whether issuers are asked about the certificates.
    package var checksOnline: Bool
    /// Applications that count.
    package var bundles: Set<String>
    /// The application's number in the store, which what comes from production must name where it is known.
    package var applicationNumber: Int64?
    /// Those whose purchases count.
    package var environments: Set<StoreEnvironment>

    /// Creates a gate. Without online checks `client` is never used.
    package init(
      roots: [Certificate], checksOnline: Bool, bundles: Set<String>, applicationNumber: Int64? = nil,
      environments: Set<StoreEnvironment>
    ) {
      self.roots = roots
      self.checksOnline = checksOnline
      self.bundles = bundles
      self.applicationNumber = applicationNumber
      self.environments = environments
    }
  }

  /// How far ahead of this server's clock a date of signing may lie.
  static let clockTolerance: Duration = .seconds(300)

  package let store: StoreIdentifier
  package let access: Access
  private let verifier: SignedDataVerifier
  private var revocations: RevocationClient?
  private let clock: any WallClock

  package init(
    store: StoreIdentifier, access: Access, client: HTTPClient, clock: any WallClock,
    timer: any MonotonicClock
  ) {
    self.store = store
    self.access = access
    self.clock = clock
    verifier = SignedDataVerifier(roots: access.roots, timer: timer)
    revocations =
      access.checksOnline ? RevocationClient(client: client, clock: clock, timer: timer) : nil
  }

  /// The same for what the store hands over itself, over a connection of its own, of what it signed long ago: a chain that held
  /// then is enough, since certificates end and are exchanged.
  package var ofHistory: SignedDataGate {
    var gate = self
    gate.revocations = nil
    return gate
  }

  /// The payload of `text`, whatever application and environment it names. The chain must hold now, where issuers are
  /// asked, and else when it was signed; it was signed while its leaf counted. Throws the refusal.
  package func payload<Payload: Decodable>(
    of text: String, upTo length: Int = SignedData.maximumLength, as type: Payload.Type
  ) async throws(StoreRefusal) -> Payload {
    let verified: VerifiedSignedData
    let payload: Payload
    do {
      let data = try SignedData(text: text, maximumLength: length)
      let signed = try data.claimedDate()
      let now = clock.now()
      guard signed <= now + Self.clockTolerance else {
        throw ReceiptError(.creationDateImplausible, "the signed data says that it was signed in the future")
      }
      verified = try verifier.verify(data, at: revocations == nil ? signed : now)
      guard verified.chain.leafValidity.contains(signed) else {
        throw ReceiptError(.chainInvalid, "the signed data was signed when its certificate did not count")
      }
      payload = try verified.decoded(as: type)
    } catch {
      throw Self.refusal(error)
    }
    try await revocations?.check(verified.chain)
    return payload
  }

  /// A transaction of an application and an environment that count. Throws the refusal.
  package func transaction(_ text: String) async throws(StoreRefusal) -> SignedTransaction {
    let transaction = try await payload(of: text, as: SignedTransaction.self)
    try requireApplication(transaction.bundleId)
    try requireEnvironment(transaction.environment)
    return transaction
  }

  /// The signed data that a customer shows.
  package enum Purchase: Sendable {
    /// A purchase in the application.
    case transaction(SignedTransaction)
    /// The download of the application itself.
    case application(SignedAppTransaction)
  }

  /// Returns the purchase in `text`: the download of the application if it names one and no transaction, else a transaction.
  /// Throws the refusal, also where the application or the environment does not count.
  package func purchase(_ text: String) async throws(StoreRefusal) -> Purchase {
    let shown = try await payload(of: text, as: ShownPayload.self)
    guard shown.transaction.transactionId == nil, shown.application.appTransactionId != nil else {
      try requireApplication(shown.transaction.bundleId)
      try requireEnvironment(shown.transaction.environment)
      return .transaction(shown.transaction)
    }
    try requireApplication(shown.application.bundleId)
    try requireEnvironment(shown.application.receiptType)
    try requireNumber(shown.application.appAppleId, in: shown.application.receiptType)
    return .application(shown.application)
  }

  /// Every member of either may be missing.
  private struct ShownPayload: Decodable {
    let transaction: SignedTransaction
    let application: SignedAppTransaction

    init(from decoder: any Decoder) throws {
      transaction = try SignedTransaction(from: decoder)
      application = try SignedAppTransaction(from: decoder)
    }
  }

  /// Returns the renewal of the subscription that `transaction` belongs to. Throws the refusal, also for the renewal of
  /// another purchase.
  package func renewal(_ text: String, of transaction: SignedTransaction) async throws(StoreRefusal)
    -> SignedRenewalInfo
  {
    let renewal = try await payload(of: text, as: SignedRenewalInfo.self)
    try requireEnvironment(renewal.environment)
    guard renewal.originalTransactionId != nil,
      renewal.originalTransactionId == transaction.originalTransactionId
    else {
      throw .final(
        .receiptNotAuthentic, "the renewal is of another purchase than the transaction", onStoresWord: false)
    }
    return renewal
  }

  /// Refuses `receipt-wrong-application` for an application that does not count, and for none.
  package func requireApplication(_ bundle: String?) throws(StoreRefusal) {
    guard let bundle, access.bundles.contains(bundle) else {
      throw .final(.receiptWrongApplication, onStoresWord: false)
    }
  }

  /// Refuses `receipt-wrong-environment` for an environment that does not count, and for none.
  package func requireEnvironment(_ environment: SignedEnvironment?) throws(StoreRefusal) {
    guard let counting = environment?.counting, access.environments.contains(counting) else {
      throw .final(.receiptWrongEnvironment, onStoresWord: false)
    }
  }

  /// Only of what names the application's number at all: app transactions and notifications.
  package func requireNumber(_ number: Int64?, in environment: SignedEnvironment?) throws(StoreRefusal) {
    guard environment == .production, let expected = access.applicationNumber, number != expected else {
      return
    }
    throw .final(.receiptWrongApplication, onStoresWord: false)
  }

  /// The refusal of data that does not hold: malformed, or not authentic for every other reason.
  private static func refusal(_ error: any Error) -> StoreRefusal {
    let isMalformed = (error as? ReceiptError)?.code == .malformed
    return .final(
      isMalformed ? .receiptMalformed : .receiptNotAuthentic, "\(error)", onStoresWord: false)
  }
}
