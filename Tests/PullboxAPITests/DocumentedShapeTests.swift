import PullboxTesting
import Testing

/// Documents as the pages write them in short, `{products,next?}`: what has a question mark may be absent.
@Suite("Documents in short")
struct DocumentedShapeTests {
  /// Members that a page names of a document.
  struct Shape: Sendable, CustomTestStringConvertible {
    let page: String
    let text: String
    let type: String
    /// Whether the document has no other members.
    var isWhole = true

    var testDescription: String { "\(type) in \(page)" }

    /// The names in the outermost braces, with whether each may be absent.
    var members: [String: Bool] {
      var members: [String: Bool] = [:]
      var name = ""
      var depth = 0
      for character in text {
        switch character {
        case "{", "[": depth += 1
        case "}", "]": depth -= 1
        case _ where depth != 1: continue
        case "?":
          members[name] = true
          name = ""
          continue
        case _ where character.isLetter || character.isNumber:
          name.append(character)
          continue
        default: break
        }
        // A name ends with whatever is none of its characters.
        if !name.isEmpty { members[name] = false }
        name = ""
      }
      return members
    }
  }

  private static let account = "{territory,currency?,environment,canMakePayments,application?}"
  private static let product = "{listing,owned,subscribedUntil?,offers?,bonus?}"
  private static let transaction = "{id,product,state,step,reason?,error?,downloads,session?}"
  private static let publication = "{id,title,description,latestIssue?,subscriptions}"

