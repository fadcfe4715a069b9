package import Commerce
package import CoreTypes
import Crypto
package import Database
import DeliveryModel
package import DeliveryRecords
import PullboxAPI
package import PullboxAPIServer
package import ServiceAPI

/// The way of a product to the shop window and out of it. The steps and states are ``SaleMachine``'s;
/// docs/catalogue.md ("The sale as a state") explains them.
extension Catalog {
  /// Hands a product in for review. Throws `product-unknown`, `precondition-failed`, `state-conflict`, and `product-invalid` with
  /// every fault that a reviewer would find. A product that is submitted already is submitted anew.
  ///
  /// - Parameters:
  ///   - notes: a text for the reviewer; nil for none.
  ///   - conditions: checked against the product as operators read it, in the same write.
  package func submit(
    _ id: ProductIdentifier, notes: String?, by actor: String, under conditions: WriteConditions
  ) async throws -> OperatorProduct {
    try await step(.submit, id, under: conditions, by: actor) { review, now in
      review = ProductReview(submitted: now, submittedBy: actor, notes: notes)
    }
  }

  /// Clears a product for sale. What was found at its submission is looked at again. Throws like ``submit(_:notes:by:under:)``, and
  /// `second-key-required`.
  package func approve(
    _ id: ProductIdentifier, by actor: String, under conditions: WriteConditions
  ) async throws -> OperatorProduct {
    try await step(.approve, id, under: conditions, by: actor) { review, now in
      review?.decided = now
      review?.decidedBy = actor
      review?.isApproved = true
      review?.reason = nil
    }
  }

  /// Throws like ``submit(_:notes:by:under:)``, but for faults. The reason stays with the review until the
  /// product is submitted again.
  package func reject(
    _ id: ProductIdentifier, because reason: String?, by actor: String, under conditions: WriteConditions
  ) async throws -> OperatorProduct {
    try await step(.reject, id, because: reason, under: conditions, by: actor) { review, now in
      review?.decided = now
      review?.decidedBy = actor
      review?.isApproved = false
      review?.reason = reason
    }
  }

  /// Takes a product off sale, or its submission back. Those who bought it lose nothing. Throws like
  /// ``reject(_:because:by:under:)``.
  package func withdraw(
    _ id: ProductIdentifier, because reason: String?, by actor: String, under conditions: WriteConditions
  ) async throws -> OperatorProduct {
    try await step(.withdraw, id, because: reason, under: conditions, by: actor) { _, _ in }
  }

  /// Takes a step in one write. A subscription is judged with its issues as the catalog has them: what becomes of an issue beside
  /// the step comes after it, as it could a moment later. A step to where the product is already writes nothing and returns the
  /// product.
  ///
  /// - Parameters:
  ///   - change: changes the review that is kept with the product, at the time of the step.
  private func step(
    _ step: SaleMachine.Step, _ id: ProductIdentifier, because reason: String? = nil,
    under conditions: WriteConditions, by actor: String,
    _ change: @escaping @Sendable (inout ProductReview?, Timestamp) -> Void
  ) async throws -> OperatorProduct {
    let now = clock.now()
    defer { didChange() }
    return try await cache.current { catalog in
      try await database.write(locking: [.product(id)]) { connection in
        guard try catalog.isCurrent(in: connection) else { return nil }
        guard let entry = try ProductTable.find(id, in: connection) else {
          throw try Problem.unknownProduct(id, in: connection)
        }
        try conditions.check(try Self.operatorProduct(entry, at: now, in: connection))
        var review = try ProductReviewTable.find(id, in: connection)
        var machine = SaleMachine(
          state: entry.sale, submittedBy: review?.submittedBy, isApproved: review?.isApproved == true)
        do throws(SaleMachine.Refusal) {
          try machine.handle(step, by: actor, under: saleRules)
        } catch {
          throw Problem(error, of: id.description)
        }
        let resubmits = step == .submit && entry.sale == .submitted
        guard machine.state != entry.sale || resubmits else {
          return try Self.operatorProduct(entry, at: now, in: connection)
        }
        if step == .submit || step == .approve {
          let faults = SaleCheck(catalog: catalog, applications: applications).faults(
            of: entry.product,
            hasScreenshot: try ProductReviewTable.hasScreenshot(of: id, in: connection))
          guard faults.isEmpty else { throw Problem(.productInvalid, faults: faults) }
        }
        change(&review, now)
        if let review { try ProductReviewTable.put(review, of: id, in: connection) }
        try ProductTable.put(entry.product, sale: machine.state, at: now, in: connection)
        try AuditTable.add(
          AuditEntry(
            at: now, actor: actor, action: step.auditAction, subject: id.description, detail: reason),
          in: connection)
        return try Self.operatorProduct(id, at: now, in: connection)
      }
    }
  }

