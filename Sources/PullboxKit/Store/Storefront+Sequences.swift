import PullboxAPIClient

extension Storefront {
  /// The storefront of the account now. Throws `APICallError`, with `store-unavailable` while the store is away.
  public static var current: Storefront {
    get async throws { try await current(from: AppStore.agent) }
  }

  /// The same of an agent of one's own choice.
  public static func current(from agent: AgentClient) async throws -> Storefront {
    Storefront(try await agent.products([]).account)
  }

  /// The storefront, and then each other one: it is asked for again when the agent was away, since an account is changed with the agent's
  /// configuration, and when a purchase has failed. Nothing is asked for in between. Throws as ``AgentUpdates`` does.
  public static var updates: StorefrontUpdates { StorefrontUpdates(agent: nil) }

  /// The same of an agent of one's own choice.
  public static func updates(from agent: AgentClient) -> StorefrontUpdates { StorefrontUpdates(agent: agent) }
}

/// The storefronts of ``Storefront/updates``.
public struct StorefrontUpdates: AsyncSequence, Sendable {
  /// One that is not the one before.
  public typealias Element = Storefront
  /// `APICallError`, `HTTPClientError` or `CancellationError`.
  public typealias Failure = any Error

  let agent: AgentClient?

  /// Each iterator has a connection of its own.
  public func makeAsyncIterator() -> Iterator { Iterator(agent: agent) }

  /// Follows the agent.
  public struct Iterator: AsyncIteratorProtocol {
    private var followed: FollowedAgent
    private var last: Storefront?

    fileprivate init(agent: AgentClient?) { followed = FollowedAgent(agent) }

    /// The next storefront; never nil.
    public mutating func next() async throws -> Storefront? {
      let agent = try followed.client()
      while let update = try await followed.next() {
        guard Self.mayChange(update) else { continue }
        do {
          let now = try await Storefront.current(from: agent)
          guard now != last else { continue }
          last = now
          return now
        } catch let error as APICallError where error.isUnavailable && last != nil {
          // The store is away; the next update asks again.
          continue
        }
      }
      return nil
    }

    private static func mayChange(_ update: AgentUpdate) -> Bool {
      switch update {
      case .snapshot: true
      case .event(.transaction(let transaction)): PaymentTransaction(transaction).state == .failed
      case .event, .lost: false
      }
    }
  }
}
