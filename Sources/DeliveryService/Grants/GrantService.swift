import Commerce
import CoreTypes
import Crypto
import Database
import PullboxAPI
import Receipts

/// What a purchase leads to: receipt → verdict → grant → ticket, and completion → transaction finished. It
/// asks the store that issued the proof, holds its verdict against the catalog (``EntitlementRules``), and
/// leaves every change to ``GrantStore``, where ``GrantMachine`` decides inside the database's transaction.
/// Refusals are thrown as `Problem`.
///
///     let (response, isNew) = try await grants.grant(request)
///     let status = try await grants.status(of: response.grant, credential: credential)
///     let completion = try await grants.complete(response.grant, with: report, credential: credential)
struct GrantService: Sendable {
  let grantStore: GrantStore
  let verifier: ProofVerifier
  let outbox: Outbox
  let tickets: TicketIssuer
  let stops: RevocationList
  let recorder: DeliveryRecorder
  let rules: EntitlementRules
  /// Put before content addresses; empty leaves them relative to the server's address as the client knows it.
  let publicURL: String
  /// How long an answer to a completion may wait for the store.
  let storePatience: Duration

  /// A proof that a store has vouched for, held against the catalog.
  private struct Finding {
    var store: StoreIdentifier
    var report: EntitlementReport
  }

  /// `id` is the request's, for the log.
  func entitlements(
    of request: EntitlementsRequest, asked id: String = ""
  ) async throws -> EntitlementsResponse {
    let finding = try await verify(request.proof, for: request.device.id, concerning: nil, asked: id)
    let device = request.device.id
    let products = try await grantStore.database.read { connection in
      try finding.report.claims.keys.sorted().flatMap { product -> [EntitledProduct] in
        guard let content = try VersionTable.offered(product, to: device, in: connection) else { return [] }
        return try (finding.report.claims[product] ?? []).map { claim in
          let grant = try GrantTable.find(
            store: finding.store, transaction: claim.transaction, product: product, version: content.version,
            device: device, in: connection)
          return EntitledProduct(
            product: product, version: content.version, length: content.length,
            because: claim.reason.wireName, transaction: claim.transaction,
            state: grant?.machine.name.rawValue ?? "not-granted")
        }
      }
    }
    return EntitlementsResponse(products: products)
  }

  /// `base` is put before the addresses in the answer where no public URL is configured; empty leaves them
  /// relative. `id` is the request's, for the log.
  func grant(_ request: GrantRequest, base: String = "", asked id: String = "") async throws -> (
    response: GrantResponse, isNew: Bool
  ) {
    let content = try await content(of: request.product, version: request.version, for: request.device.id)
    if stops.isBlocked(content: content.digest) { throw Problem(.contentWithdrawn) }
    let finding = try await verify(
      request.proof, for: request.device.id, concerning: request.product, asked: id)
    let transaction = try Self.transaction(for: request, in: finding)
    let basis = GrantStore.Basis(
      store: finding.store, transaction: transaction, content: content,
      owed: try await owed(by: transaction, to: request.device.id, in: finding))
    let issued = try await grantStore.grant(on: basis, to: request.device)
    let grant = issued.grant
    let ticket = tickets.issue(for: grant, isRenewal: false)
    let (keys, signatures, previous) = try await grantStore.database.read { connection in
      let keys = try ProductTable.find(grant.product, in: connection)?.product.publisherKeys
      return (
        keys, try SignatureTable.all(of: grant.product, grant.version, by: keys, in: connection),
        try ReusableContent.previous(of: grant, in: connection)
      )
    }
    let address = "\(publicURL.isEmpty ? base : publicURL)/v1/content/\(grant.digest.hexadecimal)"
    let terms = DownloadTerms(
      product: grant.product, version: grant.version, length: grant.length, digest: grant.digest,
      manifestDigest: grant.manifestDigest, contentURL: address, manifestURL: address + "/manifest",
      ticket: ticket.ticket, ticketExpires: ticket.ticketExpires, publisherKeys: keys,
      signatures: signatures.isEmpty ? nil : signatures, previous: previous)
    let response = GrantResponse(
      grant: grant.id, transaction: grant.transaction, download: terms, renewalSecret: issued.renewalSecret)
    return (response, issued.isNew)
  }

  func ticket(
    for id: GrantIdentifier, credential: GrantCredential
  ) async throws -> TicketResponse {
    let grant = try await grantStore.grantForTicket(id, for: credential)
    if stops.isBlocked(content: grant.digest) { throw Problem(.contentWithdrawn) }
    return tickets.issue(for: grant, isRenewal: true)
  }

  func status(of id: GrantIdentifier, credential: GrantCredential) async throws -> GrantStatus {
    let found = try await grantStore.status(of: id, for: credential)
    var status = found.status
    status.bytesDelivered += recorder.unrecorded(found.handle)
    return status
  }

  func status(of name: GrantShortName) async throws -> OperatorGrant {
    let found = try await grantStore.status(of: name)
    var status = found.status
    status.bytesDelivered += recorder.unrecorded(found.handle)
    return status
  }

