import Commerce
import ContentCatalog
package import ContentGrants
import CoreTypes
import Database
import DeliveryModel
import DeliveryRecords
import HTTPServer
import PullboxAPI
import PullboxAPIServer
package import RouteAccess
import ServiceAPI

/// The devices and readers' keys of a customer, for operators. See docs/catalogue-feeds.md ("Readers' keys").
package struct CustomerRoutes: Sendable {
  /// Devices of one customer that are listed, at most; keys are listed up to ``ReaderKeyRoutes/maximumKeys``.
  static let maximumDevices = 200
  /// The beginning of the names of devices that stand for readers' keys.
  static let readerPrefix = "reader-"

  private static let query: Set<String> = [
    "customer", "transaction", "device", "account", "store", "environment",
  ]

  private let explanations: ExplanationRoutes
  private let bodies: ReaderBodies
  private let admissions: ReaderAdmissions
  private var grants: GrantService { explanations.grants }

  /// `explanations` finds the customers that a request asks about.
  package init(explanations: ExplanationRoutes, bodies: ReaderBodies, admissions: ReaderAdmissions) {
    self.explanations = explanations
    self.bodies = bodies
    self.admissions = admissions
  }

  /// Adds `GET /v1/operator/customers` (scope `read`) and `POST /v1/operator/readers/{name}/remove` (scope `admin`), which takes
  /// an idempotency key.
  package func add(to routes: inout ScopedRoutes) {
    routes.on(.get, "/v1/operator/customers", requires: .read, query: Self.query) { request, _, _ in
      try .json(try await customers(explanations.subject(of: request)))
    }
    routes.on(
      .post, "/v1/operator/readers/{name}/remove", requires: .admin, takesIdempotencyKey: true
    ) { request, parameters, actor in
      let reason = try await request.reason()
      let key = try await grants.endReaderKey(parameters["name"], by: actor.name, because: reason)
      admissions.forget()
      try await bodies.look()
      return try .json(OperatorReaderKey(key))
    }
  }

  /// Throws `transaction-unknown` and `request-malformed` as explanations do. The device of a reader's key leads to the key's customer.
  private func customers(_ subject: GrantService.Subject) async throws -> OperatorCustomers {
    try await grants.grantStore.database.read { connection in
      var found: [CustomerIdentifier] = []
      if case .device(let device, _) = subject, device.description.hasPrefix(Self.readerPrefix),
        let key = try ReaderKeyTable.find(
          String(device.description.dropFirst(Self.readerPrefix.count)), in: connection)
      {
        found = [try CustomerTable.current(key.customer, in: connection)]
      } else {
        found = try GrantService.customers(subject, in: connection)
      }
      return OperatorCustomers(
        customers: try found.map { customer in
          let keys = try ReaderKeyTable.all(
            of: customer, limit: ReaderKeyRoutes.maximumKeys, in: connection)
          let keyed = Set(keys.map(\.device))
          let devices = try CustomerTable.devices(of: customer, limit: Self.maximumDevices, in: connection)
          return OperatorCustomer(
            customer: customer.hexadecimal,
            devices: devices.filter { !keyed.contains($0.device) }.map {
              .init(device: $0.device, firstSeen: $0.firstSeen, lastSeen: $0.lastSeen)
            }, readers: keys.map(OperatorReaderKey.init))
        })
    }
  }
}

extension OperatorReaderKey {
  fileprivate init(_ key: ReaderKey) {
    self.init(name: key.name, title: key.title, device: key.device, created: key.created, used: key.used)
  }
}

extension GrantService {
  /// Ends a reader's key in an operator's name, and answers it as it was. The audit log has who did it, and why. Throws `not-found` for
  /// a name that no key has.
  func endReaderKey(_ name: String, by actor: String, because reason: String?) async throws -> ReaderKey {
    let now = grantStore.clock.now()
    return try await grantStore.database.write(locking: []) { connection in
      // A customer who becomes another takes the keys along, under the lock of both.
      while let found = try ReaderKeyTable.find(name, in: connection) {
        let customer = try CustomerTable.lockCurrent(found.customer, in: connection)
        guard try ReaderKeyTable.remove(name, of: customer, in: connection) else { continue }
        try AuditTable.add(
          AuditEntry(
            at: now, actor: actor, action: "reader.remove", subject: name,
            detail: found.title + (reason.map { ": \($0)" } ?? "")), in: connection)
        return found
      }
      throw Problem(.notFound, "there is no reader's key of that name")
    }
  }
}
