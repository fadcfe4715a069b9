public import Commerce
import PullboxAPI
import PullboxAPIClient

/// A shelf's state with the agent behind it. An app draws ``states``, and opens, restores, pauses and removes.
///
/// ```swift
/// let shelf = try ShelfModel()
/// async let running: Void = shelf.run()
/// await shelf.refreshPlan()
/// for await state in shelf.states { for book in state.books { draw(book.title, book.statusText) } }
/// ```
public final class ShelfModel: Sendable {
  private let agent: AgentClient
  private let store = ModelStore(ShelfState())

  /// A shelf of `agent`; nil for ``AppStore/agent``. Throws `HTTPClientError` when no client can be made.
  public init(agent: AgentClient? = nil) throws { self.agent = try agent ?? AppStore.agent }

  /// The present state.
  public var state: ShelfState { store.state }
  /// The present state and those that come, for one reader.
  public var states: ModelStates<ShelfState> { store.states }

  /// Follows the agent until the task is cancelled, through its restarts. Throws as ``AgentUpdates`` does.
  public func run() async throws {
    for try await update in agent.updates() {
      store.change { $0.apply(.agent(update)) }
      guard case .snapshot = update else { continue }
      let library = try await agent.library()
      store.change { $0.apply(.library(library)) }
    }
  }

  /// Asks what is owned, for ``ShelfState/missing``.
  public func refreshPlan() async {
    await attempt {
      try await AppStore.plan(from: agent)
    } then: {
      .plan($0)
    }
  }

  /// Fetches these of what is missing.
  public func restore(_ products: Set<ProductIdentifier>) async {
    await attempt {
      try await AppStore.sync(products, from: agent)
    } then: { _ in
      nil
    }
  }

  /// The path of what is to be opened, and tells the agent that it is; nil for what cannot be opened now.
  public func open(_ product: ProductIdentifier) async -> String? {
    guard let book = state.books.first(where: { $0.product == product }), book.canBeOpened else { return nil }
    await attempt {
      try await agent.noteOpened(product)
    } then: { _ in
      nil
    }
    return book.item?.path
  }

  /// The page of that number of what is on the shelf, from 1 in the order of reading: of what is here, and of what still comes, whose page is fetched
  /// before all others. Waits until the page is here, for as long as the task runs. Nil for what has no such page or cannot be read;
  /// ``ShelfState/problem`` says why.
  public func page(_ number: Int, of product: ProductIdentifier) async -> ContentPage? {
    do {
      if let page = try await agent.page(number, of: .product(product)) { return page }
      store.change { $0.apply(.problem("there is no page \(number) in a file of its own")) }
    } catch {
      if !Task.isCancelled { store.change { $0.apply(.problem("\(error)")) } }
    }
    return nil
  }

  /// Removes the product from this device; it can be restored.
  public func remove(_ product: ProductIdentifier) async {
    await attempt {
      try await agent.remove(product)
    } then: {
      nil
    }
  }

  /// Pauses what comes of the product.
  public func pause(_ product: ProductIdentifier) async {
    guard let download = state.device.download(of: product) else { return }
    await attempt {
      try await agent.pause(download.id)
    } then: {
      .agent(.event(.download($0)))
    }
  }

  /// Goes on with what is paused, or has failed.
  public func resume(_ product: ProductIdentifier) async {
    guard let download = state.device.download(of: product) else { return }
    await attempt {
      try await agent.resume(download.id)
    } then: {
      .agent(.event(.download($0)))
    }
  }

  private func attempt<Value>(
    _ call: () async throws -> Value, then event: (Value) -> ShelfState.Event?
  ) async {
    do {
      guard let event = event(try await call()) else { return }
      store.change { $0.apply(event) }
    } catch {
      store.change { $0.apply(.problem("\(error)")) }
    }
  }
}
