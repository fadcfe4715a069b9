import Commerce
import CoreTypes
import Database
import PullboxAPI

/// Who may be granted what a purchase pays for: the application accounts that it belongs to, on as many devices as its store's
/// rules allow. Decided in the write that makes the grant.
extension GrantStore {
  /// The devices of the customers of one request.
  struct DeviceAdmission: Sendable {
    let device: DeviceIdentifier
    let conditions: GrantConditions
    /// Customers who have a place for the device.
    private(set) var granted: Set<CustomerIdentifier> = []
    private var refused: Set<CustomerIdentifier> = []

    init(device: DeviceIdentifier, conditions: GrantConditions) {
      self.device = device
      self.conditions = conditions
    }

    /// Throws `device-limit`.
    mutating func admit(
      to customer: CustomerIdentifier, _ transaction: TransactionKey, at now: Timestamp,
      in connection: borrowing Connection
    ) throws {
      if granted.contains(customer) { return }
      let hasPlace =
        try !refused.contains(customer)
        && CustomerTable.hasPlace(
          for: device, of: customer, under: conditions.rules, at: now, in: connection)
      guard hasPlace else {
        if refused.insert(customer).inserted {
          try IrregularityTable.note(
            .manyDevices(of: customer, transaction, device: device), at: now, in: connection)
        }
        throw Problem(
          .deviceLimit,
          "the purchase is in use on \(conditions.rules.deviceLimit) devices; one that is silent for 90 days makes room"
        )
      }
      granted.insert(customer)
    }
  }

  /// Whether the purchase is the claimant's. Reads nothing where nothing names an account.
  static func claim(
    on transaction: VerifiedTransaction, under conditions: GrantConditions,
    in connection: borrowing Connection
  ) throws -> PurchaseClaim.Decision {
    guard conditions.account ?? transaction.account != nil else { return .stands }
    let holders = try ClaimTable.holders(of: transaction.originalKey, in: connection)
    return PurchaseClaim(signed: transaction.account?.canonical, holders: holders)
      .decide(on: conditions.account, by: conditions.rules.claims)
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

  /// Writes down whose the purchase is from now on: once nothing refuses the grant.
  static func write(
    _ decision: PurchaseClaim.Decision, on original: TransactionKey, by device: DeviceIdentifier,
    at now: Timestamp, in connection: borrowing Connection
  ) throws {
    switch decision {
    case .stands, .refused: break
    case .belongs(let accounts): try ClaimTable.set(accounts, of: original, at: now, in: connection)
    case .transferred(let account):
      try IrregularityTable.note(
        .otherAccount(original, device: device, wasRefused: false), at: now, in: connection)
      try ClaimTable.set([account], of: original, at: now, in: connection)
    }
  }
}
