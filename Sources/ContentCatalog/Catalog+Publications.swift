package import Commerce
package import CoreTypes
package import Database
import DeliveryRecords
import Entitlements
import PullboxAPI
package import PullboxAPIServer
import RouteAccess
package import ServiceAPI

/// Publications as operators write them. See docs/catalogue.md ("Publications").
extension Catalog {
  /// Creates or changes a publication. Throws `publication-invalid` with every fault, and
  /// `precondition-failed`. Returns it as it is then, with the dates of its creation and its last change. A
  /// description that says the same writes nothing; the policy is applied all the same. Throws also
  /// ``DatabaseError``.
  package func put(
    _ id: ProductIdentifier, _ description: PublicationDescription, by actor: String,
    under conditions: WriteConditions
  ) async throws -> OperatorPublication {
    let description = try PublicationValidator.checked(description, for: id)
    let now = clock.now()
    // What its subscriptions open may be other than before.
    defer { didChange() }
    let catalog = cache.latest
    let prepared = try WantedPublication(id, description, before: catalog.described[id], at: now)
    let (publication, mayClose) = try await database.write(locking: [.publications]) { connection in
      let wanted =
        try catalog.isCurrent(in: connection)
        ? prepared
        : WantedPublication(id, description, before: PublicationTable.find(id, in: connection), at: now)
      try conditions.check(wanted.before)
      let publication = wanted.document.value
      // Also where nothing is written: what was to follow a write before this one may have failed.
      if let before = wanted.before, before.hasSameDescription(as: publication) { return (before, true) }
      _ = try Self.put(wanted, by: actor, at: now, in: connection)
      return (publication, wanted.before?.policy != publication.policy)
    }
    if mayClose { try await didChangePolicy(id) }
    return publication
  }

  /// A publication as it is to be, with its document and what it was.
  package struct WantedPublication: Sendable {
    /// The publication with its JSON, made outside of the write.
    let document: EncodedDocument<OperatorPublication>
    /// The publication that it replaces; nil for a new one.
    let before: OperatorPublication?

    /// Encodes the publication as it is to be. Throws what encoding throws.
    init(
      _ id: ProductIdentifier, _ description: PublicationDescription, before: OperatorPublication?,
      at now: Timestamp
    ) throws {
      self.before = before
      document = try EncodedDocument(OperatorPublication(of: id, description, before: before, at: now))
    }
  }

