package import Commerce
package import CoreTypes
package import Database
package import DeliveryModel
import DeliveryRecords
import PaymentStores
import PullboxAPI
import ServiceAPI

/// The admission of a purchase's application accounts and devices: a grant is for an account that the purchase belongs to,
/// on as many devices as its store's rules allow. The write that makes the grant decides.
extension GrantStore {
  /// The devices of the customers of one request.
  package struct DeviceAdmission: Sendable {
    /// The device that asks for grants.
    let device: DeviceIdentifier
    /// The request's account and the rules of its store, among them the limit of devices.
    let conditions: GrantConditions
    /// Customers who have a place for the device.
    private(set) var granted: Set<CustomerIdentifier> = []
    private var refused: Set<CustomerIdentifier> = []

    /// Begins without a decision; each customer of the request is decided once.
    init(device: DeviceIdentifier, conditions: GrantConditions) {
      self.device = device
      self.conditions = conditions
    }

    /// `leaving` are devices that have a place until this grant is made. Throws `device-limit`. A refusal notes
    /// the irregularity once for each customer. Runs in the write that makes the grants, which has locked the
    /// customer: two devices are counted one after the other, and one of them may be the last.
    mutating func admit(
      to customer: CustomerIdentifier, _ transaction: TransactionKey, leaving: Set<DeviceIdentifier>,
      at now: Timestamp, in connection: borrowing Connection
    ) throws {
      if granted.contains(customer) { return }
      let hasPlace =
        try !refused.contains(customer)
        && CustomerTable.hasPlace(
          for: device, of: customer, leaving: leaving, under: conditions.rules, at: now, in: connection)
      guard hasPlace else {
        if refused.insert(customer).inserted {
          try IrregularityTable.note(
            .manyDevices(of: customer, transaction, device: device), at: now, in: connection)
        }
        throw Problem(
          .deviceLimit,
          "the purchase is in use on \(conditions.rules.deviceLimit) devices; one that is silent for 90 days makes room, and so does one whose grants an operator revokes"
        )
      }
      granted.insert(customer)
    }

    /// Makes the reads that a grant of one of these transactions to one of these customers rests on, for a connection that
    /// prefetches.
    func look(
      at customers: Set<CustomerIdentifier>, claiming transactions: [VerifiedTransaction], at now: Timestamp,
      in connection: borrowing Connection
    ) throws {
      for transaction in transactions {
        _ = try GrantStore.claim(on: transaction, under: conditions, in: connection)
      }
      for customer in customers {
        _ = try CustomerTable.hasPlace(
          for: device, of: customer, under: conditions.rules, at: now, in: connection)
      }
    }
  }

  /// Whether the purchase is the claimant's. Reads nothing where nothing names an account. Throws
  /// ``DatabaseError``.
  package static func claim(
    on transaction: VerifiedTransaction, under conditions: GrantConditions,
    in connection: borrowing Connection
  ) throws -> PurchaseClaim.Decision {
    guard conditions.account ?? transaction.account != nil else { return .stands }
    let holders = try ClaimTable.holders(of: transaction.originalKey, in: connection)
    return PurchaseClaim(signed: transaction.account?.canonical, holders: holders)
      .decide(on: conditions.account, by: conditions.rules.claims)
  }

  /// Writes down that the store account of a purchase begins to buy for the application account that the purchase names, where
  /// something is granted for it for the first time: what was only heard of does not count. Store accounts are told apart
  /// as customers are; where purchases that name one account are one customer's, by what one proof holds.
  static func noteFeeding(
    by transaction: VerifiedTransaction, of customer: CustomerIdentifier?, shownWith proof: [TransactionKey],
    under rule: ClaimRule, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    guard let account = transaction.account else { return }
    let original = transaction.originalKey
    var isKnown = try FeedingTable.isKnown([transaction.key, original] + proof, in: connection)
    if !isKnown, !rule.joinsAccounts, let customer {
      isKnown = try FeedingTable.isKnown(account, fedBy: customer, in: connection)
    }
    guard !isKnown else { return }
    try FeedingTable.note(account, fedBy: original, at: now, in: connection)
    guard try FeedingTable.isIrregular(account, in: original.environment, at: now, in: connection) else {
      return
    }
    try IrregularityTable.note(.manyPayers(for: account, original), at: now, in: connection)
  }

