import PullboxAPI

/// docs/agent.md; interfaces of the agent's socket.
extension WireSample {
  static let shortage = """
    {"free": 1288490188, "needed": 2040109465, "quota": 5368709120, "removable": 734003200, "reserve": 0}
    """
  static let networkWindow = #"{"isOpen": false, "until": "2026-11-22T00:00:00.000Z"}"#
  static let networkBudget =
    #"{"left": 20401094656, "limit": 21474836480, "until": "2026-11-30T23:00:00.000Z", "used": 1073741824}"#
  static let networkLimits =
    #"{"budget": \#(networkBudget), "maximumRate": 2097152, "window": \#(networkWindow)}"#
  static let machineCondition = """
    {
      "device": "wwan0",
      "holds": 2,
      "level": 19,
      "name": "metered",
      "rule": "wait",
      "since": "2026-11-29T12:40:00.000Z",
      "source": "NetworkManager",
      "state": "yes"
    }
    """
  static let unknownCondition = #"{"holds": 0, "name": "battery-low", "rule": "ignore", "state": "unknown"}"#
  static let conditionSource = """
    {
      "error": "the bus is gone",
      "name": "NetworkManager",
      "since": "2026-11-29T12:40:00.000Z",
      "state": "silent"
    }
    """
  static let downloadCondition = """
    {
      "device": "wwan0",
      "name": "metered",
      "since": "2026-11-29T12:40:00.000Z",
      "source": "NetworkManager"
    }
    """
  static let ignoredCondition = #"{"by": 1000, "name": "metered"}"#
  static let readingLocations = """
    {"fragments": ["page=4"], "position": 4, "progression": 0.25, "totalProgression": 0.5}
    """
  static let readingLocator = """
    {
      "href": "pages/4.jpg",
      "locations": \(readingLocations),
      "text": {"after": "c", "before": "a", "highlight": "b"},
      "title": "Page 4",
      "type": "image/jpeg"
    }
    """
  static let reading = """
    {
      "device": {"id": "6f1c", "name": "Tablet"},
      "locator": \(readingLocator),
      "modified": "2026-11-29T08:30:00.000Z",
      "page": 3,
      "pageName": "pages/4.jpg",
      "position": "4",
      "progression": 0.5,
      "version": "1.0"
    }
    """
  static let readingWithoutPlace = """
    {"device": {"id": "6f1c"}, "modified": "2026-11-29T08:30:00.000Z"}
    """
  static let download = """
    {
      "bytesNeeded": 8388608,
      "bytesReceived": 7340032,
      "bytesReused": 1048576,
      "bytesTotal": 9007199254740993,
      "bytesVerified": 6291456,
      "cause": "pwrite /library/.staging/1: No space left on device",
      "condition": \(downloadCondition),
      "contentPath": "/var/lib/pullbox/library/com.example.heroes.issue42/1.10",
      "created": "2026-11-21T08:29:00.000Z",
      "error": {
        "status": 410,
        "title": "The publisher withdrew this content",
        "type": "urn:pullbox:problem:content-withdrawn"
      },
      "id": "5b0c2f9a1d3e4f60",
      "ignored": [\(ignoredCondition)],
      "notBefore": "2026-11-21T08:31:00.250Z",
      "priority": -5,
      "product": "com.example.heroes.issue42",
      "progress": 0.5,
      "reason": "transferring",
      "section": "lang-fr",
      "session": "org.example.Reader",
      "space": \(shortage),
      "speed": 1048576.5,
      "stalledSince": "2026-11-21T08:30:00.000Z",
      "state": "active",
      "timeRemaining": 12.25,
      "title": "Heroes nº 42",
      "transaction": "2000000000000001",
      "urgency": "now",
      "version": "1.10",
      "wantedBy": 1000
    }
    """
  /// Before the grant is there: `timeRemaining` is null, which says "unknown"; the others are absent.
  static let downloadWithoutGrant = """
    {
      "bytesReceived": 0,
      "bytesVerified": 0,
      "id": "5b0c2f9a1d3e4f60",
      "product": "com.example.heroes.issue42",
      "progress": 0,
      "reason": "queued",
      "speed": 0,
      "state": "waiting",
      "timeRemaining": null,
      "transaction": "2000000000000001"
    }
    """
  static let item = """
    {
      "because": "revoked",
      "cover": "/var/lib/pullbox/library/com.example.heroes.issue42/.pullbox/cover.jpg",
      "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "lastOpened": "2026-11-21T09:00:00.000Z",
      "left": true,
      "length": 250003657,
      "lengthOnDisk": 250011648,
      "owned": false,
      "ownedAsOf": "2026-11-22T08:30:00.000Z",
      "path": "/var/lib/pullbox/library/com.example.heroes.issue42/1.10",
      "pinned": true,
      "placedAt": "2026-11-21T08:30:00.120Z",
      "product": "com.example.heroes.issue42",
      "productTitle": "Les héros nº 42",
      "rolledBack": true,
      "state": "present",
      "title": "Heroes nº 42",
      "until": "2026-11-22T08:00:00.000Z",
      "version": "1.10",
      "withdrawn": true
    }
    """
  static let licenseSummary = """
    {
      "expires": "2026-12-21T08:30:00.000Z",
      "issued": "2026-11-21T08:30:00.000Z",
      "serial": "AAECAwQFBgcICQoLDA0ODw"
    }
    """
  static let productOwnership = """
    {
      "asOf": "2026-11-21T08:31:00.000Z",
      "because": "published-during-subscription",
      "content": "present",
      "heard": "2026-11-21T08:32:00.000Z",
      "license": \(licenseSummary),
      "owned": true,
      "product": "com.example.heroes.issue42",
      "reason": "license-expired",
      "until": "2026-12-01T00:00:00.000Z",
      "verification": "unverified"
    }
    """
  static let newsEntry = """
    {
      "cover": "/var/lib/pullbox/library/a/.pullbox/cover.png",
      "kind": "issue-available",
      "product": "a",
      "title": "Les héros nº 42",
      "transaction": "1",
      "version": "1.10"
    }
    """
  static let itemWithoutTitle = """
    {
      "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "length": 0,
      "path": "/library/a/1",
      "placedAt": "2026-11-21T08:30:00.000Z",
      "product": "a",
      "version": "1"
    }
    """
  static let contentFile = """
    {
      "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "length": 1300000,
      "page": 1,
      "path": "pages/001.png",
      "verified": [{"length": 1048576, "offset": 0}]
    }
    """
  static let contentFileWithoutPage = """
    {
      "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
      "length": 44,
      "path": "ComicInfo.xml",
      "verified": []
    }
    """
  static let agentTransaction = """
    {
      "cause": "connect 127.0.0.1:8080: Connection refused",
      "downloads": ["5b0c2f9a1d3e4f60", "0123456789abcdef"],
      "error": {
        "status": 402,
        "title": "The receipt holds no purchase of this product",
        "type": "urn:pullbox:problem:purchase-required"
      },
      "id": "2000000000000001",
      "notBefore": "2026-11-21T08:31:00.250Z",
      "product": "com.example.heroes.issue42",
      "reason": "download-failed",
      "revoked": "2026-11-22T08:30:00.000Z",
      "session": "org.example.Reader",
      "state": "purchased",
      "step": "delivering",
      "title": "Heroes nº 42"
    }
    """
  static let libraryFault = #"{"kind": "missing", "path": "pages/005.jpg"}"#
  static let verification = """
    {
      "bytesRead": 250003657,
      "faults": [\(libraryFault)],
      "product": "com.example.heroes.issue42",
      "state": "damaged",
      "version": "1.10"
    }
    """
  static let peer = """
    {
      "lastAsked": "2026-11-21T08:30:05.500Z",
      "lastError": "connection refused",
      "lastRequest": "GET /healthz",
      "lastSuccess": "2026-11-21T08:29:59.001Z",
      "reachable": false,
      "refusal": {
        "status": 401,
        "title": "No valid credential was given",
        "type": "urn:pullbox:problem:unauthorized"
      },
      "url": "http://127.0.0.1:8080"
    }
    """

