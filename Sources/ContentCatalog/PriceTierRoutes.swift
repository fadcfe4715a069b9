package import Commerce
package import CoreTypes
package import Database
package import DeliveryRecords
import HTTPServer
package import PullboxAPI
package import PullboxAPIServer
import RouteAccess
package import ServiceAPI

/// Prices that products share, for operators. See docs/catalogue.md ("Prices").
struct PriceTierRoutes: Sendable {
  package let catalog: Catalog

  /// Adds the tiers below `/v1/operator/price-tiers`: reading takes the scope `read`, writing `publish`.
  func add(to routes: inout ScopedRoutes) {
    let pattern = "/v1/operator/price-tiers/{name}"
    routes.on(.get, "/v1/operator/price-tiers", requires: .read) { _, _, _ in
      try .json(
        PriceTierList(tiers: try await catalog.database.read { try PriceTierTable.all(in: $0) }))
    }
    routes.on(.get, pattern, requires: .read) { request, parameters, _ in
      try .json(
        try await catalog.priceTier(try Self.name(parameters)), to: request,
        cacheControl: CatalogRoutes.revalidated)
    }
    routes.on(.put, pattern, requires: .publish) { request, parameters, actor in
      let name = try Self.name(parameters)
      let description = try await request.decode(PriceTierDescription.self)
      return try .json(
        try await catalog.put(name, description, by: actor.name, under: WriteConditions(request)))
    }
    routes.on(.delete, pattern, requires: .publish) { request, parameters, actor in
      try await catalog.removePriceTier(
        try Self.name(parameters), by: actor.name, under: WriteConditions(request))
      return HTTPResponse(status: .noContent)
    }
  }

  /// Returns the tier in the address. Throws `price-tier-unknown` for a text that is no name.
  private static func name(_ parameters: PathParameters) throws(Problem) -> PriceTierName {
    guard let name = PriceTierName(parameters["name"]) else {
      throw Problem(.priceTierUnknown, "not a tier's name: 1 to 64 of A-Z a-z 0-9 . _ -")
    }
    return name
  }
}

extension Catalog {
  /// Throws `price-tier-unknown`.
  func priceTier(_ name: PriceTierName) async throws -> PriceTier {
    try await database.read { connection in
      guard let tier = try PriceTierTable.find(name, in: connection) else {
        throw try Problem.unknownPriceTier(name, in: connection)
      }
      return tier
    }
  }

  /// Creates or changes a tier, and with it the prices of all products that name it. Throws `price-tier-invalid` with every fault, and
  /// `precondition-failed`. Writes nothing where it says the same.
  package func put(
    _ name: PriceTierName, _ description: PriceTierDescription, by actor: String,
    under conditions: WriteConditions
  ) async throws -> PriceTier {
    let tier = try Self.checked(name, description)
    let now = clock.now()
    defer { didChange() }
    let document = try EncodedDocument(tier)
    let catalog = cache.latest
    return try await database.write(locking: [.priceTiers]) { connection in
      let before =
        try catalog.isCurrent(in: connection)
        ? catalog.tier(name) : PriceTierTable.find(name, in: connection)
      try conditions.check(before)
      _ = try Self.put(document, before: before, by: actor, at: now, in: connection)
      return tier
    }
  }

  /// Throws `price-tier-invalid` where there is no room for another. Runs in a write that locks the price
  /// tiers. `before` is the tier as the connection sees it.
  package static func put(
    _ document: EncodedDocument<PriceTier>, before: PriceTier?, by actor: String, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Change {
    let tier = document.value
    guard before != tier else { return .unchanged }
    if before == nil, try PriceTierTable.count(in: connection) >= PriceTierTable.capacity {
      throw Problem(
        .priceTierInvalid,
        faults: [
          Problem.Fault(code: "too-many", path: "name", detail: "at most \(PriceTierTable.capacity) tiers")
        ])
    }
    try PriceTierTable.put(document, at: now, in: connection)
    try AuditTable.add(
      AuditEntry(
        at: now, actor: actor, action: before == nil ? "price-tier.create" : "price-tier.change",
        subject: tier.name.description), in: connection)
    return before == nil ? .created : .changed
  }

  /// Throws `price-tier-unknown`, `precondition-failed`, and `state-conflict` while a product has its prices
  /// from it. The tier 0 is never removed.
  func removePriceTier(
    _ name: PriceTierName, by actor: String, under conditions: WriteConditions
  ) async throws {
    let now = clock.now()
    try await database.write(locking: [.priceTiers]) { connection in
      let before = try PriceTierTable.find(name, in: connection)
      try conditions.check(before)
      guard before != nil else { throw try Problem.unknownPriceTier(name, in: connection) }
      guard name != .free else {
        throw Problem(.stateConflict, "the price tier \(name) is what is free, and is always there")
      }
      guard try !PriceTierTable.isUsed(name, in: connection) else {
        throw Problem(.stateConflict, "the price tier \(name) is in use")
      }
      try PriceTierTable.remove(name, at: now, in: connection)
      try AuditTable.add(
        AuditEntry(at: now, actor: actor, action: "price-tier.remove", subject: name.description),
        in: connection)
    }
  }

  /// Throws `price-tier-invalid` with every fault. Fault codes: `id-mismatch`, `price-tier`, `price-missing`,
  /// `too-many` and `territory`.
  package static func checked(
    _ name: PriceTierName, _ description: PriceTierDescription
  ) throws(Problem) -> PriceTier {
    var faults = ProductValidator.priceFaults(in: description.prices, at: "prices")
    func add(_ code: String, at path: String, _ detail: String) {
      faults.append(Problem.Fault(code: code, path: path, detail: detail))
    }
    if let named = description.name, named != name {
      add("id-mismatch", at: "name", "the description is of \(named), the address names \(name)")
    }
    if name == .free { add("price-tier", at: "name", "the tier 0 is free, and cannot be changed") }
    if description.prices.isEmpty { add("price-missing", at: "prices", "at least one territory") }
    guard faults.isEmpty else { throw Problem(.priceTierInvalid, faults: faults) }
    return PriceTier(name: name, prices: description.prices)
  }
}
