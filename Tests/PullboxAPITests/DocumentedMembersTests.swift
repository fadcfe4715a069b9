import PullboxAPI
import ServiceAPI
import Testing

/// The members that the project's documents promise for each document on the wire. The samples are read and written
/// byte by byte; what is listed here must be in them under these very names.
@Suite("Documented members")
struct DocumentedMembersTests {
  static let documents: [(type: String, members: String)] = [
    // The delivery server's public interface.
    ("ProductsResponse", "products invalidProductIdentifiers nearest"),
    (
      "ProductListing",
      """
      id type title description price contentVersion contentLength publication publicationDate cover
      """
    ),
    ("ProductListing.ListedPrice", "amount currency formatted locale"),
    ("EntitlementsRequest", "store receipt device"),
    ("EntitlementsResponse", "products feed feeds problems"),
    ("ProofList", "proofs"),
    ("ProofRefusal", "proof type title status"),
    ("FeedOpening", "whole feed"),
    ("VerificationFailure", "digest version"),
    ("LicenseResponse", "license keys"),
    ("License", "kind serial customer device deviceKey issued expires owned ended whole"),
    ("LicenseKey", "number key seals endorsement"),
    ("ProductOwnership", "product owned because until heard asOf verification reason license content"),
    ("FeedReference", "url token expires"),
    ("FeedResponse", "entries cursor whole feed"),
    ("FeedEntry", "kind product publication publicationDate version length transaction notBefore"),
    ("EntitledProduct", "product version length because state publicationDate until store consumable"),
    ("GrantRequest", "store receipt product device version"),
    ("Proof", "store receipt signedTransaction purchaseToken"),
    ("Device", "id publicKey"),
    ("GrantResponse", "grant transaction download renewalSecret"),
    (
      "DownloadTerms",
      "product version length digest manifestDigest contentURL manifestURL ticket ticketExpires previous"
    ),
    ("GrantStatus", "grant state history"),
    ("DeviceProof", "method path iat"),
    ("TicketResponse", "ticket ticketExpires"),
    ("CompletionReport", "digest version length placedAt"),
    ("CompletionResponse", "state"),
    ("Problem", "type title status detail instance missingStep retryAfterSeconds serverTime"),
    // For operators.
    ("ReleaseRequest", "percentage at"),
    ("OperatorGrant", "grant state history"),
    ("ExplanationResponse", "allowed until because against"),
    ("ExplanationResponse.Finding", "rule transaction period sentence"),
    ("ReasonBody", "reason"),
    ("WithdrawalRequest", "reason stopDownloads"),
    ("GarbageCollectionRequest", "dryRun graceSeconds"),
    ("VersionSubmission", "upload version"),
    ("ProductDescription", "type localizations prices publication publicationDate publisherKeys ownedIf"),
    ("OperatorProduct", "versions versionCount"),
    ("UploadRecord", "created expires length name offset owner upload"),
    ("Page", "items next"),
    // The sandbox store.
    ("AccountRequest", "territory name"),
    ("AccountResponse", "account token"),
    ("PurchaseRequest", "product quantity applicationUsername askToBuy device shown"),
    ("TransactionsResponse", "transactions"),
    ("StoreTransaction", "id originalId product quantity state purchaseDate"),
    ("ReceiptResponse", "receipt"),
    ("ProductAccountOffers", "product offers bonus"),
    ("AccountOffer", "kind payment period payments price eligible"),
    ("AccountBonus", "period eligible"),
    ("CodePreview", "product kind terms start"),
    ("CodeTerms", "payment period payments price"),
    // The agent.
    ("AgentPurchaseRequest", "product quantity applicationUsername shown optIn"),
    ("AgentProductsResponse", "account products invalidProductIdentifiers nearest"),
    ("AgentProduct", "listing owned subscribedUntil offers bonus"),
    ("AgentCodePreview", "account preview listing"),
    ("AgentRestoreRequest", "products order limit"),
    ("AgentRestoreResponse", "products"),
    ("AgentDownloadChange", "priority urgency session"),
    ("AgentTransactionsResponse", "transactions"),
    ("AgentTransaction", "id product state step reason error downloads title"),
    ("DownloadsResponse", "downloads"),
    (
      "DownloadStatus",
      """
      id product version state reason bytesVerified bytesTotal bytesReceived progress timeRemaining speed error \
      contentPath notBefore cause space bytesNeeded bytesReused title stalledSince
      """
    ),
    ("LibraryResponse", "items"),
    ("LibraryItem", "state"),
  ]

  @Test("a document has the members that are promised", arguments: documents)
  func promised(type: String, members: String) throws {
    let sample = try #require(WireSample.all.first { $0.name == type })
    let present = try JSONText.members(sample.full).keys
    for member in members.split(separator: " ") {
      #expect(present.contains(String(member)), "\(member)")
    }
  }

  @Test(
    "names are camelCase, lengths and counts are whole numbers, dates have milliseconds and a Z",
    arguments: WireSample.all)
  func conventions(sample: WireSample) throws {
    try check(try JSONText.members(sample.full), of: nil)
  }

  /// Names in a table are values, which are what its own name says.
  private func check(_ members: [String: Any], of table: String?) throws {
    let dates: Set<String> = [
      "until", "heard", "asOf", "issued", "revoked", "seals", "historyReadUntil", "oldestCall", "received",
      "signed", "unconfirmed", "made",
      "certificateExpires",
      "at", "asked", "checked", "created", "changed", "done", "expires", "expiresDate", "finishedDate",
      "gracePeriodExpiresDate", "lastAsked",
      "lastOpened", "originalPurchaseDate", "ownedAsOf",
      "lastSuccess", "lastSent", "latest", "notBefore",
      "nextAttempt", "parked", "placedAt",
      "publicationDate", "purchaseDate", "released", "resumeDate", "revocationDate", "serverTime", "since",
      "stalledSince", "started",
      "subscribedSince", "subscribedUntil",
      "ticketExpires", "used", "purchased",
      "time", "start", "end", "from", "to", "submitted", "decided", "firstSeen", "lastSeen", "availableFrom",
      "availableUntil", "before", "nextAcknowledgement", "lastAnswer", "lastFailure", "heldUntil", "modified",
    ]
    /// Readium's text about a place calls the words ahead of it `before`, which is a date elsewhere.
    let words: Set<String> = members["highlight"] == nil ? [] : ["before"]
    let digests: Set<String> = ["digest", "manifestDigest", "keyId"]
    let date = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/
    for (name, value) in members {
      if table == nil { #expect(name.wholeMatch(of: /[a-z][A-Za-z0-9]*/) != nil, "\(name)") }
      if let text = value as? String {
        let dated = dates.subtracting(words).contains(table ?? name)
        #expect(dated == (text.wholeMatch(of: date) != nil), "\(name)")
        if digests.contains(name) { #expect(text.wholeMatch(of: /[0-9a-f]{64}/) != nil, "\(name)") }
      }
      if name.hasPrefix("bytes") || name.lowercased().hasSuffix("length") {
        #expect(value is Int64 || value is Int, "\(name)")
      }
      if let inner = value as? [String: Any] {
        try check(inner, of: WireSampleTests.tables.contains(name) ? name : nil)
      }
      for inner in value as? [[String: Any]] ?? [] { try check(inner, of: nil) }
    }
  }
}
