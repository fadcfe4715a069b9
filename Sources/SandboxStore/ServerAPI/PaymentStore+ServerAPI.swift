import Commerce
import CoreTypes
import Database
import SandboxRecords

/// Calls of the App Store Server API about one customer or transaction.
extension PaymentStore {
  /// The account that a transaction, an original transaction or an app transaction is of, with every renewal that has fallen
  /// due. Throws 4000006 for what names none, 4040010 for an unknown one.
  func account(ofAny text: String) async throws -> Int64 {
    let account: Int64?
    if let named = AppTransactionIdentifier(text) {
      account = try await database.read { try AccountTable.find(in: $0, id: named.account)?.id }
    } else {
      account = try await transaction(named: text).account
    }
    guard let account else { throw ServerAPIError.transactionUnknown }
    try await catchUp(account: account)
    return account
  }

  /// A sold transaction. Throws 4000006, 4000048 for an app transaction, 4040010. The errors are for a text
  /// that is no number, for the identifier of an app transaction, and for what is unknown or was not sold.
  func transaction(named text: String) async throws -> StoredTransaction {
    guard AppTransactionIdentifier(text) == nil else { throw ServerAPIError.appTransactionUnsupported }
    guard let id = Self.number(text) else { throw ServerAPIError.invalidTransaction }
    let found = try await database.read { try TransactionTable.find(in: $0, id: id) }
    guard let found, found.sale != nil else { throw ServerAPIError.transactionUnknown }
    return found
  }

  /// Digits, as transactions are named; nil for anything else.
  static func number(_ text: String) -> Int64? {
    guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    return Int64(text)
  }

  /// A transaction as it is signed. Nil for what was not sold.
  func payload(of transaction: StoredTransaction) async throws -> TransactionPayload? {
    guard let original = transaction.sale?.originalID else { return nil }
    let group = try await database.read { try SubscriptionTable.find(in: $0, originalID: original)?.group }
    return TransactionPayload(transaction, group: group)
  }

  /// A subscription with its last transaction, as both are signed.
  struct CourseOfSubscription: Sendable {
    var group: ProductIdentifier
    var status: SubscriptionStatus
    var originalID: Int64
    var transaction: TransactionPayload
    var renewal: RenewalPayload
  }

  /// An account's subscriptions. They are in the order of their first transactions, also those that are over.
  func courses(account: Int64) async throws -> [CourseOfSubscription] {
    try await database.read { [clock] connection in
      try SubscriptionTable.list(in: connection, account: account).compactMap { subscription in
        guard
          let last = try TransactionTable.last(
            in: connection, account: account, originalID: subscription.originalID),
          let transaction = TransactionPayload(last, group: subscription.group)
        else { return nil }
        let start = try NotificationRecorder.recentStart(of: subscription, in: connection)
        return CourseOfSubscription(
          group: subscription.group,
          status: SubscriptionStatus(subscription.life, last: last, at: clock.now()),
          originalID: subscription.originalID, transaction: transaction,
          renewal: RenewalPayload(subscription, last: last, recentStart: start))
      }
    }
  }

  /// Names the application's account in what was sold under an original transaction. Throws 4000183, 4000187 for a later
  /// transaction, 4000185 for one that is shared. It changes every transaction of the account under the
  /// original one, in one database transaction, and renews their revisions. Throws 4000008 for what is no
  /// number, 4040005 for what is unknown.
  func setAccountToken(_ token: String?, original text: String) async throws {
    guard let id = Self.number(text) else { throw ServerAPIError.invalidOriginalTransaction }
    guard let token = ApplicationAccountToken(token)?.text else { throw ServerAPIError.invalidAccountToken }
    try await database.write(locking: [.everything]) { connection in
      guard let transaction = try TransactionTable.find(in: connection, id: id), let sale = transaction.sale
      else {
        throw ServerAPIError.originalTransactionUnknown
      }
      guard sale.originalID == id else { throw ServerAPIError.notOriginalTransaction }
      guard transaction.ownership == .purchased else { throw ServerAPIError.familyUnsupported }
      try TransactionTable.setApplicationUsername(
        token, account: transaction.account, originalID: id, in: connection)
    }
  }

  /// Keeps what a server says of the use of a purchase. Throws 4000047 for a type that the version does not
  /// take. A report of the same version takes the place of the one before.
  func keep(_ report: ConsumptionReport, of transaction: StoredTransaction) async throws {
    let isTaken =
      report.version == 2
      || [.consumable, .autoRenewableSubscription].contains(transaction.sale?.type)
    guard isTaken else { throw ServerAPIError.unsupportedType }
    try await database.write(locking: [.everything]) { [clock] connection in
      try report.put(transaction: transaction.id, received: clock.now(), in: connection)
    }
  }
}

/// The order number that a customer reads on the bill of a purchase: `MT` and the transaction's digits.
enum OrderIdentifier {
  /// Nil for what is no such name. Whether there is such a transaction is another question.
  static func transaction(_ text: String) -> Int64? {
    text.hasPrefix("MT") ? PaymentStore.number(String(text.dropFirst(2))) : nil
  }
}
