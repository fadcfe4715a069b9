import Commerce
import ContentGrants
import DeliveryModel
import DeliveryRecords
import PaymentStores
import Receipts
import RouteAccess

/// The payment stores: how they are asked about proofs, and how they are told of what was delivered.
struct StoreComponents: Sendable {
  private let infrastructure: DeliveryComponents.Infrastructure
  let clients: [any PaymentStoreClient]
  let descriptions: [StoreStatusRoutes.Description]
  /// Those whose receipts a store takes.
  let applications: Set<ApplicationIdentifier>
  /// The rules of each store about the accounts and devices that may use its purchases.
  let rules: [StoreIdentifier: StoreRules]
  let grantStore: GrantStore
  let outbox: Outbox
  let proofs: ProofVerifier
  let sales: EmptySales

  var names: [StoreIdentifier] { descriptions.map(\.name) }

  /// Reads the secrets of stores that lie in files. Blocks.
  init(
    on infrastructure: DeliveryComponents.Infrastructure, catalog: CatalogComponents, leases: ProcessLeases
  ) throws {
    self.infrastructure = infrastructure
    let (clock, timer, log) = (infrastructure.clock, infrastructure.timer, infrastructure.log)
    let accesses = try infrastructure.configuration.paymentStores()
    let clients = Self.clients(for: accesses, on: infrastructure)
    self.clients = clients
    applications = Set(
      accesses.flatMap(\.policy.bundleIdentifiers).compactMap { ApplicationIdentifier($0) })
    descriptions = accesses.map { store in
      StoreStatusRoutes.Description(
        name: store.name, kind: store.kind.rawValue,
        environments: store.policy.environments.sorted { $0.rawValue < $1.rawValue })
    }
    rules = Dictionary(uniqueKeysWithValues: accesses.map { ($0.name, $0.rules) })
    let grantStore = GrantStore(
      database: infrastructure.database, clock: clock, laterDates: infrastructure.laterDates)
    self.grantStore = grantStore
    let outbox = Outbox(
      grantStore: grantStore, stores: Dictionary(uniqueKeysWithValues: clients.map { ($0.name, $0) }),
      timer: timer,
      options: try infrastructure.configuration.outboxOptions(), sweepLease: leases.lease("settling"),
      claimClock: leases.clock, log: log)
    self.outbox = outbox
    proofs = ProofVerifier(stores: clients, clock: clock, timer: timer, log: log)
    sales = EmptySales(
      at: Set(accesses.filter { $0.google != nil }.map(\.name)), grantStore: grantStore,
      catalog: catalog.cache, rules: catalog.rules, timer: timer, log: log, didAdd: { outbox.wake() })
  }

  /// Adds the routes for operators: the calls to stores, and how the stores stand.
  func addRoutes(to routes: inout ScopedRoutes) {
    OutboxRoutes(outbox: outbox).add(to: &routes)
    StoreStatusRoutes(
      stores: descriptions, proofs: proofs, outbox: outbox, database: infrastructure.database,
      clock: infrastructure.clock
    ).add(to: &routes)
  }
}
