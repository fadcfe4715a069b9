public import Commerce
public import CoreTypes
import Crypto

/// An app receipt as a customer hands it in: a CMS message (RFC 5652) around a payload of attributes. Its structure was
/// read and its signature was not checked, so it holds ``claims``. Only ``verified(trusting:now:policy:)``, or the store's
/// own word (``VerifyReceiptFlow``), makes facts of them, which then have a type of their own.
///
/// ```swift
/// let receipt = try UnverifiedAppReceipt(base64: request.receipt)
/// let verified = try receipt.verified(trusting: roots, now: clock.now)
/// let transactions = verified.transactions(store: .apple)
/// ```
public struct UnverifiedAppReceipt: Hashable, Sendable {
  /// The CMS message as it was received.
  public let encoded: [UInt8]
  /// The claims of the payload. They serve for refusing early and for asking the store, and for nothing else.
  public let claims: AppReceipt

  /// The length that `verifyReceipt` accepts in base 64, in bytes.
  public static let maximumBase64Length = 3_145_728

  /// Standard base 64 with padding, perhaps in lines, whose ends count for the length. Throws ``ReceiptError`` `malformed`.
  public init(base64: String) throws {
    guard base64.utf8.count <= Self.maximumBase64Length, let encoded = Base64.decodeLines(base64) else {
      throw ReceiptError.malformed("the receipt is no base 64, or too long")
    }
    try self.init(encoded: encoded)
  }

  /// DER, or BER as Xcode writes it. Of DER, certificates and signature are read only when they are checked. Throws ``ReceiptError`` `malformed`.
  public init(encoded: [UInt8]) throws {
    guard encoded.count <= Self.maximumBase64Length / 4 * 3 else {
      throw ReceiptError.malformed("the receipt is too long")
    }
    claims = try AppReceipt(payload: try Self.content(of: encoded))
    self.encoded = encoded
  }

  /// libcrypto makes a public key of each certificate that it reads, which takes most of the time that a receipt
  /// costs. So it is asked only about messages of another form than receipts have.
  private static func content(of encoded: [UInt8]) throws -> [UInt8] {
    do {
      return try SignedDataValidator.content(of: encoded)
    } catch {
      return try CMSMessage.parse(encoded).content()
    }
  }

  /// The message in standard base 64 with padding, as `verifyReceipt` takes it.
  public var base64: String { Base64.encode(encoded) }

  /// Checks the signature, and that the signing certificate, valid when the receipt was made, leads over one
  /// intermediate certificate to one of `roots`, both carrying the markers of receipt signing.
  ///
  /// Throws ``ReceiptError``: `malformed` (BER included), `signatureInvalid`, `chainInvalid`, `markerMissing`, `creationDateImplausible`,
  /// `digestTooWeak`.
  public func verified(
    trusting roots: [Certificate], now: Timestamp, policy: ReceiptPolicy = ReceiptPolicy()
  ) throws -> VerifiedAppReceipt {
    guard claims.creationDate <= now + policy.clockTolerance,
      claims.creationDate >= policy.earliestCreation
    else {
      throw ReceiptError(.creationDateImplausible, "the receipt's creation date cannot be true")
    }
    _ = try SignedDataValidator.content(of: encoded)
    let message = try CMSMessage.parse(encoded)
    try message.checkSignature()
    try message.checkSigner(trusting: roots, at: claims.creationDate, policy: policy)
    return VerifiedAppReceipt(signed: claims)
  }
}

extension UnverifiedAppReceipt: CustomStringConvertible {
  /// Without the receipt itself, which works like a key.
  public var description: String {
    "unverified receipt of \(encoded.count) bytes for \(claims.bundleIdentifier)"
  }
}

/// A receipt that a signature or the store itself vouches for. Only this module makes one.
public struct VerifiedAppReceipt: Hashable, Sendable {
  /// The contents of the receipt, which are facts now.
  public let receipt: AppReceipt
  /// Every purchase that the signature or the store vouches for, the latest last: at least those in the receipt; with the store's word
  /// also what it knows beyond the receipt.
  public let purchases: [InAppPurchase]
  /// The moment when the store was asked, by the transactions that it then told of. All others it knew when
  /// it signed.
  private let requestDates: [String: Timestamp]
  /// The ends of graces, each by the transaction whose period was the last to end before it.
  private let graceDates: [String: Timestamp]
  private let chargingDates: [String: Timestamp]
  private let ownsApplication: Bool
  /// When what the receipt says counts no more: a withdrawn license of a volume purchase ends. Nil for what does not end.
  public let expirationDate: Timestamp?

  /// After the signature and the chain were checked.
  init(signed receipt: AppReceipt) {
    self.init(receipt: receipt, purchases: receipt.purchases)
  }

  /// - Parameters:
  ///   - purchases: from the receipt or from the store's answer about it.
  ///   - requestDates: when the store was asked, by the identifiers of those that it told from its own knowledge.
  ///   - graceDates: the ends of graces, by the transaction of the period before each.
  ///   - chargingDates: up to when the store charges again, in the same way.
  ///   - expirationDate: the store's own word on the end of a license, which may be later knowledge than the receipt's.
  ///   - ownsApplication: false where the store knows the customer no more, so that the application has no owner.
  init(
    receipt: AppReceipt, purchases: [InAppPurchase], requestDates: [String: Timestamp] = [:],
    graceDates: [String: Timestamp] = [:], chargingDates: [String: Timestamp] = [:],
    expirationDate: Timestamp? = nil, ownsApplication: Bool = true
  ) {
    self.receipt = receipt
    self.ownsApplication = ownsApplication
    self.requestDates = requestDates
    self.expirationDate = [receipt.expirationDate, expirationDate].compactMap { $0 }.min()
    self.graceDates = graceDates
    self.chargingDates = chargingDates
    self.purchases = purchases.sorted {
      ($0.purchaseDate, $0.transactionIdentifier) < ($1.purchaseDate, $1.transactionIdentifier)
    }
  }

