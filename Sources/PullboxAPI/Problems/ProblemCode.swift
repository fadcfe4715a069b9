/// The stable name of a refusal; `urn:pullbox:problem:<code>` is a problem document's `type`. This is the whole list.
public struct ProblemCode: Hashable, Sendable {
  public let text: String
  public let status: Int
  /// The same for every occurrence, as RFC 9457 asks.
  public let title: String

  private init(_ text: String, _ status: Int, _ title: String) {
    self.text = text
    self.status = status
    self.title = title
  }

  public static let typePrefix = "urn:pullbox:problem:"

  // What a device meets.
  public static let receiptMalformed = ProblemCode("receipt-malformed", 400, "The receipt cannot be read")
  public static let receiptNotAuthentic = ProblemCode(
    "receipt-not-authentic", 403, "The receipt is not genuine, or not this device's")
  public static let receiptWrongApplication = ProblemCode(
    "receipt-wrong-application", 403, "The receipt belongs to another application")
  public static let receiptWrongEnvironment = ProblemCode(
    "receipt-wrong-environment", 403, "The receipt comes from another environment of the store")
  public static let purchaseRequired = ProblemCode(
    "purchase-required", 402, "The receipt holds no purchase of this product")
  public static let entitlementExpired = ProblemCode(
    "entitlement-expired", 403, "The purchase has expired and no longer covers this product")
  public static let entitlementRevoked = ProblemCode(
    "entitlement-revoked", 403, "The purchase was refunded or revoked")
  public static let deviceLimit = ProblemCode(
    "device-limit", 403, "The purchase is in use on as many devices as it allows")
  public static let productUnknown = ProblemCode("product-unknown", 404, "There is no such product")
  public static let versionUnknown = ProblemCode(
    "version-unknown", 404, "The product has no such released content version")
  public static let contentWithdrawn = ProblemCode(
    "content-withdrawn", 410, "The publisher withdrew this content")
  public static let verificationUndetermined = ProblemCode(
    "verification-undetermined", 503, "The store could not be asked; try again")
  public static let ticketMissing = ProblemCode("ticket-missing", 401, "A ticket is needed")
  public static let ticketInvalid = ProblemCode(
    "ticket-invalid", 403, "The ticket does not open this content")
  public static let ticketExpired = ProblemCode("ticket-expired", 403, "The ticket has expired; renew it")
  public static let completionMismatch = ProblemCode(
    "completion-mismatch", 409, "The completion does not match what was granted and delivered")
  public static let completionMalformed = ProblemCode(
    "completion-malformed", 400, "The completion cannot be read")
  public static let tooManyRequests = ProblemCode("too-many-requests", 429, "Too many requests; wait")
  public static let grantUnknown = ProblemCode("grant-unknown", 404, "There is no such grant")
  public static let contentUnknown = ProblemCode("content-unknown", 404, "There is no such content")
  public static let storeUnknown = ProblemCode("store-unknown", 400, "The server knows no store of that name")

  // What every client can meet.
  public static let requestMalformed = ProblemCode(
    "request-malformed", 400, "The request cannot be understood")
  public static let requestTooLarge = ProblemCode(
    "request-too-large", 413, "The request is larger than allowed")
  public static let requestTimeout = ProblemCode("request-timeout", 408, "The request did not arrive in time")
  public static let targetTooLong = ProblemCode("target-too-long", 414, "The request's address is too long")
  public static let fieldsTooLarge = ProblemCode("fields-too-large", 431, "The request's header is too large")
  public static let notImplemented = ProblemCode(
    "not-implemented", 501, "The request asks for what is not known here")
  public static let versionNotSupported = ProblemCode("version-not-supported", 505, "HTTP/1.1 is spoken here")
  public static let notFound = ProblemCode("not-found", 404, "There is nothing at this address")
  public static let methodNotAllowed = ProblemCode(
    "method-not-allowed", 405, "This address does not support the method")
  public static let unauthorized = ProblemCode("unauthorized", 401, "A valid key or token is needed")
  public static let forbidden = ProblemCode("forbidden", 403, "The key or token does not allow this")
  public static let internalError = ProblemCode(
    "internal-error", 500, "The service failed; the operator's log says why")
  public static let unavailable = ProblemCode("unavailable", 503, "The service cannot do this now; try again")

