import Commerce
import PullboxAPI
import ServiceAPI

/// docs/publishing.md and docs/uploading.md: what operators write and read.
extension WireSample {
  static let moneyRow = """
    {
      "currency": "KWD",
      "refunded": "0.250",
      "refunds": 1,
      "sales": 12,
      "sold": "14.750",
      "territory": "KWT"
    }
    """

  static let auditEntry = """
    {
      "about": "com.example.heroes.issue42 1.10",
      "action": "version.release",
      "actor": "ada",
      "at": "2026-11-21T05:26:07.666Z",
      "detail": "to 50 % of devices; 10 % before",
      "environment": "Sandbox",
      "subject": "com.example.heroes.issue42 1.10"
    }
    """
  static let blobItem = """
    {
      "bytes": 1510636,
      "digest": "6181783e136f3fd7361311e792898826d9b1aa22825aeb4fcd7d7e99d05be516",
      "since": "2026-11-20T05:26:07.000Z"
    }
    """
  static let uploadItem = #"{"bytes": 3000000, "owner": "ada", "upload": "eVH8qeW5tmW11_ZTuj-YOPxCc8QJrYW2"}"#
  static let versionRecord = """
    {
      "approvedBy": "bob",
      "created": "2026-11-21T05:26:07.100Z",
      "digest": "6181783e136f3fd7361311e792898826d9b1aa22825aeb4fcd7d7e99d05be516",
      "downloadsStopped": true,
      "files": 23,
      "history": [\(auditEntry)],
      "lateRelease": {"laterSubscribers": 4, "publicationDate": "2026-11-01T00:00:00.000Z"},
      "length": 1510636,
      "manifestDigest": "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
      "percentage": 10,
      "pieces": 2,
      "product": "com.example.heroes.issue42",
      "reason": "the last page is from another comic",
      "released": "2026-11-21T05:26:07.666Z",
      "scheduled": {"at": "2036-12-24T08:00:00.000Z", "by": "ada", "percentage": 25},
      "state": "released",
      "submittedBy": "ada",
      "version": "1.10"
    }
    """
  static let draft = """
    {
      "created": "2026-11-21T05:26:07.100Z",
      "digest": "6181783e136f3fd7361311e792898826d9b1aa22825aeb4fcd7d7e99d05be516",
      "files": 23,
      "length": 1510636,
      "manifestDigest": "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
      "pieces": 2,
      "product": "com.example.heroes.issue42",
      "state": "draft",
      "version": "1.10"
    }
    """
  static let product = """
    {
      "id": "com.example.heroes.issue42",
      "localizations": {"fr-FR": {"description": "Celui du phare", "title": "Héros nº 42"}},
      "prices": {"FRA": {"amount": "2.99", "currency": "EUR"}},
      "publication": "com.example.heroes",
      "publicationDate": "2026-09-01T00:00:00.000Z",
      "publisherKeys": ["66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"],
      "type": "non-consumable"
    }
    """
  static let review = """
    {
      "decided": "2026-11-21T05:26:08.000Z",
      "decidedBy": "bob",
      "isApproved": true,
      "notes": "See page 2",
      "reason": "The picture shows another product",
      "submitted": "2026-11-21T05:26:07.000Z",
      "submittedBy": "ada"
    }
    """
  static let salesRow = """
    {
      "active": 41,
      "day": "2026-11-23",
      "environment": "Production",
      "lapsed": 2,
      "newSubscribers": 3,
      "product": "com.example.heroes.monthly",
      "refunds": 1,
      "store": "apple",
      "territory": "FRA",
      "units": 12
    }
    """
  static let packageFault = """
    {
      "checked": "2026-11-20T05:26:07.000Z",
      "digest": "6181783e136f3fd7361311e792898826d9b1aa22825aeb4fcd7d7e99d05be516",
      "fault": "damaged"
    }
    """
  private static let failureRow = """
    {
      "application": "com.example.reader",
      "devices": 3,
      "grants": 4,
      "latest": "2026-11-21T05:15:36.889Z",
      "reason": "stuck"
    }
    """
  private static let versionPage = """
    {
      "checksum": "0badcafe",
      "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "length": 250003,
      "number": 1,
      "path": "pages/001.jpg"
    }
    """
  private static let courseHour = #"{"devices": 12, "start": "2026-11-21T05:00:00.000Z"}"#