  /// Writes down that requests name one account for the purchases of many store accounts, once the claim of one is written. It is
  /// listed alone: anyone may say it of anyone.
  static func noteNaming(
    of named: ApplicationAccount?, by decision: PurchaseClaim.Decision, for transaction: VerifiedTransaction,
    at now: Timestamp, in connection: borrowing Connection
  ) throws {
    guard let named, named != transaction.account?.canonical else { return }
    switch decision {
    case .stands, .refused: return
    case .belongs, .transferred: break
    }
    let original = transaction.originalKey
    guard try ClaimTable.isNamedByMany(named, in: original.environment, at: now, in: connection) else {
      return
    }
    try IrregularityTable.note(.namedByMany(for: named, original), at: now, in: connection)
  }

  /// Throws `purchase-claimed` where the decision refuses the claim, or too many payers buy for its account.
  static func require(
    _ decision: PurchaseClaim.Decision, on transaction: VerifiedTransaction, isNew: Bool,
    by admission: DeviceAdmission, at now: Timestamp, in connection: borrowing Connection
  ) throws {
    let (conditions, original) = (admission.conditions, transaction.originalKey)
    if decision == .refused {
      try IrregularityTable.note(
        .otherAccount(original, device: admission.device, wasRefused: true), at: now, in: connection)
      throw Problem(.purchaseClaimed)
    }
    guard isNew, conditions.rules.refusesIrregular, let account = transaction.account,
      try FeedingTable.isIrregular(account, in: transaction.environment, at: now, in: connection)
    else { return }
    try IrregularityTable.note(
      .manyPayers(for: account, original, wasRefused: true), at: now, in: connection)
    throw Problem(.purchaseClaimed, "too many store accounts have begun to buy for this account within a day")
  }

  /// Writes down whose the purchase is from now on: once nothing refuses the grant. A transfer ends the grants of every other
  /// device; answers those. Runs in the write that makes the grant. A transfer needs the locks of
  /// ``GrantPlanner/transferable(in:)``, whose grants it ends. Throws ``DatabaseError``.
  package static func write(
    _ decision: PurchaseClaim.Decision, on original: TransactionKey, by device: DeviceIdentifier,
    at now: Timestamp, in connection: borrowing Connection
  ) throws -> [Standing] {
    switch decision {
    case .stands, .refused: return []
    case .belongs(let accounts):
      try ClaimTable.set(accounts, of: original, at: now, in: connection)
      return []
    case .transferred(let account):
      try IrregularityTable.note(
        .otherAccount(original, device: device, wasRefused: false), at: now, in: connection)
      try ClaimTable.set([account], of: original, at: now, in: connection)
      return try endGrants(on: original, besides: device, at: now, in: connection)
    }
  }