  /// Where a product stands once it is described so. Throws `state-conflict`, `second-operator-required` for what takes it off sale where
  /// another operator has the word on that, and `product-invalid` where a review found what its buyers must be told, and this takes it
  /// away. Runs in the write that describes the product. A product that is sold as something else loses its review.
  ///
  /// - Parameters:
  ///   - before: the product as it stands; nil for a new one.
  ///   - wanted: what the description says of being on sale; nil where it says nothing.
  package func sale(
    of product: Product, before: ProductTable.Entry?, wanted: Bool?, by actor: String, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> SaleState {
    let state = try nextSale(of: product, before: before, wanted: wanted, by: actor, in: connection)
    if let before, before.sale == .cleared, state != .cleared || product.ends(before.product, at: now) {
      try requireSecondOperator(of: product.id)
    }
    if let before, saleRules.requiresReview, state == .cleared || state == .submitted {
      let known = SaleCheck.faultsOfTerms(before.product)
      let faults = SaleCheck.faultsOfTerms(product).filter { !known.contains($0) }
      guard faults.isEmpty else { throw Problem(.productInvalid, faults: faults) }
    }
    return state
  }

  /// Returns the state by the machine alone, without a look at the product's texts.
  private func nextSale(
    of product: Product, before: ProductTable.Entry?, wanted: Bool?, by actor: String,
    in connection: borrowing Connection
  ) throws -> SaleState {
    guard let before else {
      let isWanted = wanted ?? ProductTable.Entry.isOnSaleUnlessSaid(product)
      return isWanted && !saleRules.requiresReview ? .cleared : .draft
    }
    var machine = SaleMachine(state: before.sale)
    if !product.sells(as: before.product) {
      machine.becameAnother(under: saleRules)
      try ProductReviewTable.voidDecision(on: product.id, in: connection)
    } else if wanted == true, before.sale != .cleared {
      machine.isApproved = try ProductReviewTable.find(product.id, in: connection)?.isApproved == true
    }
    // Not being on sale takes no submission back: that is a step of its own.
    guard let wanted, wanted || machine.state == .cleared else { return machine.state }
    do throws(SaleMachine.Refusal) {
      try machine.handle(wanted ? .putOnSale : .withdraw, by: actor, under: saleRules)
    } catch {
      throw Problem(error, of: product.id.description)
    }
    return machine.state
  }

  /// Throws `second-operator-required` where one operator alone takes nothing off sale.
  func requireSecondOperator(of id: ProductIdentifier) throws(Problem) {
    guard saleRules.requiresSecondOperator else { return }
    throw Problem(
      .secondOperatorRequired, "\(id) is taken off sale by withdrawing it, which another operator approves")
  }

  // Screenshots.

  /// Keeps the picture that a reviewer looks at. Throws `product-unknown`, and `request-malformed` for what is
  /// no picture. It replaces the one before. The form is told by the first bytes, whatever the request says.
  func setScreenshot(_ bytes: [UInt8], of id: ProductIdentifier, by actor: String) async throws {
    guard let type = Self.pictureType(of: bytes) else {
      throw Problem(.requestMalformed, "a screenshot is a picture in the form of PNG or JPEG")
    }
    let screenshot = ProductReviewTable.Screenshot(
      mediaType: type, digest: SHA256Digest.of(bytes), content: bytes)
    let now = clock.now()
    try await database.write(locking: [.product(id)]) { connection in
      guard try ProductTable.exists(id, in: connection) else {
        throw try Problem.unknownProduct(id, in: connection)
      }
      try ProductReviewTable.put(screenshot, of: id, in: connection)
      try AuditTable.add(
        AuditEntry(
          at: now, actor: actor, action: "product.screenshot", subject: id.description,
          detail: screenshot.digest.hexadecimal), in: connection)
    }
  }

  /// Throws `preview-unknown` where there is none. Throws also ``DatabaseError``.
  package func screenshot(of id: ProductIdentifier) async throws -> ProductReviewTable.Screenshot {
    guard let found = try await database.read({ try ProductReviewTable.screenshot(of: id, in: $0) }) else {
      throw Problem(.previewUnknown, "\(id) has no screenshot")
    }
    return found
  }

  /// By the first bytes; nil for what is none of those that reviewers' programs show.
  private static func pictureType(of bytes: [UInt8]) -> String? {
    if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
    return bytes.starts(with: [0xFF, 0xD8, 0xFF]) ? "image/jpeg" : nil
  }
}

extension Product {
  /// The time that other operators have to see that a sale will end.
  private static let notice: Duration = .seconds(3 * 86_400)

