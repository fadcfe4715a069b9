public import Commerce
public import PullboxAPI
import PullboxAPIClient

/// A word of the store or the agent to the account's owner: an app shows it once, where it disturbs least.
///
/// ```swift
/// for try await message in Message.messages { banner(message.text) }
/// ```
public struct Message: Hashable, Sendable, Identifiable {
  /// The matter of a message.
  public enum Reason: Hashable, Sendable {
    /// A subscription costs more from its next period on; `needsConsent` where it ends unless that is accepted.
    case priceIncrease(subscription: TransactionIdentifier, PendingPrice)
    /// A payment was declined: of a purchase.
    case paymentDeclined(transaction: TransactionIdentifier)
    /// A payment was declined: of a renewal, which the store tries again.
    case renewalDeclined(subscription: TransactionIdentifier)
    /// This device is not among those of its account any more, and fetches nothing.
    case deviceEnded
  }

  /// The matter.
  public let reason: Reason
  /// The product; nil for what is about the device.
  public let product: ProductIdentifier?
  /// A sentence for people.
  public let text: String

  /// The same for the same matter: an app that keeps those it has shown shows none twice.
  public var id: String {
    switch reason {
    case .priceIncrease(let subscription, let price):
      "price-\(subscription)-\(price.price.amount)-\(price.price.currency)"
    case .paymentDeclined(let transaction): "payment-\(transaction)"
    case .renewalDeclined(let subscription): "renewal-\(subscription)"
    case .deviceEnded: "device"
    }
  }

  /// The messages that there are now, and then those that come, each once as long as the sequence is read. The store is asked about subscriptions as
  /// ``SubscriptionInfo/Status/updates`` says. Throws as ``AgentUpdates`` does.
  public static var messages: Messages { Messages(agent: nil) }

  /// The same of an agent of one's own choice.
  public static func messages(from agent: AgentClient) -> Messages { Messages(agent: agent) }
}

/// The messages of ``Message/messages``.
public struct Messages: AsyncSequence, Sendable {
  /// A message.
  public typealias Element = Message
  /// `APICallError`, `HTTPClientError` or `CancellationError`.
  public typealias Failure = any Error

  let agent: AgentClient?

  /// Each iterator has a connection of its own.
  public func makeAsyncIterator() -> Iterator { Iterator(agent: agent) }

  /// Follows the agent.
  public struct Iterator: AsyncIteratorProtocol {
    private var followed: FollowedAgent
    private var writer = MessageWriter()
    private var waiting: ArraySlice<Message> = []

    fileprivate init(agent: AgentClient?) { followed = FollowedAgent(agent) }

    /// The next message; never nil.
    public mutating func next() async throws -> Message? {
      let agent = try followed.client()
      while waiting.isEmpty {
        guard let update = try await followed.next() else { return nil }
        waiting = writer.messages(of: update)[...]
        guard update.mayChangeSubscriptions else { continue }
        do {
          waiting += writer.messages(of: try await agent.subscriptions())
        } catch {
          // Messages of what the agent knows are told while the store is away; the next update asks it again.
          guard error.isUnavailable else { throw error }
        }
      }
      return waiting.popFirst()
    }
  }
}

/// Makes messages of what the agent and the store tell, each once. A pure value.
struct MessageWriter: Sendable {
  /// Forgotten messages would be told again; the number is bounded by what one process hears of.
  private var told: Set<String> = []

  mutating func messages(of update: AgentUpdate) -> [Message] {
    switch update {
    case .snapshot(let transactions, let downloads):
      transactions.flatMap { messages(of: $0) } + downloads.flatMap { messages(of: $0.error) }
    case .event(.transaction(let transaction)): messages(of: transaction)
    case .event(.download(let download)): messages(of: download.error)
    case .event, .lost: []
    }
  }

  mutating func messages(of subscriptions: [StoreSubscription]) -> [Message] {
    var found: [Message] = []
    for subscription in subscriptions {
      let renewal = Message.Reason.renewalDeclined(subscription: subscription.originalId)
      if subscription.state == .billingRetry {
        found += message(
          renewal, subscription.product,
          "A payment for \(subscription.product) was declined. The store tries again; check how you pay.")
      } else {
        // The next refusal is a matter of its own.
        told.remove(Message(reason: renewal, product: nil, text: "").id)
      }
      if let price = subscription.newPrice, !price.isAccepted, subscription.autoRenew,
        subscription.state == .active
      {
        let amount = "\(price.price.amount) \(price.price.currency)"
        found += message(
          .priceIncrease(subscription: subscription.originalId, price), subscription.product,
          price.needsConsent
            ? "\(subscription.product) will cost \(amount). It ends with this period unless you accept the price."
            : "\(subscription.product) will cost \(amount) from the next period on.")
      }
    }
    return found
  }

  private mutating func messages(of transaction: AgentTransaction) -> [Message] {
    var found = messages(of: transaction.error)
    if PaymentTransaction(transaction).state == .failed {
      found += message(
        .paymentDeclined(transaction: transaction.id), transaction.product,
        "The payment for \(transaction.title ?? transaction.product.description) was declined. Nothing is owed."
      )
    }
    return found
  }

  private mutating func messages(of problem: Problem?) -> [Message] {
    guard problem?.code == .deviceLimit else { return [] }
    return message(
      .deviceEnded, nil,
      "This device is not among the devices of its account any more. Free a place, or nothing new arrives here."
    )
  }

  private mutating func message(
    _ reason: Message.Reason, _ product: ProductIdentifier?, _ text: String
  ) -> [Message] {
    let message = Message(reason: reason, product: product, text: text)
    return told.insert(message.id).inserted ? [message] : []
  }
}
