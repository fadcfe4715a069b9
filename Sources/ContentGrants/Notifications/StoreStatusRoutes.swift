package import Commerce
package import CoreTypes
package import Database
import DeliveryRecords
import HTTPServer
package import PaymentStores
import PullboxAPI
import PullboxAPIServer
package import RouteAccess
import ServiceAPI

/// How each store stands with this server, for operators.
package struct StoreStatusRoutes: Sendable {
  /// The description of a store in the configuration.
  package struct Description: Sendable {
    /// The name in the configuration, which grants and calls bear.
    package var name: StoreIdentifier
    /// The kind in the words of the configuration.
    package var kind: String
    /// The environments whose purchases count here.
    package var environments: [StoreEnvironment]

    package init(name: StoreIdentifier, kind: String, environments: [StoreEnvironment]) {
      self.name = name
      self.kind = kind
      self.environments = environments
    }
  }

  /// The stores that the configuration names, all of which are listed.
  package let stores: [Description]
  /// Knows which stores answer, and since when one does not.
  package let proofs: ProofVerifier
  /// Knows which stores accept calls.
  package let outbox: Outbox
  /// The database with the counts of waiting and parked calls.
  package let database: Database
  package let clock: any WallClock

  package init(
    stores: [Description], proofs: ProofVerifier, outbox: Outbox, database: Database, clock: any WallClock
  ) {
    self.stores = stores
    self.proofs = proofs
    self.outbox = outbox
    self.database = database
    self.clock = clock
  }

  /// Adds `GET /v1/operator/stores`, which needs the scope `read` and asks no store.
  package func add(to routes: inout ScopedRoutes) {
    routes.on(.get, "/v1/operator/stores", requires: .read, query: []) { _, _, _ in
      try .json(try await statuses())
    }
  }

  /// Returns the stores by name. The last answers and failures are those that this process has seen, nil where
  /// there were none.
  private func statuses() async throws -> StoreStatuses {
    let now = clock.now()
    let known = try await database.read { connection in
      let counts = try OutboxTable.counts(in: connection)
      return try stores.map { try Self.known(of: $0, counts, at: now, in: connection) }
    }
    return StoreStatuses(
      stores: zip(stores, known).map { store, known in
        var status = known
        let (questions, calls) = (proofs.standing(of: store.name), outbox.standing(of: store.name))
        status.questionsStopped = questions.isOpen
        status.callsStopped = calls.isOpen
        status.isReachable = !questions.isOpen && !calls.isOpen
        status.lastAnswer = [questions.sinceAnswer, calls.sinceAnswer].compactMap { $0 }.min().map {
          now - $0
        }
        status.lastFailure = [questions.sinceFailure, calls.sinceFailure].compactMap { $0 }.min().map {
          now - $0
        }
        return status
      }.sorted { $0.name < $1.name })
  }

  /// Returns the status of a store as far as the database knows it.
  private static func known(
    of store: Description, _ counts: [OutboxTable.Count], at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> StoreStatus {
    var status = StoreStatus(
      name: store.name.description, kind: store.kind, environments: store.environments.map(\.rawValue))
    status.lastNotification = try NotificationTable.latest(of: store.name, in: connection).map {
      StoreStatus.Notification(
        type: $0.type, subtype: $0.subtype, signed: $0.signed, received: $0.received)
    }
    let positions = try store.environments.compactMap {
      try NotificationHistoryTable.position(of: store.name, $0, in: connection)
    }
    status.recoveredNotifications = positions.reduce(0) { $0 + $1.recovered }
    status.historyReadUntil = positions.map(\.until).min()
    for count in counts where count.store == status.name {
      status.callsWaiting += count.waiting
      status.callsParked += count.parked
    }
    let standing = try AcknowledgementTable.standing(of: store.name, at: now, in: connection)
    status.unacknowledged = standing.waiting
    status.unacknowledgedUrgent = standing.urgent
    status.nextAcknowledgement = standing.next
    if status.callsWaiting > 0 {
      status.oldestCall = try OutboxTable.oldest(.waiting, to: store.name, in: connection)
    }
    return status
  }
}
