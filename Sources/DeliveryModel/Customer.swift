package import Commerce
package import CoreTypes
import Crypto
import PullboxAPI
import ServiceAPI

/// Names a customer to this server alone: the moment of the first purchase and 104 random bits, unrelated to what stores,
/// applications and devices call them. Operators see it in lists and explanations.
package struct CustomerIdentifier: Hashable, Sendable {
  /// Exactly 16 bytes. Those of customers of one moment begin with the same three.
  package let bytes: [UInt8]

  /// Nil unless there are 16.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    self.bytes = bytes
  }

  /// Nil unless the text is 32 hexadecimal digits, as ``hexadecimal`` writes them.
  package init?(hexadecimal text: String) {
    guard let bytes = Hexadecimal.decode(text) else { return nil }
    self.init(bytes)
  }

  /// 32 digits in lower case, as lists and explanations show them.
  package var hexadecimal: String { Hexadecimal.encode(bytes) }

  /// One that is new now.
  package static func make(at now: Timestamp) -> CustomerIdentifier {
    guard let identifier = CustomerIdentifier(TimedNames.make(at: now)) else {
      preconditionFailure("16 bytes name a customer")
    }
    return identifier
  }
}

/// Transactions of one proof that are one customer's: all of them, unless the application bought them for several
/// accounts. Pure: which customers are known already comes from outside.
package struct CustomerGroup: Sendable {
  /// The account that all members were bought for; nil for those that name none.
  package var account: ApplicationAccount?
  /// Places in the proof.
  package var members: [Int]
  /// Those that are known already, each once: of the members themselves, of other transactions of their purchases, and of
  /// the account.
  package var customers: [CustomerIdentifier] = []

  /// The groups of a proof. Of several accounts each has a group, with those transactions of its purchases that name no
  /// account; the rest is a group without one.
  ///
  /// - Parameters:
  ///   - transactions: those of one proof, in its order.
  ///   - known: for each transaction, the customers that the ledger knows of it and its relatives.
  package static func all(
    of transactions: [VerifiedTransaction], known: [[CustomerIdentifier]]
  ) -> [CustomerGroup] {
    let accounts = Set(transactions.compactMap(\.account))
    var groups: [CustomerGroup] = []
    var places: [ApplicationAccount?: Int] = [:]
    let owners = Dictionary(
      transactions.compactMap { transaction in transaction.account.map { (transaction.originalKey, $0) } },
      uniquingKeysWith: { first, _ in first })
    for (index, transaction) in transactions.enumerated() {
      let account =
        accounts.count > 1 ? transaction.account ?? owners[transaction.originalKey] : accounts.first
      let place = places[account] ?? groups.endIndex
      if place == groups.endIndex {
        places[account] = place
        groups.append(CustomerGroup(account: account, members: []))
      }
      groups[place].members.append(index)
      for customer in known[index] where !groups[place].customers.contains(customer) {
        groups[place].customers.append(customer)
      }
    }
    return groups
  }
}