  /// Whether the sale of the product as it was ends with this description, at once or soon: by its dates, or in its application.
  fileprivate func ends(_ before: Product, at now: Timestamp) -> Bool {
    let stays = [now, now + Self.notice].allSatisfy { isAvailable(at: $0) || !before.isAvailable(at: $0) }
    return !stays || application != nil && application != before.application
  }
}

extension SaleMachine.Step {
  /// The name of the step in the audit log.
  fileprivate var auditAction: String {
    switch self {
    case .submit: "product.submit"
    case .approve: "product.approve"
    case .reject: "product.reject"
    case .withdraw: "product.withdraw"
    case .putOnSale: "product.change"
    }
  }
}

/// Finds what stands against the sale of a product. Pure. The rules of docs/catalogue.md ("The sale as a
/// state") that only the whole catalog can tell.
struct SaleCheck {
  /// The catalog, which has the issues of a subscription.
  let catalog: CatalogSnapshot
  /// Those whose receipts count; empty where that is not known.
  let applications: Set<ApplicationIdentifier>

  /// Every fault. Codes: `screenshot-missing`, `application`, `issue-missing`, `issues-free`, `privacy-missing`
  /// and `terms-missing`.
  func faults(of product: Product, hasScreenshot: Bool) -> [Problem.Fault] {
    var faults: [Problem.Fault] = []
    func add(_ code: String, at path: String, _ detail: String) {
      faults.append(Problem.Fault(code: code, path: path, detail: detail))
    }
    if !hasScreenshot {
      add("screenshot-missing", at: "screenshot", "a reviewer sees no picture of how it is offered")
    }
    if let application = product.application, !applications.isEmpty, !applications.contains(application) {
      add("application", at: "application", "no store here takes receipts of \(application)")
    }
    if product.type.isSubscription { faults += self.faults(ofSubscription: product) }
    faults += Self.faultsOfTerms(product)
    return faults
  }

  /// Returns what stands against a subscription as its issues are released, priced and named now.
  private func faults(ofSubscription product: Product) -> [Problem.Fault] {
    let issues =
      product.publication.map { catalog.products(of: $0) }?
      .filter { !$0.product.type.isSubscription && $0.releasedToAll != nil }
      .sorted { $0.product.id < $1.product.id } ?? []
    guard !issues.isEmpty else {
      return [
        Problem.Fault(
          code: "issue-missing", path: "publication",
          detail: "no issue of \(product.publication?.description ?? "it") is released: its buyer would wait")
      ]
    }
    var faults: [Problem.Fault] = []
    if !catalog.prices(of: product).current.isEmpty,
      issues.allSatisfy({ catalog.prices(of: $0.product).current.isEmpty })
    {
      faults.append(
        Problem.Fault(
          code: "issues-free", path: "prices", detail: "it costs money, and all of its issues are free"))
    }
    // An issue that names no application is everyone's.
    for issue in issues {
      guard let application = issue.product.application, application != product.application else { continue }
      faults.append(
        Problem.Fault(
          code: "application", path: "application",
          detail: "its issue \(issue.product.id) is of the application \(application) alone"))
      break
    }
    return faults
  }

  /// Returns the faults of the texts that a buyer must be shown before a period renews by itself.
  static func faultsOfTerms(_ product: Product) -> [Problem.Fault] {
    guard product.type == .autoRenewableSubscription else { return [] }
    var faults: [Problem.Fault] = []
    if product.privacyURL == nil {
      faults.append(
        Problem.Fault(
          code: "privacy-missing", path: "privacyURL",
          detail: "its period renews, and no address says what becomes of its buyers' data"))
    }
    let silent = product.localizations.filter { $0.value.terms == nil }.keys.sorted()
    for tag in product.localizations.isEmpty ? ["en-US"] : silent {
      faults.append(
        Problem.Fault(
          code: "terms-missing", path: "localizations.\(tag).terms",
          detail: "its period renews, and nothing says how long it is, what it costs and that it renews"))
    }
    return faults
  }
}
