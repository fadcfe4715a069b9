public import Commerce
import PullboxAPI
import PullboxAPIClient

/// A shop's state with the agent behind it. An app draws ``states``, and calls ``load(_:locale:)`` and ``buy(_:confirm:)``.
///
/// ```swift
/// let shop = try ShopModel()
/// async let running: Void = shop.run()        // as long as the app lives
/// await shop.load(["com.example.heroes.issue42"])
/// for await state in shop.states { for row in state.rows { draw(row.product.displayName, row.statusText) } }
/// ```
public final class ShopModel: Sendable {
  private let agent: AgentClient
  private let store = ModelStore(ShopState())

  /// A shop of `agent`; nil for ``AppStore/agent``. Throws `HTTPClientError` when no client can be made.
  public init(agent: AgentClient? = nil) throws { self.agent = try agent ?? AppStore.agent }

  /// The present state.
  public var state: ShopState { store.state }
  /// The present state and those that come, for one reader.
  public var states: ModelStates<ShopState> { store.states }

  /// Follows the agent until the task is cancelled, through its restarts. Throws as ``AgentUpdates`` does.
  public func run() async throws {
    for try await update in agent.updates() {
      store.change { $0.apply(.agent(update)) }
      guard case .snapshot = update else { continue }
      let library = try await agent.library()
      store.change { $0.apply(.library(library)) }
    }
  }

  /// Loads the products of these names, or all that is for sale; ``ShopState/problem`` says why it could not.
  public func load(_ names: [String]? = nil, locale: String? = nil) async {
    do {
      let products =
        if let names { try await Product.products(for: names, locale: locale, from: agent) } else {
          try await Product.all(locale: locale, from: agent)
        }
      store.change { $0.apply(.products(products)) }
    } catch {
      store.change { $0.apply(.notLoaded("\(error)")) }
    }
  }

  /// Buys what is loaded, as ``Product/purchase(quantity:optsIn:confirm:)`` does; the state tells the course. Nil for what is not loaded, and
  /// where nothing was decided.
  @discardableResult
  nonisolated(nonsending) public func buy(
    _ id: ProductIdentifier, confirm: (Product.Offer) async throws -> Bool
  ) async -> Product.PurchaseResult? {
    guard let product = state.row(of: id)?.product else { return nil }
    store.change { $0.apply(.buying(id)) }
    do {
      let result = try await product.purchase(confirm: confirm)
      store.change { $0.apply(.bought(id, result)) }
      return result
    } catch {
      store.change { $0.apply(.notBought(id, "\(error)")) }
      return nil
    }
  }
}