  static let agent = [
    WireSample(
      AgentReaderRequest.self, #"{"locale": "fr-FR", "title": "Tablet"}"#, minimal: #"{"title": "Tablet"}"#),
    WireSample(
      AgentDownloadChange.self,
      #"{"ignore": ["metered"], "priority": -1000, "session": "org.example.Reader", "urgency": "background"}"#,
      minimal: "{}"),
    WireSample(
      AgentRedeemRequest.self,
      #"{"ignore": ["metered", "on-battery"], "session": "org.example.Reader"}"#,
      minimal: "{}"),
    WireSample(
      AgentPurchaseRequest.self,
      """
      {
        "applicationUsername": "reader-7",
        "ignore": ["metered", "on-battery"],
        "optIn": true,
        "product": "com.example.coins",
        "quantity": 10,
        "session": "org.example.Reader",
        "shown": "0.99 EUR"
      }
      """,
      minimal: #"{"product": "com.example.coins"}"#),
    WireSample(
      AgentPublicationsResponse.self,
      """
      {
        "account": {"canMakePayments": true, "currency": "EUR", "environment": "Sandbox", "territory": "FRA"},
        "next": "com.example.heroes",
        "publications": [\(barePublication)]
      }
      """,
      minimal: """
        {
          "account": {"canMakePayments": true, "environment": "Sandbox", "territory": "FRA"},
          "publications": []
        }
        """),
    WireSample(
      AgentPublicationResponse.self,
      """
      {
        "account": {"canMakePayments": true, "currency": "EUR", "environment": "Sandbox", "territory": "FRA"},
        "issues": [{"listing": \(freeListing), "owned": true}],
        "next": "com.example.heroes.issue42",
        "publication": \(barePublication),
        "subscriptions": [{"listing": \(freeListing), "owned": false}]
      }
      """,
      minimal: """
        {
          "account": {"canMakePayments": true, "environment": "Sandbox", "territory": "FRA"},
          "issues": [],
          "subscriptions": []
        }
        """),
    WireSample(ShownPrice.self, #""0.99 EUR; pay-as-you-go P1M 3 0.50 EUR; bonus P1M""#, minimal: #""free""#),
    WireSample(
      AgentCodePreview.self,
      """
      {
        "account": {"canMakePayments": true, "currency": "EUR", "environment": "Sandbox", "territory": "FRA"},
        "listing": \(listing),
        "preview": \(codePreview)
      }
      """,
      minimal: """
        {"account": {"canMakePayments": true, "currency": "EUR", "environment": "Sandbox", "territory": "FRA"}}
        """),
    WireSample(
      AgentProduct.self,
      """
      {
        "bonus": \(bonus),
        "listing": \(listing),
        "offers": [\(accountOffer)],
        "owned": false,
        "subscribedUntil": "2026-12-21T08:30:00.000Z"
      }
      """,
      minimal: #"{"listing": \#(freeListing), "owned": true}"#),
    WireSample(
      AgentProductsResponse.self,
      """
      {
        "account": {"canMakePayments": true, "currency": "EUR", "environment": "Sandbox", "territory": "FRA"},
        "invalidProductIdentifiers": ["com.example.unknown"],
        "nearest": {"com.example.unknown": "com.example.unknown1"},
        "products": [{"listing": \(freeListing), "owned": true}]
      }
      """,
      minimal: """
        {
          "account": {"canMakePayments": true, "currency": "EUR", "environment": "Sandbox", "territory": "FRA"},
          "invalidProductIdentifiers": [],
          "products": []
        }
        """),
    WireSample(
      AgentRestoreRequest.self,
      #"{"ignore": ["metered"], "limit": 3, "order": "newest", "products": ["com.example.a"], "session": "org.example.Reader"}"#,
      minimal: "{}"),
    WireSample(AgentRestoreResponse.self, #"{"products": ["com.example.a", "com.example.b"]}"#),
    WireSample(
      AgentStatus.self,
      """
      {
        "conditions": [\(machineCondition)],
        "device": "2b1f0c1e-7d3a-4c53-9b52-0a53f3f4b7aa",
        "downloads": {"active": 1, "failed": 2},
        "freeSpace": 53687091200,
        "libraryLength": 250011648,
        "libraryPath": "/var/lib/pullbox/library",
        "libraryState": "present",
        "network": \(networkLimits),
        "quota": 107374182400,
        "reserve": 33554432,
        "server": \(peer),
        "started": "2026-11-21T08:30:00.000Z",
        "store": {"url": "http://127.0.0.1:8090"},
        "unfinishedTransactions": 3,
        "waitingForRoom": 1
      }
      """,
      minimal: """
        {
          "device": "2b1f0c1e-7d3a-4c53-9b52-0a53f3f4b7aa",
          "downloads": {},
          "freeSpace": 0,
          "libraryPath": "/library",
          "server": {"url": "http://127.0.0.1:8080"},
          "started": "2026-11-21T08:30:00.000Z",
          "store": {"url": "http://127.0.0.1:8090"},
          "unfinishedTransactions": 0
        }
        """),
    WireSample(AgentStatus.Peer.self, peer, minimal: #"{"url": "http://127.0.0.1:8080"}"#),
    WireSample(
      AgentTransaction.self, agentTransaction,
      minimal: #"{"downloads": [], "id": "1", "product": "a", "state": "purchasing", "step": "observed"}"#),
    WireSample(
      AgentTransactionsResponse.self,
      #"{"next": "2000000000000001", "transactions": [\#(agentTransaction)]}"#,
      minimal: #"{"transactions": []}"#),
    WireSample(LicenseSummary.self, licenseSummary),
    WireSample(
      ProductOwnership.self, productOwnership,
      minimal: #"{"owned": false, "product": "a", "verification": "verified"}"#),
    WireSample(
      OwnershipResponse.self, #"{"license": \#(licenseSummary), "products": [\#(productOwnership)]}"#,
      minimal: #"{"products": []}"#),
    WireSample(
      ContentSection.self,
      #"{"download": "5b0c2f9a1d3e4f60", "files": 2, "here": false, "length": 2097152, "policy": "on-demand", "tag": "hires", "title": {"en": "High resolution"}}"#,
      minimal: #"{"files": 1, "here": true, "length": 0, "policy": "required", "tag": "a"}"#),
    WireSample(
      ContentSections.self,
      #"{"product": "com.example.heroes.issue42", "sections": [{"files": 1, "here": true, "length": 0, "policy": "prefetch", "tag": "lang-fr"}], "version": "1.0"}"#,
      minimal: #"{"product": "a", "sections": [], "version": "1"}"#),
    WireSample(ContentFile.self, contentFile, minimal: contentFileWithoutPage),
    WireSample(ContentFile.Part.self, #"{"length": 1048576, "offset": 0}"#),
    WireSample(
      ContentFiles.self,
      #"{"files": [\#(contentFile), \#(contentFileWithoutPage)], "length": 1300044, "placed": false, "#
        + #""product": "com.example.heroes.issue42", "version": "1.10"}"#),
    WireSample(DownloadIdentifier.self, #""5b0c2f9a1d3e4f60""#),
    WireSample(DownloadStatus.self, download, minimal: downloadWithoutGrant),
    WireSample(DownloadsClearResponse.self, #"{"removed": 12}"#),
    WireSample(
      DownloadsResponse.self,
      #"{"downloads": [\#(download), \#(downloadWithoutGrant)], "next": "5b0c2f9a1d3e4f60"}"#,
      minimal: #"{"downloads": []}"#),
    WireSample(
      LibraryEvent.self, #"{"change": "placed", "item": \#(item)}"#,
      minimal: #"{"change": "removed", "item": \#(itemWithoutTitle)}"#),
    WireSample(LibraryItem.self, item, minimal: itemWithoutTitle),
    WireSample(LibraryRepairResponse.self, #"{"downloads": [\#(download)]}"#),
    WireSample(LibraryResponse.self, #"{"items": [\#(item), \#(itemWithoutTitle)]}"#),
    WireSample(LibraryVerification.self, verification),
    WireSample(LibraryVerification.Fault.self, libraryFault),
    WireSample(
      ConditionsResponse.self,
      #"{"conditions": [\#(machineCondition), \#(unknownCondition)], "sources": [\#(conditionSource)]}"#),
    WireSample(MachineConditionStatus.self, machineCondition, minimal: unknownCondition),
    WireSample(
      ConditionSourceStatus.self, conditionSource, minimal: #"{"name": "UPower", "state": "absent"}"#),
    WireSample(
      DownloadCondition.self, downloadCondition,
      minimal: #"{"name": "offline", "since": "2026-11-29T12:40:00.000Z", "source": "rtnetlink"}"#),
    WireSample(IgnoredCondition.self, ignoredCondition, minimal: #"{"name": "metered"}"#),
    WireSample(NetworkLimits.self, networkLimits, minimal: "{}"),
    WireSample(NetworkLimits.Window.self, networkWindow, minimal: #"{"isOpen": true}"#),
    WireSample(NetworkLimits.Budget.self, networkBudget, minimal: #"{"left": 0, "limit": 1, "used": 2}"#),
    WireSample(
      NewsResponse.self, #"{"entries": [\#(newsEntry), \#(feedEntry)]}"#, minimal: #"{"entries": []}"#),
    WireSample(NewsEntry.self, newsEntry, minimal: plainFeedEntry),
    WireSample(LibraryVerificationResponse.self, #"{"items": [\#(verification)]}"#),
    WireSample(SessionName.self, #""org.example.Reader""#),
    WireSample(LibraryVersionRequest.self, #"{"version": "1.10"}"#, minimal: "{}"),
    WireSample(ReadingProgress.self, reading, minimal: readingWithoutPlace),
    WireSample(
      ReadingProgress.Device.self, #"{"id": "6f1c", "name": "Tablet"}"#, minimal: #"{"id": "6f1c"}"#),
    WireSample(
      ReadingProgress.Locator.self, readingLocator,
      minimal: #"{"href": "pages/4.jpg", "type": "image/jpeg"}"#),
    WireSample(ReadingProgress.Locator.Locations.self, readingLocations, minimal: "{}"),
    WireSample(
      ReadingProgress.Locator.Text.self, #"{"after": "c", "before": "a", "highlight": "b"}"#, minimal: "{}"),
    WireSample(
      ReadingReport.self,
      """
      {
        "device": {"id": "6f1c"},
        "locator": \(readingLocator),
        "modified": "2026-11-29T08:30:00.000Z",
        "page": 3,
        "progression": 0.5
      }
      """, minimal: "{}"),
    WireSample(
      ReadingResponse.self, #"{"pages": 10, "progress": \#(reading), "version": "1.10"}"#,
      minimal: #"{"version": "1.10"}"#),
    WireSample(
      SpaceShortage.self, shortage,
      minimal: #"{"free": 1288490188, "needed": 2040109465, "removable": 734003200, "reserve": 33554432}"#),
  ]
}