  static let holder = """
    {
      "bytesKept": 1048576,
      "bytesToFetch": 467968,
      "devices": 2,
      "devicesReached": 1,
      "filesAdded": 4,
      "filesChanged": 1,
      "filesRemoved": 3,
      "filesUnchanged": 22,
      "version": "1.9"
    }
    """

  static let storeNotification = """
    {
      "received": "2026-11-21T05:26:08.000Z",
      "signed": "2026-11-21T05:26:07.666Z",
      "subtype": "VOLUNTARY",
      "type": "EXPIRED"
    }
    """
  static let storeStatus = """
    {
      "callsParked": 1,
      "callsStopped": true,
      "callsWaiting": 7,
      "environments": ["Production"],
      "historyReadUntil": "2026-11-21T05:00:00.000Z",
      "isReachable": false,
      "kind": "apple",
      "lastAnswer": "2026-11-21T04:00:02.000Z",
      "lastFailure": "2026-11-21T05:26:00.000Z",
      "lastNotification": \(storeNotification),
      "name": "apple",
      "nextAcknowledgement": "2026-11-22T04:00:00.000Z",
      "oldestCall": "2026-11-21T04:00:00.000Z",
      "questionsStopped": false,
      "recoveredNotifications": 3,
      "unacknowledged": 5,
      "unacknowledgedUrgent": 2
    }
    """

  private static let policy = """
    {
      "backIssues": 3,
      "keepsIssuesAfterLapse": true,
      "keepsIssuesOfUnrecoveredGrace": false,
      "keepsRevokedIssues": true,
      "latestIssueAtStart": true,
      "servesInBillingRetry": false,
      "servesInGrace": true,
      "toleranceSeconds": 300
    }
    """

  private static let finding = """
    {
      "period": {"end": "2026-06-20T00:00:00.000Z", "start": "2026-05-20T00:00:00.000Z"},
      "rule": "published-during-subscription",
      "sentence": "It appeared while a subscription ran.",
      "transaction": "2000000123456789"
    }
    """

  private static let explanation = """
    {
      "against": [\(finding)],
      "allowed": true,
      "at": "2026-11-21T04:00:00.000Z",
      "because": [\(finding)],
      "customers": ["00112233445566778899aabbccddeeff"],
      "product": "com.example.heroes.issue42",
      "readers": [\(readerDelivery)],
      "until": "2026-12-21T04:00:00.000Z"
    }
    """

  private static let readerDelivery = """
    {
      "bytesDelivered": 5000,
      "created": "2026-11-20T04:00:00.000Z",
      "device": "reader-kabiz12345",
      "lastSent": "2026-11-20T04:00:05.000Z",
      "name": "kabiz12345",
      "title": "Tablet",
      "version": "1.0"
    }
    """