  /// Throws `publication-invalid` where there is no room for another. What `wanted` has from before is what the
  /// connection sees. Runs in a write that locks the publications.
  package static func put(
    _ wanted: WantedPublication, by actor: String, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Change {
    let (before, publication) = (wanted.before, wanted.document.value)
    if let before, before.hasSameDescription(as: publication) { return .unchanged }
    if before == nil, try PublicationTable.count(in: connection) >= PublicationTable.capacity {
      throw Problem(
        .publicationInvalid,
        faults: [
          Problem.Fault(
            code: "too-many", path: "id", detail: "at most \(PublicationTable.capacity) publications")
        ])
    }
    try PublicationTable.put(wanted.document, in: connection)
    if before?.policy != publication.policy {
      try StopLog.notePolicy(of: publication.id, at: now, in: connection)
    }
    try AuditTable.add(
      AuditEntry(
        at: now, actor: actor, action: before == nil ? "publication.create" : "publication.change",
        subject: publication.id.description), in: connection)
    return before == nil ? .created : .changed
  }

  /// Those that are described; `after` is the `next` of the page before. They are in the order of their
  /// identifiers. Throws `request-malformed` for a cursor that is none of them.
  func operatorPublications(after: ProductIdentifier?, limit: Int) async throws -> Page<OperatorPublication> {
    try await database.read { connection in
      if let after, try PublicationTable.find(after, in: connection) == nil { throw Problem.unknownCursor }
      let found = try PublicationTable.page(
        after: after?.description ?? "", limit: limit + 1, in: connection)
      let items = Array(found.prefix(limit))
      return Page(items: items, next: found.count > limit ? items.last?.id.description : nil)
    }
  }

  /// Throws `publication-unknown` for one that is not described.
  func operatorPublication(_ id: ProductIdentifier) async throws -> OperatorPublication {
    try await database.read { connection in
      guard let found = try PublicationTable.find(id, in: connection) else {
        throw try Problem.unknownPublication(id, in: connection)
      }
      return found
    }
  }

  /// Forgets the description: the products stay, and lists show the identifier. Throws `publication-unknown` and
  /// `precondition-failed`.
  func removePublication(
    _ id: ProductIdentifier, by actor: String, under conditions: WriteConditions
  ) async throws {
    let now = clock.now()
    defer { didChange() }
    try await database.write(locking: [.publications]) { connection in
      let before = try PublicationTable.find(id, in: connection)
      try conditions.check(before)
      guard before != nil else { throw try Problem.unknownPublication(id, in: connection) }
      try PublicationTable.remove(id, at: now, in: connection)
      try AuditTable.add(
        AuditEntry(at: now, actor: actor, action: "publication.remove", subject: id.description),
        in: connection)
    }
    try await didChangePolicy(id)
  }
}

extension OperatorPublication {
  /// Creates the publication of a description. The date of its creation is kept.
  init(
    of id: ProductIdentifier, _ description: PublicationDescription, before: OperatorPublication?,
    at now: Timestamp
  ) {
    self.init(
      id: id, localizations: description.localizations ?? [:], cover: description.cover,
      order: description.order, policy: description.policy, created: before?.created ?? now, changed: now)
  }

  /// Whether nothing of what operators write differs.
  func hasSameDescription(as other: OperatorPublication) -> Bool {
    localizations == other.localizations && cover == other.cover && order == other.order
      && policy == other.policy
  }
}

/// Checks what operators write of publications. Pure.
enum PublicationValidator {
  /// The numbers by which operators order publications in lists.
  static let orders = 0...1_000_000

  /// The description as it is kept. Throws `publication-invalid` with every fault. Fault codes: `id-mismatch`,
  /// `order`, `back-issues`, `tolerance`, and those of a product's texts.
  static func checked(
    _ description: PublicationDescription, for id: ProductIdentifier
  ) throws(Problem) -> PublicationDescription {
    var faults: [Problem.Fault] = []
    if let named = description.id, named != id {
      faults.append(
        Problem.Fault(
          code: "id-mismatch", path: "id", detail: "the description is of \(named), the address names \(id)"))
    }
    if let order = description.order, !orders.contains(order) {
      faults.append(
        Problem.Fault(
          code: "order", path: "order", detail: "a number from \(orders.lowerBound) to \(orders.upperBound)"))
    }
    if let policy = description.policy {
      if let count = policy.backIssues, !PublicationPolicy.backIssueRange.contains(count) {
        let range = PublicationPolicy.backIssueRange
        faults.append(
          Problem.Fault(
            code: "back-issues", path: "policy.backIssues",
            detail: "a number from \(range.lowerBound) to \(range.upperBound)"))
      }
      let tolerance = PublicationPolicy.toleranceRange
      if let seconds = policy.toleranceSeconds, !tolerance.contains(.seconds(seconds)) {
        faults.append(
          Problem.Fault(
            code: "tolerance", path: "policy.toleranceSeconds",
            detail: "0 to \(tolerance.upperBound.components.seconds) seconds"))
      }
    }
    var checked = description
    do throws(Problem) {
      // Texts of publications follow the rules of those of products.
      checked.localizations = try ProductValidator.product(
        id, described: ProductDescription(localizations: description.localizations)
      ).localizations
    } catch {
      faults += error.faults ?? []
    }
    guard faults.isEmpty else { throw Problem(.publicationInvalid, faults: faults) }
    return checked
  }
}
