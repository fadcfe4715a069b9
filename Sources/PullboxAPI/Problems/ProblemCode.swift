/// The stable name of a refusal; `urn:pullbox:problem:<code>` is a problem document's `type`. This is the whole list.
public struct ProblemCode: Hashable, Sendable {
  /// The code's name as `type` has it behind ``typePrefix``.
  public let text: String
  /// The HTTP status that goes with it.
  public let status: Int
  /// The same for every occurrence, as RFC 9457 asks.
  public let title: String

  private init(_ text: String, status: Int, title: String) {
    self.text = text
    self.status = status
    self.title = title
  }

  /// The prefix of every `type` in this list.
  public static let typePrefix = "urn:pullbox:problem:"

  // What a device meets.
  /// The proof of purchase cannot be decoded at all. Asking again with the same one is no use.
  public static let receiptMalformed = ProblemCode(
    "receipt-malformed", status: 400, title: "The receipt cannot be read")
  /// No store vouches for the proof, or it was made for another device.
  public static let receiptNotAuthentic = ProblemCode(
    "receipt-not-authentic", status: 403, title: "The receipt is not genuine, or not this device's")
  /// The proof is genuine and of an application that this server does not serve.
  public static let receiptWrongApplication = ProblemCode(
    "receipt-wrong-application", status: 403, title: "The receipt belongs to another application")
  /// The proof is genuine and comes from a store's sandbox where production is asked for, or the other way
  /// round.
  public static let receiptWrongEnvironment = ProblemCode(
    "receipt-wrong-environment", status: 403, title: "The receipt comes from another environment of the store"
  )
  /// The proof is genuine and holds no transaction that pays for the product.
  public static let purchaseRequired = ProblemCode(
    "purchase-required", status: 402, title: "The receipt holds no purchase of this product")
  /// The purchase that paid for the product has ended.
  public static let entitlementExpired = ProblemCode(
    "entitlement-expired", status: 403, title: "The purchase has expired and no longer covers this product")
  /// The purchase that paid for the product was taken back.
  public static let entitlementRevoked = ProblemCode(
    "entitlement-revoked", status: 403, title: "The purchase was refunded or revoked")
  /// The transaction already serves as many devices as the server's configuration allows.
  public static let deviceLimit = ProblemCode(
    "device-limit", status: 403, title: "The purchase is in use on as many devices as it allows")
  /// The purchase belongs to another account of the application, and its store's rules leave it there.
  public static let purchaseClaimed = ProblemCode(
    "purchase-claimed", status: 403, title: "The purchase belongs to another account")
  /// No product has that name, or it is not for sale.
  public static let productUnknown = ProblemCode(
    "product-unknown", status: 404, title: "There is no such product")
  /// No publication has that name, or nothing of it is for sale.
  public static let publicationUnknown = ProblemCode(
    "publication-unknown", status: 404, title: "There is no such publication")
  /// No released version has that number, or the product has none at all.
  public static let versionUnknown = ProblemCode(
    "version-unknown", status: 404, title: "The product has no such released content version")
  /// The content was withdrawn: it is not coming back under this version.
  public static let contentWithdrawn = ProblemCode(
    "content-withdrawn", status: 410, title: "The publisher withdrew this content")
  /// No decision about the proof could be had from the store; `retryAfterSeconds` says when to ask again.
  public static let verificationUndetermined = ProblemCode(
    "verification-undetermined", status: 503, title: "The store could not be asked; try again")
  /// The request for content bears no ticket.
  public static let ticketMissing = ProblemCode("ticket-missing", status: 401, title: "A ticket is needed")
  /// The ticket is not this server's, or was issued for other content.
  public static let ticketInvalid = ProblemCode(
    "ticket-invalid", status: 403, title: "The ticket does not open this content")
  /// The ticket's time is over; the grant renews it.
  public static let ticketExpired = ProblemCode(
    "ticket-expired", status: 403, title: "The ticket has expired; renew it")
  /// A completion differs from the grant; ``Problem/missingStep`` names the first link that does not hold.
  public static let completionMismatch = ProblemCode(
    "completion-mismatch", status: 409, title: "The completion does not match what was granted and delivered")
  /// A completion is no JSON of its kind, or no readable JSON Web Signature.
  public static let completionMalformed = ProblemCode(
    "completion-malformed", status: 400, title: "The completion cannot be read")
  /// A rate limit was reached; `retryAfterSeconds` says for how long.
  public static let tooManyRequests = ProblemCode(
    "too-many-requests", status: 429, title: "Too many requests; wait")
  /// No grant has that name.
  public static let grantUnknown = ProblemCode("grant-unknown", status: 404, title: "There is no such grant")
  /// The request bears no proof by the key of the grant's device (`Authorization: PullboxDevice …`).
  public static let proofMissing = ProblemCode(
    "proof-missing", status: 401, title: "A proof by the device's key is needed")
  /// The grant's device has no key, and the request does not bear the grant's `renewalSecret`.
  public static let renewalSecretMissing = ProblemCode(
    "renewal-secret-missing", status: 401, title: "The grant's renewal secret is needed")
  /// The proof or the secret is there and is not the grant's, or is for another request.
  public static let proofRefused = ProblemCode(
    "proof-refused", status: 403, title: "The proof is not that of this grant's device")
  /// The proof is genuine and signed for another time; ``Problem/serverTime`` is the right one.
  public static let clockSkew = ProblemCode(
    "clock-skew", status: 403, title: "The proof is signed for another time than the server's")
  /// The grant is older than renewal secrets and its device has no key: the same receipt again brings a secret. Or the subscription
  /// that paid has ended as far as the server knows: a receipt of now tells.
  public static let receiptNeeded = ProblemCode(
    "receipt-needed", status: 403, title: "The grant is to be asked for again, with the receipt")
  /// No content of that digest is released.
  public static let contentUnknown = ProblemCode(
    "content-unknown", status: 404, title: "There is no such content")
  /// The server's copy of the package is missing or has other bytes; it comes back with a repair, and `retryAfterSeconds` says
  /// when to ask again.
  public static let contentDamaged = ProblemCode(
    "content-damaged", status: 503, title: "The server's copy of this content is damaged; try again later")
  /// The proof names a store that the server's configuration does not have.
  public static let storeUnknown = ProblemCode(
    "store-unknown", status: 400, title: "The server knows no store of that name")

