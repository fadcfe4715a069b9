package import Commerce
package import Database
package import DeliveryModel

/// Customers by the names that applications have for them.
extension CustomerTable {
  /// Customers of one account that are answered, at most.
  package static let maximumOfAccount = 10
  /// Purchases of one account, in one store and environment, that are looked at, at most.
  private static let maximumPurchases = 1000

  /// The customers of whose purchases one was made for the account, as its store says, or belongs to it, as a request claimed: each once,
  /// ``maximumOfAccount`` at most. An account is found however it is spelled where it is a UUID.
  package static func customers(
    of account: ApplicationAccount, at stores: [StoreIdentifier], in environments: [StoreEnvironment],
    _ connection: borrowing Connection
  ) throws -> [CustomerIdentifier] {
    var found: [CustomerIdentifier] = []
    let spellings = account.canonical == account ? [account] : [account, account.canonical]
    for store in stores {
      for environment in environments {
        for spelling in spellings {
          for statement in [boughtFor, claimedBy] {
            let rows = try connection.query(
              statement,
              [
                .identifier(store), .choice(environment), .identifier(spelling), .integer(maximumPurchases),
                .integer(maximumOfAccount),
              ])
            for row in rows {
              let customer = try row.customer("customer")
              if !found.contains(customer) { found.append(customer) }
            }
            if found.count >= maximumOfAccount { return Array(found.prefix(maximumOfAccount)) }
          }
        }
      }
    }
    return found
  }

  private static let boughtFor = """
    SELECT DISTINCT customer FROM (
      SELECT customer FROM transactions \(SQLDialect.index("transactions_by_account"))
      WHERE store = ? AND environment = ? AND account = ? LIMIT ?) AS bought
    WHERE customer IS NOT NULL LIMIT ?
    """
  private static let claimedBy = """
    SELECT DISTINCT transactions.customer AS customer FROM (
      SELECT store, environment, original_id FROM purchase_claims \(SQLDialect.index("purchase_claims_by_account"))
      WHERE store = ? AND environment = ? AND account = ? LIMIT ?) AS claimed
    JOIN transactions ON transactions.store = claimed.store AND transactions.environment = claimed.environment
      AND transactions.transaction_id = claimed.original_id
    WHERE transactions.customer IS NOT NULL LIMIT ?
    """
}
