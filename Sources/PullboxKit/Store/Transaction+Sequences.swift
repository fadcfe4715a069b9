public import Commerce
public import CoreTypes
import PullboxAPI
import PullboxAPIClient

extension Transaction {
  /// The transactions that are not over, and then each that is new or has changed, also its end, through restarts of the agent. One that
  /// begins before the app buys misses nothing. Throws as ``AgentUpdates`` does.
  public static var updates: TransactionUpdates { TransactionUpdates(agent: nil) }

  /// The same of an agent of one's own choice.
  public static func updates(from agent: AgentClient) -> TransactionUpdates {
    TransactionUpdates(agent: agent)
  }

  /// Those that are not over, by identifier. The agent brings them to their end by itself.
  public static var unfinished: AnswerSequence<Transaction> { unfinished(from: nil) }

  /// The same of an agent of one's own choice; nil for ``AppStore/agent``.
  public static func unfinished(from agent: AgentClient?) -> AnswerSequence<Transaction> {
    list(.live, from: agent)
  }

  /// All that the agent knows of, by identifier: those that are over for 90 days.
  public static var all: AnswerSequence<Transaction> { all(from: nil) }

  /// The same of an agent of one's own choice; nil for ``AppStore/agent``.
  public static func all(from agent: AgentClient?) -> AnswerSequence<Transaction> { list(.all, from: agent) }

  /// The last transaction of a product that the agent knows of: one that is not over before others, else that of the greatest number. Nil
  /// where it knows none. Throws `APICallError`.
  public static func latest(
    for product: ProductIdentifier, from agent: AgentClient? = nil
  ) async throws -> Transaction? {
    let agent = try agent ?? AppStore.agent
    let found = try await agent.transactions().filter { $0.product == product }
      .map { Transaction($0, agent: agent) }
    return found.max { left, right in
      if left.isOver != right.isOver { return left.isOver }
      // Identifiers of stores are numbers; a longer one is greater.
      let (one, other) = (left.id.description, right.id.description)
      return (one.utf8.count, one) < (other.utf8.count, other)
    }
  }

  /// The products that the account owns now, each once. Without a network it is what this device knows: what the account owns by the license
  /// of this device, or by the server's last word (``Entitlement/asOf``), also what is not in the library, such as a subscription; and content of
  /// the library of which nothing was told. What was taken back is not among them.
  public static var currentEntitlements: AnswerSequence<Entitlement> { currentEntitlements(from: nil) }

  /// The same of an agent of one's own choice; nil for ``AppStore/agent``.
  public static func currentEntitlements(from agent: AgentClient?) -> AnswerSequence<Entitlement> {
    AnswerSequence {
      let agent = try agent ?? AppStore.agent
      do {
        var seen: Set<ProductIdentifier> = []
        return try await agent.restorePlan().filter { seen.insert($0.product).inserted }.map {
          Entitlement($0)
        }
      } catch let error as APICallError {
        // The agent answers, and a service behind it does not.
        guard case .problem(let problem) = error, problem.status == 503 else { throw error }
        let library = try await agent.library()
        let said = try await ownership(by: agent)
        let products = Set(library.map(\.product)).union(said.keys)
        return products.sorted { $0.description < $1.description }.compactMap { product in
          let item = library.current(of: product)
          return said[product].map { Entitlement($0, item) } ?? item.flatMap { Entitlement($0) }
        }
      }
    }
  }

  /// Nothing of an agent that is of an earlier version.
  private static func ownership(
    by agent: AgentClient
  ) async throws -> [ProductIdentifier: ProductOwnership] {
    do {
      let all = try await agent.ownership().products
      return Dictionary(all.map { ($0.product, $0) }, uniquingKeysWith: { first, _ in first })
    } catch {
      guard case .problem(let problem) = error, problem.status == 404 else { throw error }
      return [:]
    }
  }

  private static func list(_ part: AgentListPart, from agent: AgentClient?) -> AnswerSequence<Transaction> {
    AnswerSequence {
      let agent = try agent ?? AppStore.agent
      return try await agent.transactions(part).map { Transaction($0, agent: agent) }
    }
  }