  /// Takes the grants of a purchase back on all devices but one, of which no one says whose they are.
  private static func endGrants(
    on original: TransactionKey, besides device: DeviceIdentifier, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> [Standing] {
    var ended: [Standing] = []
    for transaction in try LedgerTable.keys(ofPurchase: original, in: connection) {
      for var grant in try GrantTable.all(paidBy: transaction, in: connection)
      where grant.device != device && grant.operatorWord?.decision != .revoke {
        let before = grant.operatorWord
        // Also one that the store has revoked, which may vouch for it again.
        let decided = try decide(true, on: &grant, detail: transferDetail, at: now, in: connection)
        try TransferredGrantTable.insert(
          grant.number, decidedAt: decided.word.asOf, excusing: before?.excused, in: connection)
        try CustomerTable.leavePlace(grant.device, grantedFor: transaction, in: connection)
        if decided.isChange {
          ended.append(Standing(handle: grant.handle, isRevoked: grant.machine.name == .revoked))
        }
      }
    }
    return ended
  }

  /// The devices whose places a decision makes free: a transfer ends all that they were granted by the customer.
  static func leaving(
    by decision: PurchaseClaim.Decision, on original: TransactionKey, of customer: CustomerIdentifier,
    in connection: borrowing Connection
  ) throws -> Set<DeviceIdentifier> {
    guard case .transferred = decision else { return [] }
    let ending = Set(try LedgerTable.keys(ofPurchase: original, in: connection))
    var devices: Set<DeviceIdentifier> = []
    for transaction in ending {
      for grant in try GrantTable.all(paidBy: transaction, in: connection)
      where grant.machine.name != .revoked {
        devices.insert(grant.device)
      }
    }
    return try devices.filter { device in
      try CustomerTable.grants(on: device, of: customer, in: connection).allSatisfy(ending.contains)
    }
  }

  private static let transferDetail = "another account claimed the purchase"

  /// Throws unless a grant that ended with a transfer may be given back to an account that the purchase belongs to:
  /// `purchase-claimed` where none is named, and `entitlement-revoked` for one that was revoked for another reason.
  static func requireReturn(
    of grant: GrantRecord, to claimant: ApplicationAccount?, in connection: borrowing Connection
  ) throws {
    guard try TransferredGrantTable.isReason(of: grant, in: connection) else {
      throw Problem(.entitlementRevoked)
    }
    guard claimant != nil else { throw Problem(.purchaseClaimed) }
    // Given back it would stand in spite of the refund.
    guard try !isRefused(grant, in: connection) else { throw Problem(.entitlementRevoked) }
  }

  /// Whether the store has revoked what pays for a grant that ended with a transfer, and no operator had excused that before.
  private static func isRefused(
    _ grant: GrantRecord, in connection: borrowing Connection
  ) throws -> Bool {
    guard let revoked = try TransactionTable.word(on: grant.transactionKey, in: connection)?.revoked else {
      return false
    }
    guard let excused = try TransferredGrantTable.excused(of: grant, in: connection) else { return true }
    return excused < revoked
  }

  /// Gives back a grant of which ``requireReturn(of:to:in:)`` has found that it may be. The device gets its
  /// place again. Returns how the grant stands then. Throws ``DatabaseError``.
  static func takeBack(
    _ grant: inout GrantRecord, at now: Timestamp, in connection: borrowing Connection
  ) throws -> Standing {
    let excused = try TransferredGrantTable.excused(of: grant, in: connection)
    try TransferredGrantTable.remove(grant.number, in: connection)
    _ = try decide(
      false, excusing: excused, on: &grant, detail: "its account claimed the purchase again", at: now,
      in: connection)
    try CustomerTable.takePlaceAgain(grant.device, grantedFor: grant.transactionKey, in: connection)
    return Standing(handle: grant.handle, isRevoked: grant.machine.name == .revoked)
  }
  /// Gives the device back what an operator had let it keep in spite of a refund until a transfer ended it. It cannot be asked
  /// for, since nothing new is granted for what is refunded: it comes with anything else of the purchase, which is the
  /// claimant's.
  static func takeBackExcused(
    on original: TransactionKey, to device: DeviceIdentifier, at now: Timestamp,
    in connection: borrowing Connection
  ) throws -> [Standing] {
    guard try TransferredGrantTable.hasExcuses(in: connection) else { return [] }
    var standing: [Standing] = []
    for transaction in try LedgerTable.keys(ofPurchase: original, in: connection) {
      for var grant in try GrantTable.all(paidBy: transaction, in: connection) where grant.device == device {
        guard try TransferredGrantTable.isReason(of: grant, in: connection),
          try TransferredGrantTable.excused(of: grant, in: connection) != nil,
          try !isRefused(grant, in: connection)
        else { continue }
        standing.append(try takeBack(&grant, at: now, in: connection))
      }
    }
    return standing
  }
}