  /// Records the report, then gives the store a moment to finish the transaction, so that the usual answer is
  /// final.
  func complete(
    _ id: GrantIdentifier, with completion: ReceivedCompletion, credential: GrantCredential
  ) async throws -> CompletionResponse {
    let grant = try await grantStore.find(id)
    // What was sent a moment ago counts.
    let outcome = try await recorder.recording(of: grant.digest, to: grant.device) {
      try await grantStore.complete(id, with: completion, for: credential, counting: $0)
    }
    guard let entry = outcome.outbox else {
      return CompletionResponse(
        state: outcome.grant.machine.name,
        remaining: outcome.remaining.isEmpty ? nil : outcome.remaining)
    }
    // The completion is recorded: whatever becomes of the call now, the outbox makes it.
    let isFinished = (try? await outbox.attempt(entry, patience: storePatience)) ?? false
    return CompletionResponse(state: isFinished ? .finished : .completed)
  }

  private func content(
    of product: ProductIdentifier, version: ContentVersion?, for device: DeviceIdentifier
  ) async throws -> ReleasedContent {
    try await grantStore.database.read { connection in
      guard try ProductTable.find(product, in: connection) != nil else {
        throw Problem(.productUnknown, "no product is named \(product)")
      }
      let content =
        if let version {
          try VersionTable.available(product, version, to: device, in: connection)
        } else {
          try VersionTable.offered(product, to: device, in: connection)
        }
      if let content { return content }
      if try VersionTable.isWithdrawn(product, version, in: connection) { throw Problem(.contentWithdrawn) }
      throw try Self.notReleased(product, version, in: connection)
    }
  }

  /// Tells a device that a partial release does not reach yet from one that asks for what no device gets.
  private static func notReleased(
    _ product: ProductIdentifier, _ version: ContentVersion?, in connection: borrowing Connection
  ) throws -> Problem {
    let part = try VersionTable.releasedToPart(of: product, in: connection)
    if let part, version == nil || version == part {
      return Problem(
        .versionUnknown,
        "\(product) \(part) is released to a part of the devices so far, and this device is not among them; ask again later"
      )
    }
    return Problem(
      .versionUnknown,
      version.map { "\(product) has no version \($0) that is released to this device" }
        ?? "no version of \(product) is released yet")
  }

  private func verify(
    _ proof: Proof, for device: DeviceIdentifier, concerning product: ProductIdentifier?, asked id: String
  ) async throws -> Finding {
    let key = try verifier.key(of: proof)
    let verified: VerifiedProof
    if let known = try verifier.known(key) {
      verified = known
    } else {
      verified = try await verifier.ask(about: proof, as: key, for: id, apply: applyRevocations)
    }
    guard verified.binding.matches(device) else {
      throw Problem(.receiptNotAuthentic, "the receipt was issued to another device")
    }
    let transactions = verified.transactions
    let ids = transactions.map(\.product) + (product.map { [$0] } ?? [])
    let catalog = try await grantStore.database.read { try ProductTable.related(to: ids, in: $0) }
    let report = rules.evaluate(transactions, catalog: catalog, now: grantStore.clock.now())
    return Finding(store: key.store, report: report)
  }

  private static func transaction(
    for request: GrantRequest, in finding: Finding
  ) throws(Problem) -> TransactionIdentifier {
    switch finding.report[request.product] {
    case .owned(let claim):
      guard let wanted = request.transaction else { return claim.transaction }
      let claims = finding.report.claims[request.product] ?? []
      guard claims.contains(where: { $0.transaction == wanted }) else {
        throw Problem(.purchaseRequired, "transaction \(wanted) does not pay for \(request.product)")
      }
      return wanted
    case .expired: throw Problem(.entitlementExpired)
    case .revoked: throw Problem(.entitlementRevoked)
    case .notOwned: throw Problem(.purchaseRequired, "the receipt holds no purchase of \(request.product)")
    }
  }

  /// Everything released to that device that the transaction pays for.
  private func owed(
    by transaction: TransactionIdentifier, to device: DeviceIdentifier, in finding: Finding
  ) async throws -> [ProductIdentifier] {
    let claimed = finding.report.products(claimedBy: transaction)
    return try await grantStore.database.read { connection in
      try claimed.filter { try VersionTable.offered($0, to: device, in: connection) != nil }
    }
  }
}

extension EntitlementClaim.Reason {
  var wireName: String {
    switch self {
    case .purchased: "purchased"
    case .publishedDuringSubscription: "published-during-subscription"
    case .unlockedAtStart: "unlocked-at-start"
    }
  }
}

extension GrantService: MetricSource {
  func register(in metrics: inout MetricRegistry) {
    let database = grantStore.database
    let grants: Metric<[(state: String, count: Int64)]> = .gauge(
      "pullbox_grants", help: "Grants by state.", labels: ["state"]
    ) { $0.map { .init($0.count, labels: [$0.state]) } }
    metrics.register([grants]) { try await database.read { try CounterTable.grants(in: $0) } }
  }
}
