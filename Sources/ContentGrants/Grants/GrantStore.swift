import Commerce
import ContentDelivery
package import CoreTypes
import Crypto
package import Database
package import DeliveryModel
package import DeliveryRecords
import Entitlements
import PaymentStores
import PullboxAPI
import PullboxAPIServer
package import ServiceAPI

/// Makes, finds, completes and finishes grants. Every transition is one database transaction, in which the
/// machine decides and its state, the history and the outbox are written together.
package struct GrantStore: Sendable {
  /// The server's database, in which every decision is one transaction.
  package let database: Database
  /// Dates the decisions and what is written of them.
  package let clock: any WallClock
  /// Compares packages for completions of devices that kept files of an earlier version.
  var keptLengths = KeptLengths()
  /// The dates as of which stores repeated what the database has.
  package var laterDates = LaterDates()

  /// Creates the store. `keptLengths` and `laterDates` are shared by all copies of the value.
  package init(
    database: Database, clock: any WallClock, keptLengths: KeptLengths = KeptLengths(),
    laterDates: LaterDates = LaterDates()
  ) {
    self.database = database
    self.clock = clock
    self.keptLengths = keptLengths
    self.laterDates = laterDates
  }

  /// The basis of a grant from a proof: the transaction to charge it to, the content, and all that the same transaction
  /// owes.
  package struct Basis: Sendable {
    /// The transaction that pays, as the rules have chosen it.
    var transaction: VerifiedTransaction
    /// The content that the grant opens.
    var content: ReleasedContent
    /// Every product that the transaction is to bring to the device, the granted one among them.
    var owed: [ProductIdentifier]
    /// The issues that the transaction has unlocked, as the first of a subscription's run, and the rule of each.
    var unlocked: [ProductIdentifier: EntitlementRule] = [:]
    /// The device's grants of the product, where they and the content were looked at in the transaction that makes the grant:
    /// then neither is looked at again.
    var present: [GrantRecord]?
    /// Whether one device alone gets the content for the transaction, as for a consumable.
    var isDeliveredOnce = false
    /// Whether a reader's key asks, of which no report is expected.
    var isForReading = false

    /// Whether the grant, one of the product on the device, is the one that this would make.
    func isFor(_ grant: GrantRecord) -> Bool {
      grant.transactionKey == transaction.key && grant.version == content.version
    }

    /// Returns the debt of the transaction to the device, which all of its products share.
    func debt(to device: DeviceIdentifier) -> ObligationTable.Debt {
      ObligationTable.Debt(transaction: transaction.key, device: device)
    }
  }

  /// A grant, and what its device gets once.
  struct Issued: Sendable {
    /// The grant as it stands after the write.
    var grant: GrantRecord
    /// Whether this write has made it.
    var isNew: Bool
    /// The secret that a device without a key renews with. Only its digest is kept.
    var renewalSecret: String?
    /// Grants that stand differently by it: the purchase was transferred.
    var changed: [Standing] = []
  }

  /// The grants on these bases for the device, each the one there is, or a new one. The proof of
  /// purchase was checked: so a device that lost its key brings a new one, and one without a key gets a new
  /// secret, beside which the one before goes on to be good. A basis fails alone: with `entitlement-revoked`
  /// where its grant was revoked, and `content-withdrawn` where the version was withdrawn since the basis was
  /// looked at: its package may be collected by now, and what is collected is decided under the same lock.
  ///
  /// Runs in a write with ``GrantPlanner/locks`` that has locked the customers.
  ///
  /// `proof` is what the proof holds; `ledger` is what was recorded in this transaction already; what a new grant rests on is recorded besides, with the
  /// device.
  static func grants(
    on bases: [Basis], to device: Device, under conditions: GrantConditions = GrantConditions(),
    shownWith proof: [TransactionKey] = [], recorded ledger: LedgerUpdate = LedgerUpdate(),
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> [Result<Issued, Problem>] {
    var issued: [Result<Issued, Problem>] = []
    var entries = Dictionary(ledger.entries.map { ($0.transaction.key, $0) }, uniquingKeysWith: { $1 })
    var admission = DeviceAdmission(device: device.id, conditions: conditions)
    for basis in bases {
      do {
        let made = try grant(
          on: basis, to: device, shownWith: proof, admission: &admission, entries: &entries, at: now,
          in: connection)
        if let consents = conditions.consentsToConsumption {
          try ConsentTable.set(consents, for: made.grant.number, at: now, in: connection)
        }
        issued.append(.success(made))
      } catch let problem as Problem {
        issued.append(.failure(problem))
      }
    }
    try note(
      device.id, of: Set(entries.values.compactMap(\.customer)), granted: admission.granted, at: now,
      in: connection)
    return issued
  }

  /// The grant of `grants` that stands on that basis, where ``grants(on:to:at:in:)`` would write nothing; nil where it
  /// would. `grants` are those of the product on the device. Throws `entitlement-revoked`.
  static func standing(
    on basis: Basis, among grants: [GrantRecord], of device: Device, under conditions: GrantConditions,
    in connection: borrowing Connection
  ) throws -> GrantRecord? {
    guard let grant = grants.first(where: { basis.isFor($0) }) else { return nil }
    if grant.machine.name == .revoked {
      // One that ended with a transfer may be given back.
      if try TransferredGrantTable.isReason(of: grant, in: connection) { return nil }
      throw Problem(.entitlementRevoked)
    }
    // A device without a key is handed a new secret, which is written down.
    guard grant.publicKey != nil, !bringsNewKey(device, to: grant) else { return nil }
    let decision = try claim(on: basis.transaction, under: conditions, in: connection)
    guard decision == .stands else { return nil }
    if let consents = conditions.consentsToConsumption {
      guard try consents == ConsentTable.contains(grant.number, in: connection) else { return nil }
    }
    let owed = try ObligationTable.products(owedBy: basis.debt(to: device.id), in: connection)
    return owed.isSuperset(of: basis.owed) ? grant : nil
  }

  /// Throws before the grant is written.
  private static func grant(
    on basis: Basis, to device: Device, shownWith proof: [TransactionKey],
    admission: inout DeviceAdmission, entries: inout [TransactionKey: LedgerUpdate.Entry], at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> Issued {
    var existing: GrantRecord?
    if let present = basis.present {
      existing = present.first { basis.isFor($0) }
    } else {
      if try VersionTable.isWithdrawn(basis.content.product, basis.content.version, in: connection) {
        throw Problem(.contentWithdrawn)
      }
      existing = try GrantTable.find(
        basis.content.product, basis.content.version, paidBy: basis.transaction.key, on: device.id,
        in: connection)
    }
    let isRevoked = existing?.machine.name == .revoked
    if let existing, isRevoked, try !TransferredGrantTable.isReason(of: existing, in: connection) {
      throw Problem(.entitlementRevoked)
    }
    let key = basis.transaction.key
    if existing == nil || isRevoked, basis.isDeliveredOnce,
      try GrantTable.isGranted(
        basis.content.product, paidBy: key, elsewhereThanOn: device.id, in: connection)
    {
      throw Problem(
        .purchaseRequired,
        "transaction \(key.id) has paid for \(basis.content.product) once, and another device has it")
    }
    let decision = try claim(on: basis.transaction, under: admission.conditions, in: connection)
    if existing == nil, decision != .refused {
      if entries[key] == nil {
        entries[key] = try record(
          [basis.transaction],
          by: .answer(
            takesRevocations: false, joinsAccounts: admission.conditions.rules.claims.joinsAccounts),
          at: now, in: connection
        ).entries.first
      }
      try noteFeeding(
        by: basis.transaction, of: entries[key]?.customer, shownWith: proof,
        under: admission.conditions.rules.claims, at: now, in: connection)
    }
    try require(
      decision, on: basis.transaction, isNew: existing == nil, by: admission, at: now, in: connection)
    if existing == nil {
      // The store may have taken it back since it was asked.
      if entries[key]?.transaction.revokedDate != nil { throw Problem(.entitlementRevoked) }
    }
    if isRevoked, let existing {
      let claimant = admission.conditions.account ?? basis.transaction.account
      try requireReturn(of: existing, to: claimant, in: connection)
    }
    // A device that comes back needs a place as a new one does: its own is free since the transfer, and may be another's.
    if existing == nil || isRevoked,
      let customer = try entries[key]?.customer ?? CustomerTable.customer(of: key, in: connection)
    {
      let leaving = try leaving(
        by: decision, on: basis.transaction.originalKey, of: customer, in: connection)
      try admission.admit(to: customer, key, leaving: leaving, at: now, in: connection)
    }
    // Nothing refuses the claim any more.
    var changed = try write(
      decision, on: basis.transaction.originalKey, by: device.id, at: now, in: connection)
    try noteNaming(
      of: admission.conditions.account, by: decision, for: basis.transaction, at: now, in: connection)
    if isRevoked, var grant = existing {
      changed.append(try takeBack(&grant, at: now, in: connection))
      existing = grant
    }
    if admission.conditions.rules.claims == .transfer,
      admission.conditions.account ?? basis.transaction.account != nil
    {
      changed += try takeBackExcused(
        on: basis.transaction.originalKey, to: device.id, at: now, in: connection)
    }
    try ObligationTable.add(basis.owed, to: basis.debt(to: device.id), in: connection)
    if var existing {
      if let key = device.publicKey, bringsNewKey(device, to: existing) {
        try GrantTable.setPublicKey(key, of: existing, at: now, in: connection)
        existing.publicKey = key
        (existing.renewalDigest, existing.previousRenewalDigest) = (nil, nil)
      }
      guard existing.publicKey == nil else {
        return Issued(grant: existing, isNew: false, changed: changed)
      }
      let secret = Self.makeSecret()
      try GrantTable.setRenewalDigest(secret.digest, of: existing.id, in: connection)
      existing.previousRenewalDigest = existing.renewalDigest
      existing.renewalDigest = secret.digest
      return Issued(grant: existing, isNew: false, renewalSecret: secret.text, changed: changed)
    }
    guard let id = GrantIdentifier(TimedNames.make(at: now)) else {
      preconditionFailure("16 bytes name a grant")
    }
    let secret = device.publicKey == nil ? Self.makeSecret() : nil
    var grant = GrantRecord(
      id: id, handle: .make(at: now), store: key.store, environment: key.environment, transaction: key.id,
      product: basis.content.product, version: basis.content.version, device: device.id,
      publicKey: device.publicKey, renewalDigest: secret?.digest, digest: basis.content.digest,
      length: basis.content.length, manifestDigest: basis.content.manifestDigest,
      machine: GrantMachine(state: basis.isForReading ? .reading : .granted), created: now)
    grant.number = try GrantTable.insert(grant, in: connection)
    try EntitlementRecordTable.noteUnlocked(
      basis.unlocked, by: basis.transaction.key, in: connection)
    return Issued(grant: grant, isNew: true, renewalSecret: secret?.text, changed: changed)
  }

  /// The receipt was checked again, so this is the owner; a device that lost its key brings a new one.
  private static func bringsNewKey(_ device: Device, to grant: GrantRecord) -> Bool {
    device.publicKey.map { $0 != grant.publicKey } == true
  }

  /// Returns a new secret of 256 random bits, and the SHA-256 that is kept of it.
  private static func makeSecret() -> (text: String, digest: SHA256Digest) {
    let text = RandomBytes.token(bits: 256)
    return (text, SecretDigest(of: text).digest)
  }

  /// Returns the grant in whichever state. Throws `grant-unknown`.
  package func find(_ id: GrantIdentifier) async throws -> GrantRecord {
    try await database.read { connection in try Self.find(id, in: connection) }
  }

  /// With the handle by which its bytes flow. Throws `grant-unknown`, and what ``GrantCredential/check(for:at:)`` throws.
  package func status(
    of id: GrantIdentifier, for credential: GrantCredential
  ) async throws -> (status: GrantStatus, handle: DeliveryHandle) {
    let now = clock.now()
    return try await database.read { connection in
      let grant = try Self.find(id, in: connection)
      try credential.check(for: grant, at: now)
      return (try GrantTable.status(of: grant, in: connection), grant.handle)
    }
  }

  /// The grant as operators see it. Throws `grant-unknown` or `grant-ambiguous`.
  package func status(of name: GrantShortName) async throws -> (status: OperatorGrant, handle: DeliveryHandle)
  {
    let now = clock.now()
    return try await database.read { connection in
      let grant = try Self.find(name, in: connection)
      return (try GrantTable.operatorStatus(of: grant, at: now, in: connection), grant.handle)
    }
  }

  /// The grant, if it lives, so that a ticket may be issued for it, and what it rests on where its store was away when it was
  /// made. Throws `grant-unknown`, `entitlement-revoked`, and what ``GrantCredential/check(for:at:)`` throws.
  func grantForTicket(
    _ id: GrantIdentifier, for credential: GrantCredential
  ) async throws -> (grant: GrantRecord, basis: UnconfirmedTable.Basis?) {
    let found = try await database.read { connection in
      let grant = try Self.find(id, in: connection)
      return (grant: grant, basis: try UnconfirmedTable.basis(of: grant, in: connection))
    }
    var grant = found.grant
    try credential.check(for: grant, at: clock.now())
    guard grant.machine.handle(.ticketRequested) == [.issueTicket] else { throw Problem(.entitlementRevoked) }
    return (grant, found.basis)
  }

  /// Returns the grant as the transaction sees it. Throws `grant-unknown`.
  package static func find(
    _ id: GrantIdentifier, in connection: borrowing Connection
  ) throws -> GrantRecord {
    guard let grant = try GrantTable.find(id, in: connection) else { throw Problem(.grantUnknown) }
    return grant
  }

  /// Returns the one grant with that short name. Throws `grant-unknown`, and `grant-ambiguous` where two grants
  /// share it.
  package static func find(_ name: GrantShortName, in connection: borrowing Connection) throws -> GrantRecord
  {
    let grants = try GrantTable.all(named: name, in: connection)
    guard grants.count <= 1 else {
      throw Problem(.grantAmbiguous, "list the transaction's grants to tell them apart")
    }
    guard let grant = grants.first else { throw Problem(.grantUnknown) }
    return grant
  }
}