  // What every client can meet.
  /// The request breaks HTTP's syntax, or its body or query is not what the address takes.
  public static let requestMalformed = ProblemCode(
    "request-malformed", status: 400, title: "The request cannot be understood")
  /// The body is longer than the address takes.
  public static let requestTooLarge = ProblemCode(
    "request-too-large", status: 413, title: "The request is larger than allowed")
  /// The request's head or body was not complete in time.
  public static let requestTimeout = ProblemCode(
    "request-timeout", status: 408, title: "The request did not arrive in time")
  /// The request target is longer than the server reads.
  public static let targetTooLong = ProblemCode(
    "target-too-long", status: 414, title: "The request's address is too long")
  /// The request's fields together are longer than the server reads.
  public static let fieldsTooLarge = ProblemCode(
    "fields-too-large", status: 431, title: "The request's header is too large")
  /// The request asks for a method, an expectation or a transfer coding that is not known (RFC 9110
  /// §15.6.2).
  public static let notImplemented = ProblemCode(
    "not-implemented", status: 501, title: "The request asks for what is not known here")
  /// The request is of another major version of HTTP (RFC 9110 §15.6.6).
  public static let versionNotSupported = ProblemCode(
    "version-not-supported", status: 505, title: "HTTP/1.1 is spoken here")
  /// No route has this address.
  public static let notFound = ProblemCode(
    "not-found", status: 404, title: "There is nothing at this address")
  /// The address exists with other methods, which `Allow` lists.
  public static let methodNotAllowed = ProblemCode(
    "method-not-allowed", status: 405, title: "This address does not support the method")
  /// The request bears no key or token, or one that is not known.
  public static let unauthorized = ProblemCode(
    "unauthorized", status: 401, title: "A valid key or token is needed")
  /// The key or token is known and its scope does not include this.
  public static let forbidden = ProblemCode(
    "forbidden", status: 403, title: "The key or token does not allow this")
  /// Something failed that should not; `instance` finds it in the log.
  public static let internalError = ProblemCode(
    "internal-error", status: 500, title: "The service failed; its log says why")
  /// The service is starting, stopping or overloaded; a later request can succeed.
  public static let unavailable = ProblemCode(
    "unavailable", status: 503, title: "The service cannot do this now; try again")

