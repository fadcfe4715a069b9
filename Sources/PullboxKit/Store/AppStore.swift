public import Commerce
public import PullboxAPI
import PullboxAPIClient
import Synchronization
import SystemCalls

/// The store of this device as an app sees it: which agent the members without one ask, and the restore of purchases.
///
/// ```swift
/// let plan = try await AppStore.plan()                    // what there is to fetch, before anything is
/// let begun = try await AppStore.sync(Set(plan.missing.prefix(3).map(\.product)))
/// ```
public enum AppStore {
  private static let chosen = Mutex<AgentClient?>(nil)

  /// The agent that ``Product/products(for:locale:from:)``, ``Transaction/updates`` and all others ask that are given none: the one of
  /// ``use(_:)``, else that of the socket that `PULLBOX_AGENT_SOCKET` names, else that of the default socket. Throws `HTTPClientError` when the client cannot be made.
  public static var agent: AgentClient {
    get throws {
      if let chosen = chosen.locked({ $0 }) { return chosen }
      let made = try AgentClient(
        socketPath: ProcessEnvironment.variables["PULLBOX_AGENT_SOCKET"] ?? AgentClient.defaultSocketPath)
      return chosen.locked { chosen in
        chosen = chosen ?? made
        return chosen ?? made
      }
    }
  }

  /// Sets that agent, for the whole process: before the first call, in an app whose agent listens elsewhere. `session` names the app
  /// (``AgentClient/session``); nil for the name that the client has.
  public static func use(_ agent: AgentClient, session: SessionName? = nil) {
    var agent = agent
    agent.session = session ?? agent.session
    chosen.locked { [agent] in $0 = agent }
  }

  /// Names the app to that agent, for the whole process: what it buys, redeems and restores bears the name, also after a restart, and
  /// ``AgentClient/downloads(of:_:)`` finds it. Throws as ``agent`` does.
  public static func use(session: SessionName) throws { use(try agent, session: session) }

  /// The plan of a restore: what the account owns, and what of it is missing on this device. Nothing is fetched. Throws `APICallError`.
  public static func plan(from agent: AgentClient? = nil) async throws -> RestorePlan {
    let agent = try agent ?? Self.agent
    let owned = try await agent.restorePlan()
    return RestorePlan(owned: owned, library: try await agent.library())
  }

  /// Fetches what the account owns and this device does not have: of `products`, where they are given, else all. Returns those whose
  /// download begins; ``PaymentQueue/restoreCompletedTransactions(_:)`` tells observers of the end as well. Throws `APICallError`:
  /// `purchase-required` for a product that is not owned, and nothing begins then.
  ///
  /// - Parameter conditions: those of the machine that the downloads pass, such as a metered way; nil for none.
  @discardableResult
  public static func sync(
    _ products: Set<ProductIdentifier>? = nil, order: AgentRestoreRequest.Order? = nil,
    ignoring conditions: [MachineConditionName]? = nil, from agent: AgentClient? = nil
  ) async throws -> [ProductIdentifier] {
    let names = products.map { $0.sorted { $0.description < $1.description } }
    // To the agent, none is all.
    if let names, names.isEmpty { return [] }
    return try await (agent ?? Self.agent).restore(
      AgentRestoreRequest(products: names, order: order, ignore: conditions))
  }
}

/// The outcome that a restore would have. A pure value.
public struct RestorePlan: Sendable {
  /// The products that are owned and not here, the newest issue first; each product once.
  public let missing: [EntitledProduct]
  /// The products that are owned and here already, in the newest version that is owned.
  public let present: [EntitledProduct]

  /// Compares what is owned with what the library holds whole.
  public init(owned: [EntitledProduct], library: [LibraryItem]) {
    var seen: Set<ProductIdentifier> = []
    let products = owned.ordered(by: .newest).filter { seen.insert($0.product).inserted }
    let isHere = { (owned: EntitledProduct) in
      library.contains {
        $0.product == owned.product && $0.version == owned.version && ($0.state ?? .present) == .present
      }
    }
    missing = products.filter { !isHere($0) }
    present = products.filter(isHere)
  }

  /// Bytes of the packages that are missing; what this device has of them already may make it less.
  public var length: ByteCount { ByteCount(missing.reduce(0) { $0 + $1.length.rawValue }) }
}