  static let operators = [
    WireSample(
      PublicationDescription.self,
      """
      {
        "cover": "com.example.heroes.issue42",
        "id": "com.example.heroes",
        "localizations": {"en-US": {"description": "Twelve issues a year", "title": "Heroes"}},
        "order": 7,
        "policy": \(policy)
      }
      """,
      minimal: "{}"),
    WireSample(SubscriptionPolicy.self, policy, minimal: "{}"),
    WireSample(
      ExplanationResponse.self, explanation,
      minimal: """
        {
          "against": [],
          "allowed": false,
          "at": "2026-11-21T04:00:00.000Z",
          "because": [],
          "customers": [],
          "product": "a"
        }
        """),
    WireSample(
      ExplanationResponse.ReaderDelivery.self, readerDelivery,
      minimal: """
        {
          "bytesDelivered": 0,
          "created": "2026-11-20T04:00:00.000Z",
          "device": "reader-kabiz12345",
          "version": "1.0"
        }
        """),
    WireSample(
      ExplanationResponse.Finding.self, finding,
      minimal: #"{"rule": "not-bought", "sentence": "Nothing was bought that leads to it."}"#),
    WireSample(
      ExplanationResponse.Finding.Period.self,
      #"{"end": "2026-06-20T00:00:00.000Z", "start": "2026-05-20T00:00:00.000Z"}"#,
      minimal: #"{"start": "2026-05-20T00:00:00.000Z"}"#),
    WireSample(
      OperatorPublication.self,
      """
      {
        "changed": "2026-09-02T00:00:00.000Z",
        "cover": "com.example.heroes.issue42",
        "created": "2026-09-01T00:00:00.000Z",
        "id": "com.example.heroes",
        "localizations": {"en-US": {"description": "Twelve issues a year", "title": "Heroes"}},
        "order": 7,
        "policy": \(policy)
      }
      """,
      minimal: """
        {
          "changed": "2026-09-02T00:00:00.000Z",
          "created": "2026-09-01T00:00:00.000Z",
          "id": "a",
          "localizations": {}
        }
        """),
    WireSample(CatalogMember.self, #""preserved:FRA:2026-12-01T00:00:00.000Z""#),
    WireSample(
      CatalogImport.self,
      """
      {
        "members": ["type", "price:FRA", "title:fr-FR"],
        "priceTiers": [{"name": "3", "prices": {"FRA": {"amount": "2.99", "currency": "EUR"}}}],
        "products": [{"id": "com.example.a"}],
        "publications": [{"id": "com.example.heroes"}]
      }
      """, minimal: #"{"products": []}"#),
    WireSample(
      PriceTier.self, #"{"name": "3", "prices": {"FRA": {"amount": "2.99", "currency": "EUR"}}}"#),
    WireSample(
      PriceTierDescription.self,
      #"{"name": "3", "prices": {"FRA": {"amount": "2.99", "currency": "EUR"}}}"#,
      minimal: #"{"prices": {"FRA": {"amount": "2.99", "currency": "EUR"}}}"#),
    WireSample(
      SalesReport.self,
      """
      {"from": "2026-11-01T00:00:00.000Z", "rows": [\(salesRow)], "to": "2026-12-01T00:00:00.000Z"}
      """),
    WireSample(
      SalesReport.Row.self, salesRow,
      minimal: #"{"active": 0, "lapsed": 0, "newSubscribers": 0, "refunds": 0, "units": 1}"#),
    WireSample(PriceTierList.self, #"{"tiers": [{"name": "0", "prices": {}}]}"#),
    WireSample(ProductSubmission.self, #"{"notes": "See page 2"}"#, minimal: "{}"),
    WireSample(
      ProductReview.self, review,
      minimal: #"{"submitted": "2026-11-21T05:26:07.000Z", "submittedBy": "ada"}"#),
    WireSample(CatalogImportReport.self, #"{"changed": 2, "created": 1, "unchanged": 97}"#),
    WireSample(
      InvalidProductsReport.Item.self,
      """
      {
        "count": 3,
        "id": "com.exmaple.a",
        "lastAsked": "2026-09-01T00:00:00.000Z",
        "near": "com.example.a",
        "reason": "misspelled"
      }
      """,
      minimal: #"{"count": 1, "id": "a", "lastAsked": "2026-09-01T00:00:00.000Z", "reason": "withdrawn"}"#),
    WireSample(
      InvalidProductsReport.self,
      """
      {
        "items": [
          {"count": 1, "id": "a", "lastAsked": "2026-09-01T00:00:00.000Z", "reason": "withdrawn"}
        ],
        "others": 4,
        "since": "2026-09-01T00:00:00.000Z"
      }
      """,
      minimal: #"{"items": [], "others": 4, "since": "2026-09-01T00:00:00.000Z"}"#),
    WireSample(
      Irregularity.self,
      """
      {
        "device": "tablet-17",
        "environment": "Production",
        "firstSeen": "2026-11-21T05:26:07.100Z",
        "id": 4711,
        "kind": "many-devices",
        "lastSeen": "2026-11-21T06:26:07.100Z",
        "store": "apple",
        "transaction": "2000000000000001",
        "wasRefused": true
      }
      """,
      minimal: """
        {
          "environment": "Sandbox",
          "firstSeen": "2026-11-21T05:26:07.100Z",
          "id": 1,
          "kind": "other-account",
          "lastSeen": "2026-11-21T05:26:07.100Z",
          "store": "apple",
          "transaction": "1",
          "wasRefused": false
        }
        """),
    WireSample(
      StoreStatus.Notification.self, storeNotification,
      minimal: """
        {
          "received": "2026-11-21T05:26:08.000Z",
          "signed": "2026-11-21T05:26:07.666Z",
          "type": "TEST"
        }
        """),
    WireSample(
      StoreStatus.self, storeStatus,
      minimal: """
        {
          "callsParked": 0,
          "callsStopped": false,
          "callsWaiting": 0,
          "environments": ["Sandbox"],
          "isReachable": true,
          "kind": "pullbox",
          "name": "sandbox",
          "questionsStopped": false,
          "recoveredNotifications": 0
        }
        """),
    WireSample(
      ServerStatus.self,
      """
      {
        "backup": {"generation": "2026-11-21T03-00-00Z", "length": 123456789, "made": "2026-11-21T03:00:00.000Z"},
        "certificateExpires": "2027-01-31T00:00:00.000Z",
        "node": "shelf-1",
        "room": {"free": 5000000000, "size": 80000000000},
        "started": "2026-11-20T08:00:00.000Z",
        "version": "0.1.0"
      }
      """,
      minimal: """
        {
          "node": "shelf-1",
          "started": "2026-11-20T08:00:00.000Z",
          "version": "0.1.0"
        }
        """),
    WireSample(
      ServerStatus.Backup.self,
      #"{"generation": "2026-11-21T03-00-00Z", "length": 123456789, "made": "2026-11-21T03:00:00.000Z"}"#),
    WireSample(ServerStatus.Room.self, #"{"free": 5000000000, "size": 80000000000}"#),
    WireSample(StoreStatuses.self, #"{"stores": [\#(storeStatus)]}"#, minimal: #"{"stores": []}"#),
    WireSample(
      AuditEntry.self, auditEntry,
      minimal: """
        {
          "action": "product.create",
          "actor": "ada",
          "at": "2026-11-21T05:26:07.666Z",
          "subject": "com.example.heroes.issue42"
        }
        """),
    WireSample(
      GarbageCollectionReport.self,
      """
      {
        "blobs": [\(blobItem)],
        "bytes": 4510636,
        "dryRun": true,
        "uploads": [\(uploadItem), {"bytes": 0, "upload": "forgotten"}],
        "waiting": [\(blobItem)]
      }
      """,
      minimal: #"{"blobs": [], "bytes": 0, "dryRun": false, "uploads": [], "waiting": []}"#),
    WireSample(GarbageCollectionReport.BlobItem.self, blobItem),
    WireSample(
      GarbageCollectionReport.UploadItem.self, uploadItem, minimal: #"{"bytes": 0, "upload": "forgotten"}"#),
    WireSample(GarbageCollectionRequest.self, #"{"dryRun": true, "graceSeconds": 0}"#, minimal: "{}"),
    WireSample(
      PackageScrubReport.self, #"{"faults": [\#(packageFault)], "packages": 212, "waiting": 7}"#,
      minimal: #"{"faults": [], "packages": 0, "waiting": 0}"#),
    WireSample(PackageScrubReport.Item.self, packageFault),
    WireSample(
      OperatorProduct.self,
      """
      {
        "changed": "2026-11-21T05:26:08.000Z",
        "clearedForSale": true,
        "created": "2026-11-21T05:26:07.000Z",
        "onSale": true,
        "product": \(product),
        "review": \(review),
        "sale": "cleared",
        "versionCount": 21,
        "versions": [\(versionRecord), \(draft)]
      }
      """,
      minimal: """
        {
          "changed": "2026-11-21T05:26:07.000Z",
          "clearedForSale": false,
          "created": "2026-11-21T05:26:07.000Z",
          "onSale": false,
          "product": {"id": "a", "localizations": {}, "prices": {}, "type": "consumable"},
          "sale": "draft",
          "versionCount": 0,
          "versions": []
        }
        """),
    WireSample(
      OutboxCall.self,
      """
      {
        "attempts": 21,
        "created": "2026-11-21T05:26:07.100Z",
        "done": "2026-11-21T05:30:07.100Z",
        "environment": "Production",
        "heldUntil": "2026-12-01T05:26:07.100Z",
        "id": 4711,
        "kind": "finish",
        "lastError": "forbidden: only the delivery server finishes transactions",
        "nextAttempt": "2026-11-21T05:29:07.100Z",
        "parked": "2026-11-21T05:28:07.100Z",
        "refusals": 20,
        "state": "parked",
        "store": "sandbox",
        "transaction": "2000000000000001",
        "waitsFor": ["2000000000000001.1"]
      }
      """,
      minimal: """
        {
          "attempts": 0,
          "created": "2026-11-21T05:26:07.100Z",
          "id": 1,
          "kind": "finish",
          "refusals": 0,
          "state": "waiting",
          "store": "sandbox",
          "transaction": "2000000000000001"
        }
        """),
    WireSample(
      Page<AuditEntry>.self, #"{"items": [\#(auditEntry)], "next": "4711"}"#, minimal: #"{"items": []}"#),
    WireSample(
      ProductDescription.self,
      """
      {
        "application": "com.example.comics",
        "availableFrom": "2026-09-01T00:00:00.000Z",
        "availableUntil": "2027-09-01T00:00:00.000Z",
        "id": "com.example.heroes.monthly",
        "keepRevoked": true,
        "localizations": {
          "en-US": {
            "description": "Twelve issues a year", "terms": "$1.99 a month, renews", "title": "Heroes"
          }
        },
        "onSale": true,
        "ownedIf": {"originalVersionBelow": "2.0"},
        "period": "P1M",
        "preservedPrices": [
          {"before": "2026-01-01T00:00:00.000Z", "prices": {"USA": {"amount": "0.99", "currency": "USD"}}}
        ],
        "priceTier": "3",
        "prices": {"JPN": {"amount": "300", "currency": "JPY"}, "USA": {"amount": "1.99", "currency": "USD"}},
        "privacyURL": "https://comics.example/privacy",
        "publication": "com.example.heroes",
        "publicationDate": "2026-09-01T00:00:00.000Z",
        "publisherKeys": ["66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925"],
        "samples": ["images/page-2.jpg"],
        "type": "auto-renewable-subscription",
        "version": "1.10"
      }
      """,
      minimal: "{}"),
    WireSample(
      ReleaseRequest.self, #"{"at": "2036-12-24T08:00:00.000Z", "percentage": 25}"#, minimal: "{}"),
    WireSample(ReasonBody.self, #"{"reason": "page 7 is upside down"}"#, minimal: "{}"),
    WireSample(
      ScheduledRelease.self, #"{"at": "2036-12-24T08:00:00.000Z", "by": "ada", "percentage": 25}"#),
    WireSample(
      UploadRecord.self,
      """
      {
        "created": "2026-11-21T05:15:36.889Z",
        "expires": "2026-11-22T05:15:37.091Z",
        "length": 3000000,
        "name": "issue.cbz",
        "offset": 1000000,
        "owner": "operator",
        "upload": "eVH8qeW5tmW11_ZTuj-YOPxCc8QJrYW2"
      }
      """,
      minimal: """
        {
          "created": "2026-11-21T05:15:36.889Z",
          "expires": "2026-11-22T05:15:37.091Z",
          "offset": 0,
          "owner": "operator",
          "upload": "eVH8qeW5tmW11_ZTuj-YOPxCc8QJrYW2"
        }
        """),
    WireSample(
      DeliveryFailures.self,
      """
      {
        "failures": [\(failureRow)],
        "fetching": 2,
        "isComplete": true,
        "looked": 40,
        "waiting": 3
      }
      """),
    WireSample(
      DeliverySums.self,
      """
      {
        "bytesDelivered": 5368709120,
        "grants": 4012,
        "since": "2026-11-21T05:00:00.000Z",
        "until": "2026-11-22T05:15:37.091Z"
      }
      """),
    WireSample(
      DeliveryFailures.Row.self, failureRow,
      minimal: #"{"devices": 3, "grants": 4, "latest": "2026-11-21T05:15:36.889Z", "reason": "stuck"}"#),
    WireSample(
      ReleaseCourse.self,
      """
      {
        "failed": 1,
        "hours": [\(courseHour)],
        "isComplete": true,
        "pausesAbove": 2,
        "pausesFrom": 50,
        "product": "com.example.heroes.issue42",
        "verified": 3,
        "version": "1.10"
      }
      """,
      minimal: """
        {
          "failed": 0,
          "hours": [],
          "isComplete": true,
          "product": "com.example.heroes.issue42",
          "verified": 0,
          "version": "1.10"
        }
        """),
    WireSample(ReleaseCourse.Hour.self, courseHour),
    WireSample(
      VersionPages.self,
      #"{"pages": [\#(versionPage)], "product": "com.example.heroes.issue42", "version": "1.10"}"#),
    WireSample(
      VersionPages.Page.self, versionPage,
      minimal: #"{"length": 250003, "number": 1, "path": "pages/001.jpg"}"#),
    WireSample(
      UpdateSizes.self,
      """
      {
        "bytesToFetch": 467968,
        "holders": [\(holder)],
        "length": 1516533,
        "percentage": 10,
        "product": "com.example.heroes.issue42",
        "version": "1.10"
      }
      """),
    WireSample(UpdateSizes.Holder.self, holder),
    WireSample(
      MoneyReport.self,
      #"{"from": "2026-11-01T00:00:00.000Z", "rows": [\#(moneyRow)], "to": "2026-12-01T00:00:00.000Z", "withoutPrice": 3}"#
    ),
    WireSample(MoneyReport.Row.self, moneyRow),
    WireSample(LateRelease.self, #"{"laterSubscribers": 4, "publicationDate": "2026-11-01T00:00:00.000Z"}"#),
    WireSample(VersionRecord.self, versionRecord, minimal: draft),
    WireSample(
      VersionSubmission.self,
      """
      {
        "manifest": "eyJmb3JtYXQiOiJwdWxsYm94LW1hbmlmZXN0LzEifQ==",
        "signatures": [
          {
            "keyId": "66687aadf862bd776c8fc18b8e9f8e20089714856ee233b3902a591d0d5f2925",
            "publicKey": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "value": "c2lnbmF0dXJlIG9mIHRoZSBtYW5pZmVzdA"
          }
        ],
        "upload": "/v1/operator/uploads/eVH8qeW5tmW11_ZTuj-YOPxCc8QJrYW2",
        "version": "1.10"
      }
      """,
      minimal: #"{"upload": "eVH8qeW5tmW11_ZTuj-YOPxCc8QJrYW2", "version": "1.10"}"#),
    WireSample(
      WithdrawalRequest.self, #"{"reason": "wrong scans", "stopDownloads": true}"#, minimal: "{}"),
  ]
}