  /// One product that the account owns.
  public struct Entitlement: Hashable, Sendable, Identifiable {
    /// The product.
    public let product: ProductIdentifier
    /// The content version that is owned or here; nil without a network for what is not here, and for what has no content.
    public let version: ContentVersion?
    /// Why it is owned: a rule of docs/entitlements.md, such as `purchased`; nil where this device does not know.
    public let because: String?
    /// When it is owned no more unless something is paid for again; nil for what stays owned.
    public let until: Timestamp?
    /// The transaction that pays for it; nil without a network.
    public let transaction: TransactionIdentifier?
    /// Since when this device knows it, without a network; nil where the server says so now.
    public let asOf: Timestamp?
    /// Whether the server says so now, or the license of this device does.
    public let isVerified: Bool

    /// By product.
    public var id: ProductIdentifier { product }

    init(_ owned: EntitledProduct) {
      product = owned.product
      version = owned.version
      because = owned.because
      until = owned.until
      transaction = owned.transaction
      asOf = nil
      isVerified = true
    }

    /// Nil for what is not owned any more, or not any longer by now. `item` is nil for what the library does not hold.
    init?(_ ownership: ProductOwnership, _ item: LibraryItem?) {
      guard ownership.owned else { return nil }
      product = ownership.product
      version = item?.version
      because = ownership.because
      until = ownership.until
      transaction = nil
      asOf = ownership.asOf ?? item?.placedAt ?? ownership.heard
      isVerified = ownership.verification == .verified
    }

    /// Nil for what is not owned any more. What nothing was told of was paid for when it came.
    init?(_ item: LibraryItem) {
      guard item.owned != false else { return nil }
      product = item.product
      version = item.version
      because = item.because
      until = item.until
      transaction = nil
      asOf = item.ownedAsOf ?? item.placedAt
      isVerified = false
    }
  }
}

/// The elements of one answer, which is asked for with the first of them.
public struct AnswerSequence<Element: Sendable>: AsyncSequence, Sendable {
  /// The error of the question: `APICallError`, mostly.
  public typealias Failure = any Error

  let ask: @Sendable () async throws -> [Element]

  init(_ ask: @escaping @Sendable () async throws -> [Element]) { self.ask = ask }

  /// Each iterator asks for itself.
  public func makeAsyncIterator() -> Iterator { Iterator(ask: ask) }

  /// Goes through the answer.
  public struct Iterator: AsyncIteratorProtocol {
    fileprivate let ask: @Sendable () async throws -> [Element]
    private var rest: ArraySlice<Element>?

    fileprivate init(ask: @escaping @Sendable () async throws -> [Element]) { self.ask = ask }

    /// The next element; nil behind the last.
    public mutating func next() async throws -> Element? {
      if rest == nil { rest = try await ask()[...] }
      return rest?.popFirst()
    }
  }
}

/// The transactions of ``Transaction/updates``.
public struct TransactionUpdates: AsyncSequence, Sendable {
  /// A transaction that is new or has changed.
  public typealias Element = Transaction
  /// `APICallError`, `HTTPClientError` or `CancellationError`.
  public typealias Failure = any Error

  let agent: AgentClient?

  /// Each iterator has a connection of its own.
  public func makeAsyncIterator() -> Iterator { Iterator(agent: agent) }

  /// Follows the agent.
  public struct Iterator: AsyncIteratorProtocol {
    private var followed: FollowedAgent
    private var changes = TransactionChanges()
    private var waiting: ArraySlice<AgentTransaction> = []

    fileprivate init(agent: AgentClient?) { followed = FollowedAgent(agent) }

    /// The next transaction; never nil.
    public mutating func next() async throws -> Transaction? {
      let agent = try followed.client()
      while waiting.isEmpty {
        guard let update = try await followed.next() else { return nil }
        waiting = changes.apply(update)[...]
      }
      return waiting.popFirst().map { Transaction($0, agent: agent) }
    }
  }
}

/// Which transactions an update changes. A pure value, bounded by those that are not over.
struct TransactionChanges: Sendable {
  private var known: [TransactionIdentifier: AgentTransaction] = [:]

  /// Those that are new or another than before. One that was over before it was heard of is none.
  mutating func apply(_ update: AgentUpdate) -> [AgentTransaction] {
    switch update {
    case .snapshot(let transactions, _):
      return transactions.filter { note($0, countsOver: false) }
    case .event(.transaction(let transaction)):
      return note(transaction, countsOver: true) ? [transaction] : []
    case .event, .lost: return []
    }
  }

  private mutating func note(_ transaction: AgentTransaction, countsOver: Bool) -> Bool {
    let isOver = PaymentTransaction(transaction).isOver
    let before = known[transaction.id]
    guard before != transaction else { return false }
    known[transaction.id] = isOver ? nil : transaction
    return !isOver || before != nil || countsOver
  }
}