  // What an operator meets.
  /// No upload has that address, or it belongs to another key.
  public static let uploadUnknown = ProblemCode(
    "upload-unknown", status: 404, title: "There is no such upload")
  /// The upload was there and was removed because no request added to it in time.
  public static let uploadExpired = ProblemCode(
    "upload-expired", status: 410, title: "The upload was not continued in time and is forgotten")
  /// The request continues at another byte than the next one; ``Problem/expectedOffset`` is the next one.
  public static let uploadOffsetMismatch = ProblemCode(
    "upload-offset-mismatch", status: 409, title: "The upload stands at another offset")
  /// Another request is writing to the upload and did not give way.
  public static let uploadLocked = ProblemCode(
    "upload-locked", status: 423, title: "Another request holds this upload")
  /// The upload lacks bytes, so no version can be made of it.
  public static let uploadIncomplete = ProblemCode(
    "upload-incomplete", status: 409, title: "The upload is not complete")
  /// The upload is announced longer than a package may be, or grew past that.
  public static let uploadTooLarge = ProblemCode(
    "upload-too-large", status: 413, title: "A package holds at most 2,147,483,648 bytes")
  /// The request speaks another version of tus, which `Tus-Version` lists.
  public static let uploadVersionUnsupported = ProblemCode(
    "upload-protocol-unsupported", status: 412, title: "Only tus 1.0.0 is spoken here")
  /// The request's media type is not the one that tus prescribes for bytes.
  public static let uploadTypeUnsupported = ProblemCode(
    "upload-type-unsupported", status: 415,
    title: "An upload's bytes are sent as application/offset+octet-stream")
  /// The bytes of this request do not match the checksum it gave. The status is tus's own.
  public static let checksumMismatch = ProblemCode(
    "checksum-mismatch", status: 460, title: "The bytes do not match their checksum; none were kept")
  /// The request gives a checksum of an algorithm that is not offered.
  public static let checksumUnsupported = ProblemCode(
    "checksum-unsupported", status: 400, title: "Checksums are made with sha1 or sha256 here")
  /// The complete upload does not match the digest that its creation gave.
  public static let digestMismatch = ProblemCode(
    "digest-mismatch", status: 400, title: "The upload does not match the digest that was given for the whole"
  )
  /// The quota or the disk has no room for so many bytes.
  public static let outOfSpace = ProblemCode(
    "out-of-space", status: 507, title: "There is no room for this")
  /// Manifest, package or signatures break rules, all of which `faults` lists.
  public static let packageRejected = ProblemCode(
    "package-rejected", status: 422, title: "The package has faults")
  /// The product's description breaks rules, all of which `faults` lists.
  public static let productInvalid = ProblemCode(
    "product-invalid", status: 422, title: "The product description has faults")
  /// The version's number is taken by other content.
  public static let versionConflict = ProblemCode(
    "version-conflict", status: 409, title: "This version exists with other content; versions never change")
  /// The step cannot be taken from the state in which the version, or the store call, is.
  public static let stateConflict = ProblemCode(
    "state-conflict", status: 409, title: "The state does not allow this step")
  /// Several grants begin with these digits.
  public static let grantAmbiguous = ProblemCode(
    "grant-ambiguous", status: 409, title: "More than one grant has this short name")
  /// The key that submitted a version may not approve it.
  public static let secondKeyRequired = ProblemCode(
    "second-key-required", status: 403, title: "Who handed a version in may not approve it")
  /// The step was kept, and waits for another operator's approval.
  public static let secondOperatorRequired = ProblemCode(
    "second-operator-required", status: 403, title: "Another operator has to approve it")
  /// `If-Match` names another state than the present one, or `If-None-Match` one that exists.
  public static let preconditionFailed = ProblemCode(
    "precondition-failed", status: 412, title: "It is not in the state that the request is for")
  /// The `Idempotency-Key` came with another request before.
  public static let idempotencyKeyReused = ProblemCode(
    "idempotency-key-reused", status: 422, title: "The idempotency key belongs to another request")
  /// The first request with that `Idempotency-Key` is being answered.
  public static let idempotencyKeyInUse = ProblemCode(
    "idempotency-key-in-use", status: 409, title: "A request with this idempotency key is being answered")

  /// The outbox has no call of that number.
  public static let callUnknown = ProblemCode(
    "call-unknown", status: 404, title: "There is no such store call")