  // What an operator meets.
  public static let uploadUnknown = ProblemCode("upload-unknown", 404, "There is no such upload")
  public static let uploadExpired = ProblemCode(
    "upload-expired", 410, "The upload was not continued in time and is forgotten")
  public static let uploadOffsetMismatch = ProblemCode(
    "upload-offset-mismatch", 409, "The upload stands at another offset")
  public static let uploadLocked = ProblemCode("upload-locked", 423, "Another request holds this upload")
  public static let uploadIncomplete = ProblemCode("upload-incomplete", 409, "The upload is not complete")
  public static let uploadTooLarge = ProblemCode(
    "upload-too-large", 413, "A package holds at most 2,147,483,648 bytes")
  public static let uploadVersionUnsupported = ProblemCode(
    "upload-protocol-unsupported", 412, "Only tus 1.0.0 is spoken here")
  public static let uploadTypeUnsupported = ProblemCode(
    "upload-type-unsupported", 415, "An upload's bytes are sent as application/offset+octet-stream")
  public static let checksumMismatch = ProblemCode(
    "checksum-mismatch", 460, "The bytes do not match their checksum; none were kept")
  public static let checksumUnsupported = ProblemCode(
    "checksum-unsupported", 400, "Checksums are made with sha1 or sha256 here")
  public static let digestMismatch = ProblemCode(
    "digest-mismatch", 400, "The upload does not match the digest that was given for the whole")
  public static let outOfSpace = ProblemCode("out-of-space", 507, "There is no room for this upload")
  public static let packageRejected = ProblemCode("package-rejected", 422, "The package has faults")
  public static let productInvalid = ProblemCode("product-invalid", 422, "The product description has faults")
  public static let versionConflict = ProblemCode(
    "version-conflict", 409, "This version exists with other content; versions never change")
  public static let stateConflict = ProblemCode(
    "state-conflict", 409, "The version's state does not allow this step")
  public static let secondKeyRequired = ProblemCode(
    "second-key-required", 403, "Who handed a version in may not approve it")

  // What a store's customer or an app on a device meets.
  public static let catalogUnavailable = ProblemCode(
    "catalogue-unavailable", 503, "The catalog could not be asked; try again")
  public static let transactionUnknown = ProblemCode(
    "transaction-unknown", 404, "There is no such transaction")
  public static let transactionUnpaid = ProblemCode(
    "transaction-unpaid", 409, "Only a purchased transaction can be finished")
  public static let downloadUnknown = ProblemCode("download-unknown", 404, "There is no such download")
  public static let libraryItemUnknown = ProblemCode(
    "library-item-unknown", 404, "The library does not hold this")
  public static let storeUnavailable = ProblemCode(
    "store-unavailable", 503, "The payment store could not be reached; try again")
  public static let insufficientStorage = ProblemCode(
    "insufficient-storage", 507, "The device has too little free space")

  static let all: [ProblemCode] = [
    receiptMalformed, receiptNotAuthentic, receiptWrongApplication, receiptWrongEnvironment, purchaseRequired,
    entitlementExpired, entitlementRevoked, deviceLimit, productUnknown, versionUnknown, contentWithdrawn,
    verificationUndetermined, ticketMissing, ticketInvalid, ticketExpired, completionMismatch,
    completionMalformed, tooManyRequests, grantUnknown, contentUnknown, storeUnknown, requestMalformed,
    requestTooLarge, requestTimeout, targetTooLong, fieldsTooLarge, notImplemented, versionNotSupported,
    notFound, methodNotAllowed, unauthorized, forbidden, internalError, unavailable,
    uploadUnknown, uploadExpired, uploadOffsetMismatch, uploadLocked, uploadIncomplete, uploadTooLarge,
    uploadVersionUnsupported, uploadTypeUnsupported, checksumMismatch, checksumUnsupported, digestMismatch,
    outOfSpace, packageRejected,
    productInvalid, versionConflict, stateConflict, secondKeyRequired, catalogUnavailable,
    transactionUnknown,
    transactionUnpaid, downloadUnknown, libraryItemUnknown, storeUnavailable, insufficientStorage,
  ]

  private static let byText = Dictionary(uniqueKeysWithValues: all.map { ($0.text, $0) })

  /// Nil for a `type` that is not in the list (a newer server's, or a proxy's).
  public init?(type: String) {
    guard type.hasPrefix(Self.typePrefix),
      let code = Self.byText[String(type.dropFirst(Self.typePrefix.count))]
    else { return nil }
    self = code
  }

  public static func == (left: ProblemCode, right: ProblemCode) -> Bool { left.text == right.text }

  public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