  static let shapes = [
    Shape(page: "agent.md", text: "{transactions:[\(transaction)],next?}", type: "AgentTransactionsResponse"),
    Shape(page: "agent.md", text: transaction, type: "AgentTransaction", isWhole: false),
    Shape(
      page: "agent.md",
      text: "{account:\(account),products:[\(product)],invalidProductIdentifiers,nearest?}",
      type: "AgentProductsResponse"),
    Shape(page: "agent.md", text: account, type: "StoreAccount"),
    Shape(page: "agent.md", text: product, type: "AgentProduct"),
    Shape(page: "agent.md", text: "{kind,payment,period,payments,price?,eligible?}", type: "AccountOffer"),
    Shape(page: "agent.md", text: "{period,eligible?}", type: "AccountBonus"),
    Shape(
      page: "agent.md", text: "{account,publications:[\(publication)],next?}",
      type: "AgentPublicationsResponse"),
    Shape(page: "agent.md", text: publication, type: "PublicationListing", isWhole: false),
    Shape(
      page: "agent.md",
      text: "{account,publication?,subscriptions,issues:[{listing,owned,subscribedUntil?}],next?}",
      type: "AgentPublicationResponse"),
    Shape(
      page: "agent.md", text: "{product, quantity?, applicationUsername?, shown?, optIn?, session?, ignore?}",
      type: "AgentPurchaseRequest"),
    Shape(page: "agent.md", text: "{session?, ignore?}", type: "AgentRedeemRequest"),
    Shape(page: "agent.md", text: "{account,preview?,listing?}", type: "AgentCodePreview"),
    Shape(page: "agent.md", text: "{name, source, device?, since}", type: "DownloadCondition"),
    Shape(page: "agent.md", text: "{name, by?}", type: "IgnoredCondition"),
    Shape(page: "agent.md", text: "{product,kind,terms?,start?}", type: "CodePreview"),
    Shape(page: "agent.md", text: "{payment,period,payments,price?}", type: "CodeTerms"),
    Shape(page: "agent.md", text: "{autoRenew?, product?, acceptPrice?}", type: "SubscriptionChange"),
    Shape(
      page: "agent.md", text: "{products?, order?, limit?, session?, ignore?}", type: "AgentRestoreRequest"),
    Shape(page: "agent.md", text: "{downloads:[…],next?}", type: "DownloadsResponse"),
    Shape(page: "agent.md", text: "{needed, free, reserve, removable, quota?}", type: "SpaceShortage"),
    Shape(
      page: "agent.md",
      text: "{product,owned,because?,until?,heard?,asOf?,verification,reason?,license?,content?}",
      type: "ProductOwnership"),
    Shape(page: "agent.md", text: "{products,license?}", type: "OwnershipResponse"),
    Shape(
      page: "delivery.md",
      text: "{kind, serial, customer?, device, deviceKey, issued, expires, owned, ended, whole}",
      type: "License",
      isWhole: false),
    Shape(page: "delivery.md", text: "{license, keys}", type: "LicenseResponse"),
    Shape(page: "delivery.md", text: "{number, key, seals, endorsement?}", type: "LicenseKey"),
    Shape(page: "delivery.md", text: "{url, token, expires}", type: "FeedReference"),
    Shape(page: "delivery.md", text: "{entries, cursor, whole, feed}", type: "FeedResponse"),
    Shape(page: "publishing.md", text: "{digest, version}", type: "VerificationFailure"),
    Shape(
      page: "entitlements.md", text: "{product, at, customers, allowed, until?, because, against, readers?}",
      type: "ExplanationResponse"),
    Shape(
      page: "entitlements.md",
      text: "{device, name?, title?, version, bytesDelivered, created, lastSent?}",
      type: "ExplanationResponse.ReaderDelivery"),
    Shape(
      page: "sandbox-store.md", text: "{payment, period, payments?, prices?, name?}", type: "StoreOffer"),
    Shape(page: "sandbox-store.md", text: "{territory, name}", type: "AccountRequest"),
    Shape(
      page: "sandbox-store.md",
      text: "{canMakePayments?, askToBuy?, originalApplicationVersion?, originalPurchaseDate?, downloadId?}",
      type: "AccountChange", isWhole: false),
    Shape(page: "sandbox-store.md", text: "{approve}", type: "PurchaseDecision"),
    Shape(page: "sandbox-store.md", text: "{percentage?, reason?}", type: "RefundRequest"),
    Shape(page: "sandbox-store.md", text: "{version, document, received}", type: "ConsumptionReports.Report"),
    Shape(page: "sandbox-store.md", text: "{prices, needsConsent}", type: "PriceIncreaseRequest"),
    Shape(page: "sandbox-store.md", text: "{month, renewals}", type: "StoreTime"),
    Shape(page: "sandbox-store.md", text: "{introductory?, bonus?}", type: "ProductOffers"),
    Shape(page: "sandbox-store.md", text: "{product, offer?, uses}", type: "CodeRequest"),
    Shape(page: "sandbox-store.md", text: "{code, product, uses}", type: "StoreCode"),
    Shape(page: "sandbox-store.md", text: "{product, seats}", type: "LicenseRequest"),
    Shape(page: "sandbox-store.md", text: "{license, product, seats, accounts}", type: "StoreLicense"),
    Shape(page: "sandbox-store.md", text: "{account}", type: "LicenseSeatRequest"),
    Shape(page: "sandbox-store.md", text: "{organizer, members}", type: "StoreFamily"),
    Shape(
      page: "sandbox-store.md",
      text: "{latency?, status?, outage?, wrongSignature?, skew?, collapse21003?}", type: "StoreFaults"),
  ]

  @Test("a document has the members that the page names, and those are absent that may be", arguments: shapes)
  func eachShape(shape: Shape) throws {
    #expect(try RepositoryFile("docs/\(shape.page)").text.contains(shape.text))
    let sample = try #require(WireSample.all.first { $0.name == shape.type })
    let full = Set(try JSONText.members(sample.full).keys)
    let minimal = Set(try JSONText.members(sample.minimal).keys)
    let members = shape.members
    #expect(!members.isEmpty)
    for (name, mayBeAbsent) in members {
      #expect(full.contains(name), "\(name)")
      #expect(minimal.contains(name) != mayBeAbsent, "\(name)")
    }
    if shape.isWhole { #expect(full == Set(members.keys)) }
  }

  @Test("the members of a shape are those of its outermost braces")
  func reading() {
    let shape = Shape(page: "", text: "{a:{b,c?},d?, e:[{f}],g1,h:[…],i?}", type: "")
    #expect(shape.members == ["a": false, "d": true, "e": false, "g1": false, "h": false, "i": true])
    #expect(Shape(page: "", text: "{account}", type: "").members == ["account": false])
  }
}