  // What a store's customer or an app on a device meets.
  /// The sandbox store could not ask the server what is for sale.
  public static let catalogUnavailable = ProblemCode(
    "catalogue-unavailable", status: 503, title: "The catalog could not be asked; try again")
  /// The account has no such transaction.
  public static let transactionUnknown = ProblemCode(
    "transaction-unknown", status: 404, title: "There is no such transaction")
  /// The transaction is not paid for, so it cannot be finished.
  public static let transactionUnpaid = ProblemCode(
    "transaction-unpaid", status: 409, title: "Only a purchased transaction can be finished")
  /// The account has a subscription to that publication, which runs; ``Problem/expiresDate`` is the end of its period.
  public static let alreadySubscribed = ProblemCode(
    "already-subscribed", status: 409, title: "This subscription is running already")
  /// The account has no such subscription.
  public static let subscriptionUnknown = ProblemCode(
    "subscription-unknown", status: 404, title: "There is no such subscription")
  /// The agent knows no download of that name.
  public static let downloadUnknown = ProblemCode(
    "download-unknown", status: 404, title: "There is no such download")
  /// The agent's library has nothing of that product.
  public static let libraryItemUnknown = ProblemCode(
    "library-item-unknown", status: 404, title: "The library does not hold this")
  /// The content has no section of that tag.
  public static let sectionUnknown = ProblemCode(
    "section-unknown", status: 404, title: "The content has no such section")
  /// The content is not read without that section, so that it is not dropped.
  public static let sectionRequired = ProblemCode(
    "section-required", status: 409, title: "The content is not read without this section")
  /// The user of the calling process may watch the agent and change nothing.
  public static let notPermitted = ProblemCode(
    "not-permitted", status: 403, title: "This user may not change what the agent does")
  /// The volume on which the library lies is not there.
  public static let libraryOffline = ProblemCode(
    "library-offline", status: 503, title: "The library's volume is not there; try again when it is")
  /// The publication cannot be as it is described; `faults` has every one.
  public static let publicationInvalid = ProblemCode(
    "publication-invalid", status: 422, title: "The publication's description has faults")
  /// No price tier has that name.
  public static let priceTierUnknown = ProblemCode(
    "price-tier-unknown", status: 404, title: "There is no such price tier")
  /// The price tier cannot be as it is described; `faults` has every one.
  public static let priceTierInvalid = ProblemCode(
    "price-tier-invalid", status: 422, title: "The price tier's description has faults")
  /// The product has no such cover or sample, or none is public.
  public static let previewUnknown = ProblemCode(
    "preview-unknown", status: 404, title: "There is no such cover or sample")
  /// Products of an import cannot be as they are described; `faults` has each one, and nothing was changed.
  public static let catalogInvalid = ProblemCode(
    "catalog-invalid", status: 422, title: "The import has faults; nothing was changed")
  /// The product costs something else than the buyer was shown. Nothing was bought.
  public static let priceChanged = ProblemCode(
    "price-changed", status: 409, title: "The price is not the one that was shown")
  /// The agent could not reach its payment store.
  public static let storeUnavailable = ProblemCode(
    "store-unavailable", status: 503, title: "The payment store could not be reached; try again")
  /// The download needs more space than is free where the library lies.
  public static let insufficientStorage = ProblemCode(
    "insufficient-storage", status: 507, title: "The device has too little free space")

  /// The bytes of content that were asked for are on their way; ``Problem/after`` says when to ask again. No refusal.
  public static let notHereYet = ProblemCode(
    "not-here-yet", status: 202, title: "The bytes are on their way")

  static let all: [ProblemCode] = [
    receiptMalformed, receiptNotAuthentic, receiptWrongApplication, receiptWrongEnvironment, purchaseRequired,
    entitlementExpired, entitlementRevoked, deviceLimit, purchaseClaimed, productUnknown, publicationUnknown,
    versionUnknown,
    contentWithdrawn,
    verificationUndetermined, ticketMissing, ticketInvalid, ticketExpired, completionMismatch,
    completionMalformed, tooManyRequests, grantUnknown, proofMissing, renewalSecretMissing, proofRefused,
    clockSkew, receiptNeeded,
    contentUnknown, contentDamaged, storeUnknown, requestMalformed,
    requestTooLarge, requestTimeout, targetTooLong, fieldsTooLarge, notImplemented, versionNotSupported,
    notFound, methodNotAllowed, unauthorized, forbidden, internalError, unavailable,
    uploadUnknown, uploadExpired, uploadOffsetMismatch, uploadLocked, uploadIncomplete, uploadTooLarge,
    uploadVersionUnsupported, uploadTypeUnsupported, checksumMismatch, checksumUnsupported, digestMismatch,
    outOfSpace, packageRejected,
    productInvalid, catalogInvalid, publicationInvalid, priceTierUnknown,
    priceTierInvalid, previewUnknown, versionConflict, stateConflict,
    grantAmbiguous, secondKeyRequired, secondOperatorRequired,
    preconditionFailed,
    idempotencyKeyReused, idempotencyKeyInUse, callUnknown, catalogUnavailable, transactionUnknown,
    transactionUnpaid, alreadySubscribed, subscriptionUnknown, downloadUnknown, libraryItemUnknown,
    sectionUnknown, sectionRequired, notPermitted, libraryOffline, priceChanged, storeUnavailable,
    insufficientStorage, notHereYet,
  ]

  private static let byText = Dictionary(uniqueKeysWithValues: all.map { ($0.text, $0) })

  /// Nil for a `type` that is not in the list (a newer server's, or a proxy's).
  public init?(type: String) {
    guard type.hasPrefix(Self.typePrefix),
      let code = Self.byText[String(type.dropFirst(Self.typePrefix.count))]
    else { return nil }
    self = code
  }

  /// Codes are equal when their names are.
  public static func == (left: ProblemCode, right: ProblemCode) -> Bool { left.text == right.text }

  /// Hashes the name.
  public func hash(into hasher: inout Hasher) { hasher.combine(text) }
}
