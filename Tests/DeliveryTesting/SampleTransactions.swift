package import Commerce
import CoreTypes

extension TransactionIdentifier {
  /// The name of one of a test's transactions, such as `t1`.
  package static func numbered(_ number: Int) -> TransactionIdentifier {
    guard let transaction = TransactionIdentifier("t\(number)") else {
      preconditionFailure("t\(number) names a transaction")
    }
    return transaction
  }
}

extension TransactionKey {
  /// The key of the transaction with that number, in the sandbox.
  package static func numbered(_ number: Int, at store: StoreIdentifier = .sandbox) -> TransactionKey {
    TransactionKey(store: store, environment: .sandbox, id: .numbered(number))
  }
}

extension VerifiedTransaction {
  /// A purchase in the sandbox, of which nothing else matters.
  package static func sandbox(
    _ id: TransactionIdentifier, _ product: ProductIdentifier
  ) -> VerifiedTransaction {
    let start = Timestamp(millisecondsSinceEpoch: 0)
    return VerifiedTransaction(
      vouchedForBy: .sandbox, in: .sandbox, id: id, originalID: id, product: product, purchaseDate: start)
  }
}
