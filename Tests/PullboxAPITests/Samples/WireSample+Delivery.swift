import PullboxAPI
import ServiceAPI

/// From the proof of purchase to the completion.
extension WireSample {
  static let terms = """
    {
      "contentURL": "/v1/content/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "length": 2147483648,
      "manifestDigest": "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
      "manifestURL": "https://content.example.com/v1/content/9f86/manifest",
      "previous": {
        "digest": "fd61a03af4f77d870fc21e05e7e80678095c92d808cfb3b5c279ee04c74aca13",
        "version": "1.9"
      },
      "product": "com.example.heroes.issue42",
      "publisherKeys": ["66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"],
      "signatures": [
        {
          "keyId": "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925",
          "publicKey": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
          "value": "c2lnbmF0dXJlIG9mIHRoZSBtYW5pZmVzdA"
        }
      ],
      "ticket": "AQAAAAAAAAAAAAAAAAAAAA",
      "ticketExpires": "2026-11-22T08:30:00.000Z",
      "version": "1.10"
    }
    """
  static let plainTerms = """
    {
      "contentURL": "/v1/content/9f86",
      "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "length": 0,
      "manifestDigest": "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
      "manifestURL": "/v1/content/9f86/manifest",
      "product": "a",
      "ticket": "t",
      "ticketExpires": "2026-11-22T08:30:00.000Z",
      "version": "1"
    }
    """
  static let device = """
    {"id": "2b1f0c1e-7d3a-4c53-9b52-0a53f3f4b7aa", "publicKey": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}
    """
  static let entitled = """
    {
      "because": "published-during-subscription",
      "consumable": false,
      "length": 250003657,
      "product": "com.example.heroes.issue42",
      "publicationDate": "2026-11-01T00:00:00.000Z",
      "state": "not-granted",
      "store": "sandbox",
      "transaction": "2000000000000001",
      "until": "2026-12-01T00:00:00.000Z",
      "version": "1.10"
    }
    """
  /// The product at a server that does not tell when it appeared.
  private static let readerKey =
    #"{"created": "2026-11-21T08:30:00.000Z", "name": "kabiz41701", "title": "Tablet", "used": "2026-11-22T08:30:00.000Z"}"#
  static let entitledUndated = """
    {
      "because": "purchased",
      "length": 1,
      "product": "a",
      "state": "granted",
      "transaction": "1",
      "version": "1"
    }
    """
  static let feed = """
    {
      "expires": "2026-12-22T08:30:00.000Z",
      "token": "gQAAAAAAAAAAAAAAAAAAAA",
      "url": "https://content.example.com/v1/feed"
    }
    """
  static let feedEntry = """
    {
      "keep": true,
      "kind": "issue-available",
      "length": 250003657,
      "notBefore": "2026-11-22T08:31:00.000Z",
      "product": "com.example.heroes.issue42",
      "publication": "com.example.heroes",
      "publicationDate": "2026-11-01T00:00:00.000Z",
      "transaction": "2000000000000001",
      "until": "2026-12-01T00:00:00.000Z",
      "version": "1.10"
    }
    """
  static let licenseKey = """
    {
      "endorsement": "eyJhbGciOiJFZERTQSJ9.e30.AAAA",
      "key": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
      "number": 2,
      "seals": "2026-11-21T08:30:00.000Z"
    }
    """
  static let plainLicenseKey =
    #"{"key": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "number": 1, "seals": "1970-01-01T00:00:00.000Z"}"#
  static let license = """
    {
      "customer": "0123456789abcdef0123456789abcdef",
      "device": "tablet-17",
      "deviceKey": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
      "ended": [
        {
          "because": "closed-by-lapse", "keep": true, "product": "com.example.heroes.issue41",
          "until": "2026-11-01T00:00:00.000Z"
        }
      ],
      "expires": "2026-12-21T08:30:00.000Z",
      "issued": "2026-11-21T08:30:00.000Z",
      "kind": "license",
      "owned": [
        {"because": "purchased", "product": "com.example.heroes.issue42", "until": "2026-12-01T00:00:00.000Z"}
      ],
      "serial": "AAECAwQFBgcICQoLDA0ODw",
      "whole": true
    }
    """
  static let plainLicense = """
    {
      "device": "d", "deviceKey": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", "ended": [],
      "expires": "2026-12-21T08:30:00.000Z", "issued": "2026-11-21T08:30:00.000Z", "kind": "license",
      "owned": [], "serial": "a", "whole": false
    }
    """
  static let plainFeedEntry = #"{"kind": "revoked", "product": "a", "transaction": "1"}"#
  static let grantStatus = """
    {
      "bytesDelivered": 9007199254740993,
      "device": "tablet-17",
      "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "environment": "Sandbox",
      "grant": "0123456789abcdef0123456789abcdef",
      "history": [
        {"at": "2026-11-21T08:30:00.000Z", "state": "granted"},
        {"at": "2026-11-21T08:31:00.000Z", "detail": "refund 4711", "state": "revoked"}
      ],
      "length": 250003657,
      "product": "com.example.heroes.issue42",
      "state": "revoked",
      "store": "sandbox",
      "transaction": "2000000000000001",
      "version": "1.10"
    }
    """
  private static let plainGrantStatus = """
    {
      "bytesDelivered": 9007199254740993,
      "device": "tablet-17",
      "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "grant": "0123456789abcdef0123456789abcdef",
      "history": [
        {"at": "2026-11-21T08:30:00.000Z", "state": "granted"},
        {"at": "2026-11-21T08:31:00.000Z", "detail": "refund 4711", "state": "revoked"}
      ],
      "length": 250003657,
      "product": "com.example.heroes.issue42",
      "state": "revoked",
      "store": "sandbox",
      "transaction": "2000000000000001",
      "version": "1.10"
    }
    """

