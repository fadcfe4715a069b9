public import Commerce
import PullboxAPI
import PullboxAPIClient

/// A customer's other wishes of the store, beside buying.
extension AppStore {
  /// A wish that this kit cannot bring to a payment store, with words that say where to go.
  public struct NotOffered: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for people, without a full stop.
    public let description: String
  }

  /// Redeems a gift or promotional code; what follows is as with ``Product/purchase(quantity:optsIn:confirm:)``. ``AgentClient/preview(of:locale:)``
  /// tells before what it gives. Throws `APICallError`, which says what is wrong with a code.
  @discardableResult
  public static func redeem(
    _ code: String, from agent: AgentClient? = nil
  ) async throws -> Product.PurchaseResult {
    let agent = try agent ?? Self.agent
    return try await Product.PurchaseResult(Transaction(try await agent.redeem(code), agent: agent))
  }

  /// The subscriptions of the account that are not over, to be managed: ``SubscriptionInfo/Status/manage(_:)`` changes one. Throws `APICallError`.
  public static func subscriptionsToManage(
    from agent: AgentClient? = nil
  ) async throws -> [SubscriptionInfo.Status] {
    let agent = try agent ?? Self.agent
    return try await agent.subscriptions().filter { $0.state != .expired }
      .map { SubscriptionInfo.Status($0, agent: agent) }
  }
}

extension SubscriptionInfo.Status {
  /// A change that a customer may make to a subscription.
  public enum Change: Hashable, Sendable {
    /// End it with the present period.
    case end
    /// Go on after all.
    case renew
    /// Go on as another product of the same publication.
    case change(to: ProductIdentifier)
    /// Accept the higher price that waits for consent.
    case acceptPrice
  }

  /// Makes a change, which counts from the next period on: what is paid for serves to its end. Returns how the subscription stands then.
  /// Throws `APICallError`: `state-conflict` for one that is over, `product-unknown`.
  public func manage(_ change: Change) async throws -> SubscriptionInfo.Status {
    let wanted =
      switch change {
      case .end: SubscriptionChange(autoRenew: false)
      case .renew: SubscriptionChange(autoRenew: true)
      case .change(let product): SubscriptionChange(product: product)
      case .acceptPrice: SubscriptionChange(acceptPrice: true)
      }
    return SubscriptionInfo.Status(try await agent.change(id, to: wanted), agent: agent)
  }
}

extension Transaction {
  /// Asks the store for the price back. It decides later: what was refunded leaves ``currentEntitlements``, and ``updates`` tell. Throws
  /// ``AppStore/NotOffered`` of a store that takes no such request from a program, with words on where a person asks, for an app to show; and
  /// `APICallError`: `transaction-unpaid` for what cost nothing or was refunded, `transaction-unknown`.
  public func requestRefund(reason: RefundReason = .other) async throws {
    do {
      try await agent.requestRefund(of: id, reason: reason)
    } catch {
      guard case .problem(let problem) = error, problem.code == .notImplemented else { throw error }
      throw AppStore.NotOffered(
        description:
          "a refund of \(title ?? product.description) (transaction \(id)) is asked for at the store where it was bought, "
          + "in the list of your purchases there; apps cannot ask for you")
    }
  }
}