  /// The purchases as the entitlement rules take them. Those whose names cannot be a product's or a transaction's here
  /// are left out: no product of ours is sold under them. Empty for a receipt of an unknown environment.
  ///
  /// Each is as of the receipt's creation, which is all that a receipt can know; what the store told beyond the receipt is
  /// as of its answer. The end of a license is the receipt's, and as of its creation.
  public func transactions(store: StoreIdentifier) -> [VerifiedTransaction] {
    guard let environment = receipt.environment else { return [] }
    let application = ApplicationIdentifier(receipt.bundleIdentifier)
    let sales = purchases.compactMap { purchase in
      purchase.transaction(
        store: store, environment: environment,
        asOf: requestDates[purchase.transactionIdentifier] ?? receipt.creationDate,
        graceExpiresDate: graceDates[purchase.transactionIdentifier],
        billingRetryEndDate: chargingDates[purchase.transactionIdentifier], licenseEndDate: expirationDate,
        licenseAsOf: receipt.creationDate, application: application)
    }
    return sales + (purchaseOfApplication(application, store: store, environment).map { [$0] } ?? [])
  }

  /// Nil where the receipt names no download: that of a sandbox says the same of every customer.
  private func purchaseOfApplication(
    _ application: ApplicationIdentifier?, store: StoreIdentifier, _ environment: StoreEnvironment
  ) -> VerifiedTransaction? {
    guard ownsApplication, let application, let number = receipt.downloadIdentifier, number > 0,
      let date = receipt.originalPurchaseDate
    else { return nil }
    return .purchase(
      of: application, vouchedForBy: store, in: environment, number: "\(number)",
      version: receipt.originalApplicationVersion, date: date,
      licenseEndDate: expirationDate, asOf: receipt.creationDate)
  }
}

extension VerifiedAppReceipt: CustomStringConvertible {
  /// The application and the number of purchases, nothing of the customer.
  public var description: String {
    "receipt for \(receipt.bundleIdentifier) with \(purchases.count) purchases"
  }
}

/// The parts of a CMS message that neither the signature nor the certificates cover: versions, algorithm parameters,
/// places where more could be put. They must be as the standard says, so that no octet of an accepted receipt can
/// differ from what its store wrote.
enum SignedDataValidator {
  /// 1.2.840.113549.1.1.1
  private static let rsaEncryption: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01]
  /// 1.2.840.113549.1.7.2 and 1.2.840.113549.1.7.1
  private static let signedData: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02]
  private static let data: [UInt8] = [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01]

  /// The octets that are signed. Throws ``ReceiptError`` `malformed`. BER does not pass either: only receipts that no
  /// trusted root stands behind are written in it.
  static func content(of encoded: [UInt8]) throws -> [UInt8] {
    var reader = DERReader(encoded)
    var contentInfo = reader.inside(try reader.next(DERTag.sequence))
    try reader.expectEnd()
    try requireType(signedData, &contentInfo)
    var explicit = contentInfo.inside(try contentInfo.next(DERTag.context0))
    try contentInfo.expectEnd()
    var message = explicit.inside(try explicit.next(DERTag.sequence))
    try explicit.expectEnd()
    try requireVersion1(&message)
    _ = try message.next(DERTag.set)  // the digest algorithms
    var content = message.inside(try message.next(DERTag.sequence))
    try requireType(data, &content)
    var wrapped = content.inside(try content.next(DERTag.context0))
    try content.expectEnd()
    let octets = wrapped.octets(try wrapped.next(DERTag.octetString))
    try wrapped.expectEnd()
    _ = try message.next(DERTag.context0)  // the certificates
    var signers = message.inside(try message.next(DERTag.set))
    try message.expectEnd()
    let signer = try signers.next(DERTag.sequence)
    try checkSigner(signers.inside(signer))
    try signers.expectEnd()
    return octets
  }

  private static func checkSigner(_ signer: DERReader) throws {
    var signer = signer
    try requireVersion1(&signer)
    _ = try signer.next(DERTag.sequence)  // issuer and serial number
    _ = try signer.next(DERTag.sequence)  // the digest algorithm
    var next = try signer.next()
    if next.tag == DERTag.context0 { next = try signer.next() }  // signed attributes
    guard next.tag == DERTag.sequence else { throw ReceiptError.malformed("the signer is of no known form") }
    var algorithm = signer.inside(next)
    let identifier = try algorithm.next(DERTag.objectIdentifier)
    guard algorithm.octets(identifier) == rsaEncryption, try algorithm.next(DERTag.null).content.isEmpty
    else { throw ReceiptError.malformed("the signature algorithm is not plain RSA") }
    try algorithm.expectEnd()
    _ = try signer.next(DERTag.octetString)
    try signer.expectEnd()
  }

  private static func requireType(_ type: [UInt8], _ reader: inout DERReader) throws {
    guard reader.octets(try reader.next(DERTag.objectIdentifier)) == type else {
      throw ReceiptError.malformed("the receipt is no CMS data with one signature")
    }
  }

  private static func requireVersion1(_ reader: inout DERReader) throws {
    guard try reader.integer() == 1 else { throw ReceiptError.malformed("the receipt is of another version") }
  }
}