  private static let refusal = """
    {
      "product": "com.example.b",
      "status": 402,
      "title": "The purchase is missing",
      "type": "urn:pullbox:problem:purchase-required"
    }
    """
  private static let proofRefusal = refusal.replacing("\"product\": \"com.example.b\"", with: "\"proof\": 1")

  static let delivery = [
    WireSample(
      CompletionReport.self,
      """
      {
        "device": "tablet-17",
        "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "grant": "0123456789abcdef0123456789abcdef",
        "length": 250003657,
        "placedAt": "2026-11-21T08:30:00.120Z",
        "version": "1.10"
      }
      """,
      minimal: """
        {
          "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
          "length": 250003657,
          "placedAt": "2026-11-21T08:30:00.120Z",
          "version": "1.10"
        }
        """),
    WireSample(
      CompletionResponse.self, #"{"remaining": ["com.example.b"], "state": "completed"}"#,
      minimal: #"{"state": "finished"}"#),
    WireSample(NotificationReceipt.self, #"{"isNew": true}"#),
    WireSample(StoreNotification.self, #"{"signedPayload": "eyJhbGciOiJFUzI1NiJ9.e30.AA"}"#),
    WireSample(Device.self, device, minimal: #"{"id": "tablet-17"}"#),
    WireSample(
      DeviceProof.self,
      #"{"iat": 1795249800, "method": "GET", "path": "/v1/grants/0123456789abcdef0123456789abcdef"}"#),
    WireSample(DownloadTerms.self, terms, minimal: plainTerms),
    WireSample(EntitledProduct.self, entitled, minimal: entitledUndated),
    WireSample(
      EntitlementsRequest.self,
      #"{"device": \#(device), "receipt": "MIIB", "store": "sandbox", "waiting": ["2000000000000002"]}"#,
      minimal: #"{"device": {"id": "tablet-17"}}"#),
    WireSample(
      EntitlementsResponse.self,
      #"{"feed": \#(feed), "feeds": {"sandbox": \#(feed)}, "hasPlace": false, "problems": [\#(proofRefusal)], "#
        + #""products": [\#(entitled)], "settled": ["2000000000000002"], "#
        + #""subscribedSince": {"com.example.season": "2026-11-21T08:30:00.000Z"}, "#
        + #""subscribedUntil": {"com.example.season": "2026-12-21T08:30:00.000Z"}}"#,
      minimal: #"{"products": []}"#),
    WireSample(
      ReaderKeyRequest.self,
      #"{"device": \#(device), "locale": "fr-FR", "receipt": "MIIB", "store": "sandbox", "territory": "FRA", "title": "Tablet"}"#,
      minimal: #"{"device": {"id": "tablet-17"}}"#),
    WireSample(
      NewReaderKey.self,
      #"{"address": "https://comics.example/opds", "name": "kabiz41701", "password": "kabiz-motur-felan-sipod"}"#
    ),
    WireSample(
      ReaderKeyList.self, #"{"readers": [\#(readerKey)]}"#, minimal: #"{"readers": []}"#),
    WireSample(
      ReaderKeyList.Item.self, readerKey,
      minimal: #"{"created": "2026-11-21T08:30:00.000Z", "name": "kabiz41701", "title": "Tablet"}"#),
    WireSample(GrantProgress.self, #"{"progress": \#(reading)}"#, minimal: "{}"),
    WireSample(Consent.self, #"{"consumption": true}"#),
    WireSample(FeedEntry.self, feedEntry, minimal: plainFeedEntry),
    WireSample(License.self, license, minimal: plainLicense),
    WireSample(
      License.Owned.self,
      #"{"because": "purchased", "product": "a", "until": "2026-12-01T00:00:00.000Z"}"#,
      minimal: #"{"because": "purchased", "product": "a"}"#),
    WireSample(
      License.Ended.self,
      #"{"because": "revoked", "keep": true, "product": "a", "until": "2026-12-01T00:00:00.000Z"}"#,
      minimal: #"{"because": "revoked", "product": "a"}"#),
    WireSample(LicenseKey.self, licenseKey, minimal: plainLicenseKey),
    WireSample(LicenseKeysResponse.self, #"{"keys": [\#(licenseKey), \#(plainLicenseKey)]}"#),
    WireSample(
      LicenseResponse.self, #"{"keys": [\#(plainLicenseKey)], "license": "eyJhbGciOiJFZERTQSJ9.e30.AAAA"}"#),
    WireSample(FeedOpening.self, #"{"feed": \#(feed), "whole": true}"#),
    WireSample(FeedReference.self, feed),
    WireSample(
      ProofList.self,
      #"{"proofs": [{"receipt": "MIIB", "store": "sandbox"}, {"signedTransaction": "a.b.c", "store": "apple"}]}"#,
      minimal: "{}"),
    WireSample(
      VerificationFailure.self,
      #"{"digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "version": "1.10"}"#),
    WireSample(
      FeedResponse.self,
      #"{"cursor": "7-3", "entries": [\#(feedEntry), \#(plainFeedEntry)], "feed": \#(feed), "whole": false}"#),
    WireSample(
      GrantBatchRequest.self,
      """
      {
        "account": "reader-17",
        "consent": {"consumption": true},
        "device": \(device),
        "products": ["com.example.heroes.issue42", "com.example.b"],
        "receipt": "MIIB+/8=",
        "store": "sandbox"
      }
      """,
      minimal: #"{"device": {"id": "tablet-17"}, "products": ["com.example.b"]}"#),
    WireSample(
      GrantBatchResponse.self,
      """
      {
        "feed": \(feed),
        "grants": [
          {"download": \(plainTerms), "grant": "0123456789abcdef0123456789abcdef", "transaction": "1"}
        ],
        "problems": [\(refusal)]
      }
      """,
      minimal: #"{"grants": [], "problems": []}"#),
    WireSample(
      GrantBatchResponse.Refusal.self,
      """
      {
        "detail": "the receipt holds no purchase of com.example.b",
        "expectedOffset": 4096,
        "faults": [{"code": "title", "detail": "1 to 500 bytes", "path": "localizations"}],
        "instance": "urn:pullbox:request:7s",
        "missingStep": "delivery",
        "product": "com.example.b",
        "retryAfterSeconds": 30,
        "serverTime": "2026-11-21T08:30:00.120Z",
        "status": 402,
        "title": "The purchase is missing",
        "type": "urn:pullbox:problem:purchase-required"
      }
      """,
      minimal: refusal),
    WireSample(GrantIdentifier.self, #""0123456789abcdef0123456789abcdef""#),
    WireSample(
      ProofRefusal.self,
      """
      {
        "detail": "the receipt holds no purchase of com.example.b",
        "expectedOffset": 4096,
        "faults": [{"code": "title", "detail": "1 to 500 bytes", "path": "localizations"}],
        "instance": "urn:pullbox:request:7s",
        "missingStep": "delivery",
        "proof": 1,
        "retryAfterSeconds": 30,
        "serverTime": "2026-11-21T08:30:00.120Z",
        "status": 402,
        "title": "The purchase is missing",
        "type": "urn:pullbox:problem:purchase-required"
      }
      """,
      minimal: proofRefusal),
    WireSample(
      GrantRequest.self,
      """
      {
        "account": "reader-17",
        "consent": {"consumption": false},
        "device": \(device),
        "product": "com.example.heroes.issue42",
        "receipt": "MIIB+/8=",
        "store": "sandbox",
        "transaction": "2000000000000001",
        "version": "1.10"
      }
      """,
      minimal: #"{"device": {"id": "tablet-17"}, "product": "com.example.heroes.issue42"}"#),
    WireSample(
      GrantResponse.self,
      """
      {
        "download": \(terms),
        "feed": \(feed),
        "grant": "0123456789abcdef0123456789abcdef",
        "renewalSecret": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        "transaction": "1"
      }
      """,
      minimal:
        #"{"download": \#(plainTerms), "grant": "0123456789abcdef0123456789abcdef", "transaction": "1"}"#),
    WireSample(GrantShortName.self, #""0123456789abcdef""#),
    WireSample(
      GrantStatus.self,
      grantStatus.replacing(
        #""state": "revoked","#, with: #""remaining": ["com.example.heroes.issue43"], "state": "revoked","#),
      minimal: plainGrantStatus),
    WireSample(
      DiagnosticReport.self,
      """
      {
        "client": "192.0.2.1",
        "fields": ["authorization", "range"],
        "handsOff": false,
        "isProxyTrusted": true,
        "parameters": ["ticket"],
        "time": "2026-11-21T08:30:00.000Z",
        "version": "0.1.0"
      }
      """),
    WireSample(
      GrantStatus.Event.self,
      #"{"at": "2026-11-21T08:31:00.000Z", "detail": "refund 4711", "state": "revoked"}"#,
      minimal: #"{"at": "2026-11-21T08:30:00.000Z", "state": "granted"}"#),
    WireSample(
      OperatorGrant.self,
      grantStatus.replacing("0123456789abcdef0123456789abcdef", with: "0123456789abcdef")
        .replacing("{\n  \"bytes", with: "{\n  \"application\": \"com.example.reader\",\n  \"bytes")
        .replacing(
          #""length": 250003657,"#,
          with: #""lastSent": "2026-11-21T08:31:30.000Z", "length": 250003657,"#
        )
        .replacing(
          #""product": "com.example.heroes.issue42","#,
          with: #""product": "com.example.heroes.issue42", "progress": "stuck","#
        )
        .replacing(
          #""version": "1.10""#, with: #""unconfirmed": "2026-11-21T08:32:00.000Z", "version": "1.10""#),
      minimal: plainGrantStatus.replacing("0123456789abcdef0123456789abcdef", with: "0123456789abcdef")),
    WireSample(
      PreviousContent.self,
      """
      {
        "digest": "fd61a03af4f77d870fc21e05e7e80678095c92d808cfb3b5c279ee04c74aca13",
        "version": "1.9"
      }
      """),
    // One of the three kinds is present in a request; the server says so, not the type.
    WireSample(
      Proof.self,
      """
      {
        "purchaseToken": "opaque-token.of-google",
        "receipt": "MIIB+/8=",
        "signedTransaction": "eyJhbGciOiJFUzI1NiJ9.e30.c2ln",
        "store": "sandbox"
      }
      """,
      minimal: "{}"),
    WireSample(TicketResponse.self, #"{"ticket": "AQAA", "ticketExpires": "2026-11-22T08:30:00.000Z"}"#),
  ]
}
