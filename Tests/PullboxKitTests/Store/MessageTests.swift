import Commerce
import CoreTypes
import PullboxAPI
import Testing

@testable import PullboxKit

@Suite("Messages for the account's owner")
struct MessageTests {
  private static let end = Timestamp(millisecondsSinceEpoch: 1_800_000_000_000)

  static func subscription(
    _ state: StoreSubscription.State = .active, newPrice: PendingPrice? = nil, autoRenew: Bool = true,
    grace: Timestamp? = nil, intent: Int? = nil, revoked: Timestamp? = nil
  ) throws -> StoreSubscription {
    StoreSubscription(
      originalId: try #require(TransactionIdentifier("7")),
      product: try #require(ProductIdentifier("com.example.monthly")), state: state, autoRenew: autoRenew,
      purchaseDate: Timestamp(millisecondsSinceEpoch: 1_797_000_000_000), expiresDate: end,
      gracePeriodExpiresDate: grace, expirationIntent: intent, newPrice: newPrice, revocationDate: revoked)
  }

  private static func price(needsConsent: Bool = true, isAccepted: Bool = false) throws -> PendingPrice {
    PendingPrice(
      price: try #require(Price(amount: "5.99", currency: "EUR")), needsConsent: needsConsent,
      isAccepted: isAccepted)
  }

  @Test(
    "a higher price is told once, with what becomes of a subscription without a consent; an accepted one is not"
  )
  func price() throws {
    var writer = MessageWriter()
    let rise = try Self.subscription(newPrice: try Self.price())
    let told = writer.messages(of: [rise])
    #expect(
      told.count == 1 && told[0].text.contains("5.99 EUR") && told[0].text.contains("unless you accept"))
    #expect(writer.messages(of: [rise]).isEmpty)
    var other = MessageWriter()
    #expect(other.messages(of: [try Self.subscription(newPrice: try Self.price(isAccepted: true))]).isEmpty)
    #expect(other.messages(of: [try Self.subscription(newPrice: try Self.price(), autoRenew: false)]).isEmpty)
  }

  @Test("a renewal that is declined again after it had succeeded is told again")
  func renewals() throws {
    var writer = MessageWriter()
    let (declined, paid) = (try Self.subscription(.billingRetry), try Self.subscription())
    #expect(writer.messages(of: [declined]).count == 1)
    #expect(writer.messages(of: [declined]).isEmpty)
    #expect(writer.messages(of: [paid]).isEmpty)
    #expect(writer.messages(of: [declined]).count == 1)
  }

  @Test("a declined payment and an ended device are told from the agent's events, each once")
  func events() throws {
    var writer = MessageWriter()
    let failed = try Sample.transaction(state: "failed", step: "failed", reason: "payment-failed")
    #expect(
      writer.messages(of: .event(.transaction(failed))).map(\.reason) == [
        .paymentDeclined(transaction: failed.id)
      ])
    #expect(writer.messages(of: .event(.transaction(failed))).isEmpty)
    let ended = try Sample.download(.failed, "device-limit", error: Problem(.deviceLimit))
    #expect(writer.messages(of: .event(.download(ended))).map(\.reason) == [.deviceEnded])
    #expect(writer.messages(of: .snapshot(transactions: [], downloads: [ended])).isEmpty)
  }

  @Test("a subscription's state says what an app does about it")
  func states() throws {
    let now = Self.end
    let earlier = Timestamp(millisecondsSinceEpoch: Self.end.millisecondsSinceEpoch - 1)
    let later = Timestamp(millisecondsSinceEpoch: Self.end.millisecondsSinceEpoch + 1)
    typealias State = SubscriptionInfo.RenewalState
    #expect(State(try Self.subscription(), now: now) == .subscribed)
    #expect(
      State(try Self.subscription(.billingRetry, grace: later), now: now) == .inGracePeriod(until: later))
    #expect(State(try Self.subscription(.billingRetry, grace: earlier), now: now) == .inBillingRetry)
    #expect(State(try Self.subscription(.paused), now: now) == .paused(until: nil))
    #expect(State(try Self.subscription(.expired, intent: 3), now: now) == .expired(.priceNotAccepted))
    #expect(State(try Self.subscription(.expired, intent: 99), now: now) == .expired(.unknown))
    #expect(State(try Self.subscription(revoked: earlier), now: now) == .revoked(earlier))
    let price = try Self.price()
    #expect(State(try Self.subscription(newPrice: price), now: now) == .priceConsent(price))
    let notice = try Self.price(needsConsent: false)
    #expect(State(try Self.subscription(newPrice: notice), now: now) == .subscribed)
  }
}
